"""A clock that tests move: the wall may be set, the monotonic one only goes on."""

from tsumugi_celery.engine.clock import Clock

SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
YEAR = 365 * DAY


class SimClock(Clock):
    """Stands still until it is moved."""

    def __init__(self, now: int) -> None:
        self.wall = now
        self.seconds = 1000.0

    def now(self) -> int:
        return self.wall

    def monotonic(self) -> float:
        return self.seconds

    def advance(self, ms: int) -> None:
        """Let time pass."""
        self.wall += ms
        self.seconds += ms / 1000

    def jump(self, ms: int) -> None:
        """Set the wall clock; also what a laptop sees after a night's sleep."""
        self.wall += ms
