"""Beats that run by a simulated clock, and workers that do at once what they are sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from tests.model.clock import MINUTE
from tests.model.world import NAMESPACE, SETTINGS, World, app, define
from tsumugi_celery.definitions.model import Definition
from tsumugi_celery.engine.cycle import Cycle

#: How often beat is called at least, as `--max-interval` has it.
LOOP = MINUTE


class Driver:
    """One beat after another over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.beats: list[Cycle] = []
        self.worker = world.start_worker()

    def start(self, schedules: Mapping[str, Mapping[str, Any]]) -> Cycle:
        return self.start_defined(define(schedules))

    def start_defined(self, definitions: Mapping[str, Definition]) -> Cycle:
        world = self.world
        beat = Cycle(app, world.ledger, definitions, NAMESPACE, SETTINGS, world.clock)
        beat.dispatcher.sender = world.broker  # type: ignore[assignment]
        beat.register()
        beat.heart.refresh()
        self.beats.append(beat)
        return beat

    def turn(self) -> float:
        """Let every beat do what is due, and the worker what it is sent."""
        delay = min((beat.tick() for beat in self.beats), default=float(LOOP))
        self.work()
        return delay

    def work(self) -> None:
        world = self.world
        messages, world.broker.waiting = world.broker.waiting, []
        for message in messages:
            world.deliver(message, self.worker)
        for running in list(world.running):
            world.succeed(running)
        for report in list(world.reports):
            world.report(report)

    def run_until(self, moment: int, step: int = LOOP) -> None:
        """Let time pass; beat is called when a schedule is due, and every `step` ms."""
        clock = self.world.clock
        while True:
            self.turn()
            left = moment - clock.now()
            if left <= 0:
                return
            due = [row.next_at for row in self.world.read().schedules.values() if row.next_at]
            wait = min([step, left, *(at - clock.now() for at in due if at > clock.now())])
            clock.advance(max(wait, 1))

    def run(self, ms: int, step: int = LOOP) -> None:
        self.run_until(self.world.clock.now() + ms, step)

    def executed(self, name: str) -> list[int]:
        """The scheduled times that a worker has started, in the order of their starts."""
        at = {row.id: row.scheduled_at for row in self.world.occurrences(name)}
        return [at[identifier] for identifier, _, _ in self.world.started if identifier in at]

    def check_books(self) -> None:
        """No double run; each time in one row or one stretch; the counters say the same."""
        assert len(set(self.world.started)) == len(self.world.started)
        ids = [identifier for identifier, _, _ in self.world.started]
        assert len(set(ids)) == len(ids)
        ledger = self.world.read()
        for name, row in ledger.schedules.items():
            regular = [
                each.scheduled_at
                for each in ledger.occurrences
                if each.name == name and not each.manual
            ]
            spans = [each for each in ledger.stretches if each.name == name]
            for before, after in pairwise(spans):
                assert before.last_at < after.first_at
            for each in spans:
                assert not [at for at in regular if each.first_at <= at <= each.last_at]
            for cause in ("overlap", "delay", "pause"):
                assert getattr(row, f"n_{cause}") == sum(
                    each.times for each in spans if each.cause == cause
                )

    def check_times(self, name: str, times: list[int]) -> None:
        """Each of these times is in exactly one row or stretch, and nothing else is."""
        rows = {each.scheduled_at for each in self.world.occurrences(name) if not each.manual}
        spans = self.world.stretches(name)
        covered = [at for each in spans for at in times if each.first_at <= at <= each.last_at]
        assert sorted([*rows, *covered]) == times
        assert len(covered) == sum(each.times for each in spans)


def with_zone(definition: Definition, zone: Any) -> Definition:
    """The definition by other zone data."""
    return replace(definition, when=replace(definition.when, zone=zone))  # type: ignore[type-var]
