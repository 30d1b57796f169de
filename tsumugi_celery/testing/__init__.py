"""For tests of a project's schedules: a beat on a simulated clock, against a real ledger."""

from tsumugi_celery.testing.runs import SimulatedRun
from tsumugi_celery.testing.simulation import Simulation

__all__ = ["SimulatedRun", "Simulation"]
