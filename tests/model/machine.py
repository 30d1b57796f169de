"""The state machine: whatever may happen, one step at a time, against the reference model."""

from __future__ import annotations

import tempfile
import uuid
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.model import control
from tests.model.clock import DAY, HOUR, MINUTE, SECOND
from tests.model.reference import Known, Reference
from tests.model.world import Running, SimBeat, Snapshot, World, make_world
from tsumugi_celery.core import states

START = 1_772_409_601_234  # 2026-03-02T00:00:01.234Z
NAMES = ("a", "b")

TIMES: list[dict[str, Any]] = [
    {"everyMs": 10 * MINUTE},
    {"everyMs": 30 * MINUTE},
    {"cron": "*/15 * * * *"},
    {"cron": "0 * * * *"},
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"maxAttempts": 2},
    {"guarantee": "at-most-once"},
]
given_schedule = st.builds(
    lambda times, overlap, options: times | {"overlap": overlap} | options,
    st.sampled_from(TIMES),
    st.sampled_from(["skip", "skip", "overlap"]),
    st.sampled_from(OPTIONS),
)
deploys = st.fixed_dictionaries(
    {"a": given_schedule}, optional={"b": given_schedule}
) | st.fixed_dictionaries({}, optional={"b": given_schedule})
picks = st.integers(0, 7)
#: Mostly past the next time; sometimes long enough for nodes to be taken for gone, or for days.
steps = st.sampled_from(
    [
        SECOND,
        30 * SECOND,
        5 * MINUTE,
        10 * MINUTE,
        10 * MINUTE,
        15 * MINUTE,
        HOUR,
        3 * HOUR,
        2 * DAY,
    ]
)
jumps = st.sampled_from([-3 * DAY, -HOUR, -10 * MINUTE, 10 * MINUTE, HOUR, 3 * DAY])


