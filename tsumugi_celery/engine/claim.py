"""Claim: decide on what is due and write it down, in one short transaction (protocol step 1).

No user code and no broker is touched here, except that a schedule class of the user's own may be
asked for its times; what it raises concerns that schedule alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core import states
from tsumugi_celery.core.decide import Decision, Skipped, decide, leave_out
from tsumugi_celery.core.ids import occurrence_id
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.engine.plan import bounded, must_wait, occurrence_values
from tsumugi_celery.ledger import bindings, claiming, schedules, stretches

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from sqlalchemy import Connection, Row

    from tsumugi_celery.core.timing import Timing
    from tsumugi_celery.definitions.model import Definition
    from tsumugi_celery.engine.plan import Plan

#: When a schedule that could not be evaluated is tried again, ms.
RETRY_EVALUATION = 60_000


@dataclass(frozen=True, slots=True)
class Claim:
    """An occurrence that this process has to send.

    Attributes:
        occurrence_id: its id, which is the Celery task id.
        schedule_id: the row of its schedule.
        plan: what to send.
        scheduled_at: epoch ms.
        base: attempts that earlier messages of this occurrence have used up.
        body: the arguments as text, when the ledger has them.
    """

    occurrence_id: str
    schedule_id: int
    plan: Plan
    scheduled_at: int
    base: int = 0
    body: str | None = None

    @property
    def definition(self) -> Definition:
        """The definition of its schedule."""
        return self.plan.definition


@dataclass(slots=True)
class Claimed:
    """What one transaction decided.

    Attributes:
        claims: the occurrences to send now.
        held: how many occurrences were made that wait in the ledger.
        looked_at: how many schedules were due; fewer than the limit means that none is left.
        skipped: (name, times not executed).
        failed: (name, why its next time could not be computed).
        foreign: fingerprints met that this beat does not have.
    """

    claims: list[Claim] = field(default_factory=list)
    held: int = 0
    looked_at: int = 0
    skipped: list[tuple[str, Skipped]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    foreign: set[str] = field(default_factory=set)


def claim_due(
    connection: Connection,
    *,
    namespace: str,
    plans: Mapping[str, Plan],
    node_id: str,
    now: int,
    limit: int,
    foreign: frozenset[str] = frozenset(),
    stopped: AbstractSet[str] = frozenset(),
    careful: bool = False,
) -> Claimed:
    """Decide on the schedules that are due and record each decision.

    Args:
        connection: a transaction that writes.
        namespace: the namespace of the app.
        plans: what this process has defined, by name.
        node_id: who claims.
        now: epoch ms.
        limit: how many schedules at the most.
        foreign: fingerprints that are known to belong to other definitions.
        stopped: names of schedules that this process leaves to others.
        careful: whether a time may have its row already.

    Raises:
        IntegrityError: a time has its row already; to be done again, `careful`.
    """
    result = Claimed()
    rows = schedules.due(connection, namespace, now=now, limit=limit, foreign=foreign)
    result.looked_at = len(rows)
    mine = [row for row in rows if _is_mine(row, plans, stopped, result)]
    skipping = [row.id for row in mine if row.overlap == "skip" and not row.paused]
    busy = claiming.unfinished_schedules(connection, skipping)
    bound = any(plans[row.name].binding_name is not None for row in mine)
    paused_bindings = bindings.paused(connection, namespace) if bound else frozenset()
    batch = Batch(connection, node_id, now, paused_bindings, result)
    decided: list[tuple[Row[Any], Decision]] = []
    for row in mine:
        try:
            decision = _decide(row, plans[row.name].definition, now=now, blocked=row.id in busy)
        except Exception as exc:  # noqa: BLE001 - one definition's fault is that definition's alone
            result.failed.append((row.name, reason(exc)))
            schedules.record_error(
                connection,
                row.id,
                at=now,
                error=f"its next time: {reason(exc)}",
                next_at=now + RETRY_EVALUATION,
            )
            continue
        decided.append((row, decision))
    taken = claiming.ahead(connection, [row.id for row, each in decided if each.skipped])
    for row, decision in decided:
        batch.add(row, plans[row.name], decision, taken.get(row.id, ()))
    batch.write(careful=careful)
    return result


def account(
    connection: Connection, row: Row[Any], decision: Decision, timing: Timing | None, *, now: int
) -> None:
    """Write down a decision that executes nothing.

    Args:
        connection: a transaction that writes.
        row: the schedule, locked.
        decision: what becomes of the times up to now.
        timing: the times of the schedule; None where they are not known.
        now: epoch ms.
    """
    taken = claiming.ahead(connection, [row.id]).get(row.id, ())
    batch = Batch(connection, "", now, frozenset(), Claimed())
    batch.move_on(row, decision, timing, taken)
    batch.write()


def _is_mine(
    row: Row[Any], plans: Mapping[str, Plan], stopped: AbstractSet[str], result: Claimed
) -> bool:
    plan = plans.get(row.name) if row.name not in stopped else None
    if plan is not None and plan.definition.fingerprint == row.fingerprint:
        return True
    result.foreign.add(row.fingerprint)
    return False


def _decide(row: Row[Any], definition: Definition, *, now: int, blocked: bool) -> Decision:
    timing = definition.timing(row.first_at)
    ask = getattr(timing, "ask", None)
    if ask is not None:
        return _decide_polled(row, ask(row.accounted_until, now), now=now, blocked=blocked)
    return decide(
        timing,
        next_at=row.next_at,
        accounted_until=row.accounted_until,
        now=now,
        paused=row.paused,
        blocked=blocked,
    )


def _decide_polled(row: Row[Any], answer: tuple[bool, int], *, now: int, blocked: bool) -> Decision:
    # A schedule class with an is_due of its own knows no times, only whether now is one.
    due, delay = answer
    following = now + max(delay, 1)
    if not due:
        return Decision(None, (), following)
    if row.paused or blocked:
        cause = states.PAUSE if row.paused else states.OVERLAP
        return Decision(None, (Skipped(cause, row.next_at, row.next_at, 1),), following)
    return Decision(row.next_at, (), following)


class Batch:
    """Collects the rows of one claim, so that each kind is written by one statement.

    Args:
        connection: a transaction that writes.
        node_id: who claims.
        now: epoch ms.
        paused_bindings: whose jobs wait in the ledger.
        result: is told what was decided.
    """

    def __init__(
        self,
        connection: Connection,
        node_id: str,
        now: int,
        paused_bindings: frozenset[str],
        result: Claimed,
    ) -> None:
        self.connection = connection
        self.node_id = node_id
        self.now = now
        self.paused_bindings = paused_bindings
        self.result = result
        self.inserts: list[dict[str, Any]] = []
        self.claims: list[Claim] = []
        self.moves: list[dict[str, Any]] = []
        self.updates: list[dict[str, Any]] = []
        self.new_stretches: list[tuple[int, Skipped]] = []
        self.longer_stretches: list[tuple[int, int, Skipped]] = []

    def add(
        self, row: Row[Any], plan: Plan, decision: Decision, taken: Collection[int] = ()
    ) -> None:
        """Take up a decision; `taken` are times ahead that have a row already, epoch ms."""
        if decision.execute_at is not None:
            if plan.definition.repeats:
                plan = bounded(plan, decision.next_at)
            self._execute(row, plan, decision.execute_at)
        timing = plan.definition.timing(row.first_at) if taken else None
        counted = self.move_on(row, decision, timing, taken)
        self.result.skipped += [(row.name, each) for each in counted]

    def write(self, *, careful: bool = False) -> None:
        """Write down all that was taken up.

        Args:
            careful: whether a time may have its row already, which is then left as it is. Only a
                clock that ran ahead makes such rows, and asking costs a savepoint.

        Raises:
            IntegrityError: a time has its row already.
        """
        if careful:
            inserted = claiming.insert_or_lose(self.connection, self.inserts)
            self.claims = [claim for claim in self.claims if claim.occurrence_id in inserted]
        else:
            claiming.insert_all(self.connection, self.inserts)
        self.result.claims += self.claims
        stretches.add(self.connection, self.new_stretches, at=self.now)
        stretches.lengthen(self.connection, self.longer_stretches, at=self.now)
        schedules.update_all(self.connection, self.moves)
        schedules.update_all(self.connection, self.updates)

    def _execute(self, row: Row[Any], plan: Plan, at: int) -> None:
        identifier = occurrence_id(row.namespace, row.name, at, collection=row.collection)
        wait = must_wait(plan, self.paused_bindings)
        self.inserts.append(
            occurrence_values(
                plan,
                identifier=identifier,
                schedule_id=row.id,
                namespace=row.namespace,
                scheduled_at=at,
                node_id=self.node_id,
                now=self.now,
                wait=wait,
            )
        )
        if wait is None:
            self.claims.append(Claim(identifier, row.id, plan, at, body=plan.body))
        else:
            self.result.held += 1

    def move_on(
        self,
        row: Row[Any],
        decision: Decision,
        timing: Timing | None = None,
        taken: Collection[int] = (),
    ) -> Sequence[Skipped]:
        """Move a schedule past what was decided.

        Args:
            row: the schedule, locked.
            decision: what becomes of the times up to now.
            timing: the times of the schedule; None where they are not known.
            taken: times ahead that have a row already, epoch ms.

        Returns:
            What is counted as not executed.
        """
        counts = dict.fromkeys(states.CAUSES, 0)
        first, cause = row.stretch_first, row.stretch_cause
        last_skipped = row.last_skipped_at
        counted: Sequence[Skipped] = decision.skipped
        if timing is not None:
            counted = [part for each in counted for part in leave_out(timing, each, taken)]
        # What was executed in between ends a stretch.
        apart = list(counted) != list(decision.skipped)
        if decision.execute_at is not None or apart:
            first = cause = None
        for skipped in counted:
            counts[skipped.cause] += skipped.count
            last_skipped = max(last_skipped or 0, skipped.last)
            if cause == skipped.cause:
                self.longer_stretches.append((row.id, first, skipped))
            else:
                self.new_stretches.append((row.id, skipped))
                first, cause = (None, None) if apart else (skipped.first, skipped.cause)
        until = max((decision.execute_at or 0, *(skipped.last for skipped in decision.skipped)))
        move = {
            "id": row.id,
            "next_at": decision.next_at,
            "accounted_until": max(row.accounted_until, until),
        }
        if not counted and row.stretch_first is None:
            self.moves.append(move)
            return counted
        self.updates.append(
            {
                **move,
                "n_overlap": row.n_overlap + counts[states.OVERLAP],
                "n_delay": row.n_delay + counts[states.DELAY],
                "n_pause": row.n_pause + counts[states.PAUSE],
                "last_skipped_at": last_skipped,
                "stretch_first": first,
                "stretch_cause": cause,
            }
        )
        return counted
