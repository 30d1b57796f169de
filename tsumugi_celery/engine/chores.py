"""The chores of a beat, each at an interval of its own: recover, reap, release, mend."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from sqlalchemy.exc import IntegrityError

from tsumugi_celery.engine import facts, retention, run_chores
from tsumugi_celery.engine.absent import Absent
from tsumugi_celery.engine.heartbeat import Watch
from tsumugi_celery.engine.lost import find_lost
from tsumugi_celery.engine.mend import mend
from tsumugi_celery.engine.reap import reap
from tsumugi_celery.engine.recover import holders_of_claims, take_over
from tsumugi_celery.engine.register import restore
from tsumugi_celery.engine.release import release
from tsumugi_celery.engine.repeat_claim import let_go
from tsumugi_celery.engine.rounds import Rounds
from tsumugi_celery.ledger import lateness, work

if TYPE_CHECKING:
    from collections.abc import Callable

    from tsumugi_celery.engine.cycle import Cycle

log = logging.getLogger(__name__)

#: Seconds between two looks at the next times of all schedules.
MEND_EVERY = 600.0
#: Seconds between two looks for rows of schedules that have vanished.
RESTORE_EVERY = 10.0
#: Seconds between two additions to the histogram of lateness.
LATENESS_EVERY = 5.0
#: How far the wall clock may run from the monotonic one before it is taken to have been set, ms.
JUMP = 2000


class Chores:
    """What a beat does besides what is due.

    Args:
        cycle: the beat they belong to.
    """

    def __init__(self, cycle: Cycle) -> None:
        """Plan every chore for the first tick."""
        self.cycle = cycle
        settings = cycle.settings
        self.watch = Watch(settings.presumed_gone, cycle.clock.monotonic)
        every: list[tuple[float, Callable[[], None]]] = [
            (min(0.5, settings.poll_interval), self.release),
            (min(0.5, settings.poll_interval), self.let_go),
            (min(1.0, settings.presumed_gone / 10), self.look_after_others),
            (min(5.0, settings.republish_after / 4), self.find_lost),
            (min(1.0, settings.presumed_gone / 10), self.look_after_runs),
            (LATENESS_EVERY, self.keep_lateness),
            (MEND_EVERY, self.mend),
            (RESTORE_EVERY, self.restore),
            (retention.BUSY, self.sweep),
        ]
        self.rounds = Rounds(every, cycle.clock.monotonic)
        self._sweep_at = cycle.clock.monotonic()
        self._offset: int | None = None
        self._absent: Absent[run_chores.Missed] = Absent(settings.presumed_gone)
        self._seen: work.Work | None = None

    def run(self) -> None:
        """Do the chores whose time has come; one look tells which have work (decision 0094)."""
        if self.rounds.next_in():
            return
        self._seen = self._look()
        try:
            self.rounds.run()
        finally:
            self._seen = None

    def _look(self) -> work.Work:
        cycle = self.cycle
        with cycle.ledger.read() as connection:
            return work.look(
                connection, cycle.namespace, list(cycle.plans.repeats), now=cycle.clock.now()
            )

    def _work(self) -> work.Work:
        return self._seen if self._seen is not None else self._look()

    def release(self) -> None:
        """Send waiting jobs that nothing holds back."""
        cycle = self.cycle
        size = cycle.settings.batch_size
        if not self._work().waiting:
            return
        while True:
            claims = cycle.ledger.transact(
                lambda connection: release(
                    connection,
                    cycle.namespace,
                    cycle.plans,
                    node_id=cycle.heart.id,
                    now=cycle.clock.now(),
                    limit=size,
                )
            )
            cycle.send(claims)
            if len(claims) < size:
                return

    def let_go(self) -> None:
        """Give repeats whose run has ended, later than their next time, a new next time."""
        cycle = self.cycle
        plans, size = cycle.plans.repeats, cycle.settings.batch_size
        if not self._work().held:
            return
        now = cycle.clock.now()
        if cycle.ledger.transact(
            lambda connection: let_go(connection, cycle.namespace, plans, now=now, limit=size)
        ):
            cycle.look_again()

    def sweep(self) -> None:
        """Remove some old history, at a moment when no schedule is about to be due."""
        cycle, now = self.cycle, self.cycle.clock.monotonic()
        waited = now - self._sweep_at
        if waited < 0 or (waited < retention.PATIENCE and cycle.due_within(retention.CALM)):
            return
        removed = cycle.ledger.transact(
            lambda connection: retention.sweep(
                connection, cycle.namespace, cycle.settings.retention, now=cycle.clock.now()
            )
        )
        more = removed >= retention.BATCH
        self._sweep_at = now + (retention.BUSY if more else retention.IDLE)

    def look_after_others(self) -> None:
        """Take over what beats that are gone claimed, and settle what workers that are gone ran."""
        cycle = self.cycle
        with cycle.ledger.read() as connection:
            self.watch.look(connection, cycle.namespace, cycle.clock.now())
            holders = holders_of_claims(connection, cycle.namespace)
        if holders:
            self._take_over()
        if self._work().running:
            self._reap()

    def _take_over(self) -> None:
        cycle = self.cycle
        claims = cycle.ledger.transact(
            lambda connection: take_over(
                connection,
                cycle.namespace,
                cycle.plans,
                self.watch,
                node_id=cycle.heart.id,
                now=cycle.clock.now(),
                limit=cycle.settings.batch_size,
                in_hand=cycle.in_hand(),
            )
        )
        facts.recovered(log, claims)
        cycle.send(claims)

    def _reap(self) -> None:
        cycle = self.cycle
        settled = cycle.ledger.transact(
            lambda connection: reap(
                connection,
                cycle.namespace,
                self.watch,
                now=cycle.clock.now(),
                limit=cycle.settings.batch_size,
            )
        )
        facts.reaped(log, settled)

    def find_lost(self) -> None:
        """Send again what the broker has lost."""
        self.cycle.send(find_lost(self.cycle, self.watch))
        run_chores.find_lost_tasks(self.cycle, self.watch, self._absent)

    def look_after_runs(self) -> None:
        """Bring Runs to their end that no worker will."""
        if not self._work().runs:
            return
        run_chores.meet_deadlines(self.cycle)
        run_chores.reap_tasks(self.cycle, self.watch)
        run_chores.finish_runs(self.cycle)

    def keep_lateness(self) -> None:
        """Add what was sent since the last time to the histogram."""
        cycle = self.cycle
        counts = cycle.lateness.counts
        if counts:
            cycle.ledger.transact(
                lambda connection: lateness.add(connection, cycle.namespace, counts)
            )
            cycle.lateness.forget()

    def mend(self) -> None:
        """Correct next times that the clock or the zone data made wrong."""
        cycle = self.cycle
        mended = cycle.ledger.transact(
            lambda connection: mend(connection, cycle.namespace, cycle.plans, now=cycle.clock.now())
        )
        facts.mended(log, mended)

    def restore(self) -> None:
        """Register anew what somebody deleted from the ledger by hand."""
        cycle = self.cycle
        try:
            result = cycle.ledger.transact(
                lambda connection: restore(
                    connection, cycle.namespace, cycle.plans, now=cycle.clock.now()
                )
            )
        except IntegrityError:
            return  # another beat was first
        facts.restored(log, result)

    def notice_jump(self) -> None:
        """Look at everything anew when the wall clock was set."""
        clock = self.cycle.clock
        offset = clock.now() - int(clock.monotonic() * 1000)
        if self._offset is not None and abs(offset - self._offset) > JUMP:
            log.warning(
                "The clock was set by %+.1f s",
                (offset - self._offset) / 1000,
                extra={"action": "clock.jumped"},
            )
            self._sweep_at = clock.monotonic() + retention.AFTER_JUMP
            self.cycle.look_again()
            self.mend()
        self._offset = offset