class Machine(RuleBasedStateMachine):
    """Steps are the real code's; after each of them the ledger must be what the model says."""

    template: ClassVar[Path]

    def __init__(self) -> None:
        super().__init__()
        folder = Path(tempfile.gettempdir()) / f"tsumugi-model-{uuid.uuid4().hex}"
        self.world: World = make_world(self.template, folder, START)
        self.reference = Reference()
        self.given: dict[int, dict[str, Any]] = {}
        self.deployed: dict[str, Any] = {}
        #: Regular and manual occurrences in the order of their claims, with the overlap rule then.
        self.order: dict[str, tuple[int, str]] = {}
        self.final: dict[str, str] = {}
        self.sound = False

    # What happens to beats.

    @initialize(given=deploys)
    def begin(self, given: dict[str, Any]) -> None:
        self._deploy({"a": TIMES[0] | {"overlap": "skip"}} | given)
        self.world.start_worker()

    @precondition(lambda self: len(self.world.beats) < 3)
    @rule(given=deploys)
    def deploy(self, given: dict[str, Any]) -> None:
        self._deploy(given)

    @precondition(lambda self: len(self.world.beats) < 3)
    @rule()
    def one_more_beat(self) -> None:
        self._deploy(self.deployed)

    @rule(pick=picks)
    def claim(self, pick: int) -> None:
        self._claim(self._beat(pick))

    @precondition(lambda self: any(beat.unsent for beat in self.world.beats))
    @rule(pick=picks, mood=st.sampled_from(["sent"] * 6 + ["failed", "unsure"]))
    def publish(self, pick: int, mood: str) -> None:
        holders = [beat for beat in self.world.beats if beat.unsent]
        self.world.broker.mood = mood
        holders[pick % len(holders)].publish(pick)
        self.world.broker.mood = "sent"

    @precondition(lambda self: any(beat.unsent for beat in self.world.beats))
    @rule(pick=picks)
    def payload_fails(self, pick: int) -> None:
        holders = [beat for beat in self.world.beats if beat.unsent]
        beat = holders[pick % len(holders)]
        claim = beat.unsent.pop(pick % len(beat.unsent))
        beat.dispatcher.fail(claim, ValueError("the payload callable raised"))

    @rule(pick=picks)
    def settle(self, pick: int) -> None:
        self._beat(pick).settle()

    @rule(pick=picks)
    def turn(self, pick: int) -> None:
        beat = self._beat(pick)
        self._claim(beat)
        beat.finish()

    @rule(pick=picks)
    def crash(self, pick: int) -> None:
        beat = self._beat(pick)
        self.world.beats.remove(beat)

    @rule(pick=picks)
    def freeze_or_thaw(self, pick: int) -> None:
        beat = self._beat(pick)
        beat.frozen = not beat.frozen

    @rule(pick=picks, seconds=st.sampled_from([4, 12, 24]))
    def look_after_others(self, pick: int, seconds: int) -> None:
        self.world.watch(self._beat(pick), seconds)

    @rule(pick=picks)
    def release(self, pick: int) -> None:
        self._beat(pick).chores.release()

    @rule(pick=picks)
    def find_lost(self, pick: int) -> None:
        beat = self._beat(pick)
        # A beat looks at who is there before it takes anything for lost.
        self.world.look(beat)
        beat.chores.find_lost()

    @rule(pick=picks)
    def mend(self, pick: int) -> None:
        beat = self._beat(pick)
        beat.chores.mend()
        self.reference.mend(self.given[id(beat)], self.world.clock.now())

    # What happens to messages and workers.

    @precondition(lambda self: self.world.broker.waiting)
    @rule(pick=picks, twice=st.booleans())
    def deliver(self, pick: int, twice: bool) -> None:
        waiting = self.world.broker.waiting
        at = pick % len(waiting)
        message = waiting[at] if twice else waiting.pop(at)
        self._deliver(message, pick)

    @precondition(lambda self: self.world.broker.waiting)
    @rule(pick=picks)
    def lose(self, pick: int) -> None:
        self.world.broker.waiting.pop(pick % len(self.world.broker.waiting))

    @precondition(lambda self: self._awake())
    @rule(pick=picks, well=st.booleans())
    def end(self, pick: int, well: bool) -> None:
        awake = self._awake()
        running = awake[pick % len(awake)]
        (self.world.succeed if well else self.world.fail)(running)

    @precondition(lambda self: self.world.reports)
    @rule(pick=picks)
    def report(self, pick: int) -> None:
        report = self.world.reports[pick % len(self.world.reports)]
        if report.running.node.id not in self.world.frozen:
            self.world.report(report)

    @precondition(lambda self: self.world.workers)
    @rule(pick=picks)
    def kill_worker(self, pick: int) -> None:
        self.world.kill_worker(self.world.workers[pick % len(self.world.workers)])

    @precondition(lambda self: self.world.workers)
    @rule(pick=picks)
    def freeze_or_thaw_worker(self, pick: int) -> None:
        self.world.freeze_or_thaw(self.world.workers[pick % len(self.world.workers)])

    @precondition(lambda self: len(self.world.workers) < 2)
    @rule()
    def start_worker(self) -> None:
        self.world.start_worker()

    # What people and clocks do.

    @rule(name=st.sampled_from(NAMES))
    def pause(self, name: str) -> None:
        if name in self.deployed:
            control.pause(self.world, self._latest(), name)
            self.reference.pause(name)

    @rule(name=st.sampled_from(NAMES))
    def resume(self, name: str) -> None:
        if name in self.deployed:
            control.resume(self.world, self._latest(), name)
            self.reference.resume(name, self.world.clock.now())

    @rule(name=st.sampled_from(NAMES))
    def trigger(self, name: str) -> None:
        if name in self.deployed:
            control.trigger(self.world, self._latest(), name)

    @precondition(lambda self: self.world.triggers)
    @rule(crash_at=st.integers(0, 3))
    def trigger_goes_on(self, crash_at: int) -> None:
        trigger = self.world.triggers.pop()
        if crash_at > 0:
            trigger.dispatcher.publish([(trigger.claim, (), {})])
        if crash_at > 1:
            trigger.dispatcher.settle()

    @rule(ms=steps)
    def pass_time(self, ms: int) -> None:
        self.world.clock.advance(ms)

    @rule(ms=jumps)
    def set_clock(self, ms: int) -> None:
        self.world.clock.jump(ms)

    # What must hold after every step.

    @invariant()
    def the_ledger_is_true(self) -> None:
        self.sound = False
        with self.world.ledger.read() as connection:
            ledger = Snapshot(connection)
        self._nothing_starts_twice()
        self._what_is_finished_stays(ledger)
        for name, known in self.reference.known.items():
            _every_time_is_explained_once(ledger, name, known)
            row = ledger.schedules[name]
            assert (row.active, row.paused) == (known.active, known.paused)
            assert row.next_at == known.next_at, (name, row.next_at, known.next_at)
        self._skip_never_overlaps()
        self._what_runs_is_shown(ledger)
        self.sound = True

    def _nothing_starts_twice(self) -> None:
        starts = Counter((identifier, attempt) for identifier, attempt, _ in self.world.started)
        assert not [each for each, count in starts.items() if count > 1]
        for identifier, _, before in self.world.started:
            assert before in states.UNFINISHED, (identifier, before)

    def _what_is_finished_stays(self, ledger: Snapshot) -> None:
        for row in ledger.occurrences:
            if row.id in self.final:
                assert row.state == self.final[row.id], (row.id, row.state, self.final[row.id])
            elif row.state in states.FINISHED:
                self.final[row.id] = row.state

    def _what_runs_is_shown(self, ledger: Snapshot) -> None:
        rows = {row.id: row for row in ledger.occurrences}
        for each in self.world.running:
            row = rows[each.message.id]
            if each.node.id not in self.world.suspects:
                assert (row.state, row.attempt) == (states.RUNNING, each.attempt), row.id

    def _skip_never_overlaps(self) -> None:
        by_schedule: dict[str, list[str]] = {}
        for each in self.world.running:
            if each.node.id in self.world.suspects:
                # Taken for gone, it may run beside the next one: no ledger can see that it lives.
                continue
            by_schedule.setdefault(each.message.header["schedule"], []).append(each.message.id)
        for together in by_schedule.values():
            distinct = sorted(set(together), key=lambda one: self.order[one])
            for later in distinct[1:]:
                assert "manual" in later or self.order[later][1] == "overlap", together

    def teardown(self) -> None:
        try:
            if self.sound:
                self._come_to_rest()
        finally:
            self.world.close()

    # Helpers.

    def _deploy(self, given: dict[str, Any]) -> None:
        beat = self.world.start_beat(given)
        self.given[id(beat)] = self.deployed = given
        self.reference.register(given, self.world.clock.now())

    def _latest(self) -> SimBeat:
        """A beat that has the definitions deployed last."""
        for beat in self.world.beats:
            if self.given[id(beat)] == self.deployed:
                return beat
        self._deploy(self.deployed)
        return self.world.beats[-1]

    def _beat(self, pick: int) -> SimBeat:
        if not self.world.beats:
            self._deploy(self.deployed)
        return self.world.beats[pick % len(self.world.beats)]

    def _claim(self, beat: SimBeat) -> set[str]:
        before = self.world.occurrences()
        busy = {row.name for row in before if row.state in states.UNFINISHED}
        given = self.given[id(beat)]
        expected = self.reference.claim(given, self.world.clock.now(), busy)
        held = len(beat.unsent)
        claimed = beat.claim(500)
        beat.send(claimed.claims)
        new = {f"{each.definition.name}@{each.scheduled_at}" for each in beat.unsent[held:]}
        assert new == expected
        return new

    def _deliver(self, message: Any, pick: int) -> None:
        awake = [each for each in self.world.workers if each.id not in self.world.frozen]
        worker = awake[pick % len(awake)] if awake else self.world.start_worker()
        self._note_order()
        self.world.deliver(message, worker)

    def _awake(self) -> list[Running]:
        return [each for each in self.world.running if each.node.id not in self.world.frozen]

    def _note_order(self) -> None:
        for row in self.world.occurrences():
            if row.id not in self.order:
                known = self.reference.known[row.name]
                self.order[row.id] = (len(self.order), known.given.get("overlap", "skip"))

    def _come_to_rest(self) -> None:
        world = self.world
        world.beats.clear()
        world.triggers.clear()
        for worker in [each for each in world.workers if each.id in world.frozen]:
            world.kill_worker(worker)
        self._deploy(self.deployed)
        beat = world.beats[-1]
        world.start_worker()
        for _ in range(16):
            self._calm_down(beat)
            if not self._unfinished():
                break
        assert not self._unfinished(), self._unfinished()
        self._nothing_starts_twice()
        for name in self.deployed:
            if self.reference.known[name].paused:
                control.resume(world, beat, name)
                self.reference.resume(name, world.clock.now())
        world.clock.advance(DAY + 2 * HOUR)
        before = world.read().schedules
        self._claim(beat)
        for name, row in world.read().schedules.items():
            assert row.n_overlap == before[name].n_overlap, f"{name} is blocked for good"
        self.the_ledger_is_true()

    def _calm_down(self, beat: SimBeat) -> None:
        """Let a beat and a worker do all that they find to do."""
        world = self.world
        world.clock.advance(HOUR)
        world.watch(beat, 24)
        beat.chores.release()
        beat.chores.find_lost()
        beat.finish()
        messages, world.broker.waiting = world.broker.waiting, []
        for message in messages:
            self._deliver(message, 0)
        for running in list(world.running):
            world.succeed(running)
        for report in list(world.reports):
            world.report(report)
        beat.chores.mend()
        self.reference.mend(self.deployed, world.clock.now())

    def _unfinished(self) -> list[tuple[str, str, str | None]]:
        """What has not come to an end, although its schedule is defined or a beat has it."""
        return [
            (row.id, row.state, row.wait)
            for row in self.world.occurrences()
            if row.state in states.UNFINISHED
            and (row.name in self.deployed or row.state == states.CLAIMED)
        ]


def _every_time_is_explained_once(ledger: Snapshot, name: str, known: Known) -> None:
    rows = [row for row in ledger.occurrences if row.name == name]
    regular = [row.scheduled_at for row in rows if not row.manual]
    assert regular == sorted(known.executed)
    stretches = [each for each in ledger.stretches if each.name == name]
    for each in stretches:
        inside = [at for at in known.counted if each.first_at <= at <= each.last_at]
        assert len(inside) == each.times, (each, inside)
        assert {known.counted[at] for at in inside} == {each.cause}
        assert {each.first_at, each.last_at} <= set(inside)
        assert not [at for at in regular if each.first_at <= at <= each.last_at]
    assert sum(each.times for each in stretches) == len(known.counted)
    counted = Counter(known.counted.values())
    counted["failure"] = sum(row.state == states.NOT_EXECUTED for row in rows)
    row = ledger.schedules[name]
    counters = {cause: getattr(row, f"n_{cause}") for cause in states.CAUSES}
    assert counters == {cause: counted[cause] for cause in states.CAUSES}
