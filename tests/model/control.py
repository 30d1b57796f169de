"""Pause, resume and trigger: the real service; a trigger's process may die at any step."""

from __future__ import annotations

from tests.model.world import SETTINGS, SimBeat, Trigger, World, app
from tsumugi_celery.app import state_of
from tsumugi_celery.control import pausing
from tsumugi_celery.control import trigger as triggering
from tsumugi_celery.control.source import Source
from tsumugi_celery.definitions.model import Definitions
from tsumugi_celery.engine.dispatch import Dispatcher
from tsumugi_celery.engine.heartbeat import Heart


def pause(world: World, beat: SimBeat, name: str) -> None:
    pausing.pause(_source(world, beat), name)


def resume(world: World, beat: SimBeat, name: str) -> None:
    pausing.resume(_source(world, beat), name)


def trigger(world: World, beat: SimBeat, name: str) -> None:
    """Claim a manual execution; its process has not published it yet."""
    heart = Heart(world.ledger, beat.namespace, "control", 1.0, world.clock)
    claim, _ = triggering._claim(_source(world, beat), beat.plans[name], heart)
    assert claim is not None
    dispatcher = Dispatcher(app, world.ledger, SETTINGS, beat.namespace, heart.id, world.clock)
    dispatcher.sender = world.broker  # type: ignore[assignment]
    world.triggers.append(Trigger(claim, dispatcher))


def _source(world: World, beat: SimBeat) -> Source:
    """What a process knows that has the same definitions as a beat."""
    source = Source(state_of(app))
    known = {name: plan.definition for name, plan in beat.plans.items()}
    source.__dict__["definitions"] = Definitions(known, {}, {})
    source._opened = True
    assert source.state.ledger is world.ledger
    return source
