"""The cycle of a beat: claim, resolve, publish, settle, and the chores between."""

from __future__ import annotations

import logging
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from tsumugi_celery.core.reasons import reason
from tsumugi_celery.engine import facts
from tsumugi_celery.engine.chores import Chores
from tsumugi_celery.engine.claim import claim_due
from tsumugi_celery.engine.dispatch import Dispatcher
from tsumugi_celery.engine.heartbeat import BEAT, Heart
from tsumugi_celery.engine.lateness import Lateness
from tsumugi_celery.engine.message import unpack
from tsumugi_celery.engine.plans import Plans
from tsumugi_celery.engine.priorities import priority_warnings
from tsumugi_celery.engine.recover import put_back
from tsumugi_celery.engine.register import register
from tsumugi_celery.engine.repeat_claim import claim_repeats
from tsumugi_celery.engine.resolve import Resolver
from tsumugi_celery.engine.runs import kept_canvas
from tsumugi_celery.ledger import repeats, schedules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from celery import Celery
    from sqlalchemy import Connection

    from tsumugi_celery.definitions.model import Definition
    from tsumugi_celery.engine.claim import Claim, Claimed
    from tsumugi_celery.engine.clock import Clock
    from tsumugi_celery.engine.dispatch import Outcome
    from tsumugi_celery.engine.settings import Settings
    from tsumugi_celery.ledger.ledger import Ledger

log = logging.getLogger(__name__)

#: How many schedules the first claim of a tick takes, at the most.
FIRST_BATCH = 20
#: How long a beat waits before it asks a ledger that is away again, seconds.
AWAY_WAIT = 1.0
#: How long an ending beat waits for payload callables that are running, seconds.
STOP_WAIT = 2.0


class Cycle:
    """What one beat does, step by step.

    Args:
        app: the Celery app.
        ledger: the ledger.
        definitions: all schedules of this process, by name.
        namespace: the namespace of the app.
        settings: the settings.
        clock: the time.
        repeats: what the repeats of each collection have in common, by its name.
        stopped: names of schedules that this process leaves to others; may grow.
    """

    def __init__(  # noqa: PLR0917 - the parts it joins
        self,
        app: Celery,
        ledger: Ledger,
        definitions: Mapping[str, Definition],
        namespace: str,
        settings: Settings,
        clock: Clock,
        *,
        repeats: Mapping[str, Definition] | None = None,
        stopped: AbstractSet[str] = frozenset(),
    ) -> None:
        """Join the parts; nothing is connected yet."""
        self.app = app
        self.ledger = ledger
        self.namespace = namespace
        self.settings = settings
        self.clock = clock
        self.plans = Plans(app, settings, definitions, repeats, stopped)
        self.woken = threading.Event()
        self.heart = Heart(
            ledger, namespace, BEAT, min(settings.heartbeat, settings.presumed_gone / 10), clock
        )
        self.resolver = Resolver(app, settings.payload_timeout, clock.monotonic, self.woken.set)
        self.dispatcher = Dispatcher(app, ledger, settings, namespace, self.heart.id, clock)
        self.lateness = Lateness()
        self.chores = Chores(self)
        self.foreign: frozenset[str] = frozenset()
        #: Set to end `claim_all` after the batch in hand.
        self.stopping = False
        self._next_due: int | None = None
        self._repeats_due: dict[str, int] = {}
        self._polled: float | None = None
        self._away = False

    def start(self) -> None:
        """Open the ledger, register the definitions and begin the heartbeat.

        Raises:
            LedgerError: the ledger cannot be used.
        """
        facts.priorities(log, priority_warnings(self.app, self.plans))
        self.ledger.open()
        self.register()
        self.heart.start()

    def register(self) -> None:
        """Write the definitions into the ledger."""
        for remaining in range(5, -1, -1):
            try:
                result = self.ledger.transact(
                    lambda connection: register(
                        connection, self.namespace, self.plans, now=self.clock.now()
                    )
                )
            except IntegrityError:
                # Another beat inserted the same schedule at the same moment.
                if not remaining:
                    raise
            else:
                facts.registered(log, result)
                break
        self.chores.mend()

    def stop(self) -> None:
        """Finish what is under way, give up what hangs, and note the end."""
        try:
            self._finish()
        except SQLAlchemyError as exc:
            log.warning(
                "The ledger is away at the end: %s. Another beat recovers what is left.",
                reason(exc),
            )
        self.heart.stop()
        self.dispatcher.close()
        self.ledger.close()

    def tick(self) -> float:
        """Do all that is due.

        Returns:
            Seconds until there may be something to do again.
        """
        self.woken.clear()
        try:
            self.chores.notice_jump()
            self.dispatcher.settle()
            self.collect()
            # What is due goes first: no chore, however slow or broken, makes a schedule late.
            if self._is_time():
                self.claim_all()
                self._look_ahead()
            self.chores.run()
        except SQLAlchemyError as exc:
            if not self._away:
                log.error(  # noqa: TRY400 - the traceback says no more
                    "The ledger is away; nothing is started until it is back: %s", reason(exc)
                )
            self._away = True
            self._polled = None
            return AWAY_WAIT
        except Exception:
            # A scheduler that ends is worse than one that complains: it goes on with the next tick,
            # and what it had claimed is taken up again as forgotten.
            log.exception("A tick failed", extra={"action": "tick.failed"})
            self._polled = None
            return AWAY_WAIT
        if self._away:
            log.info("The ledger is back", extra={"action": "ledger.back"})
            self._away = False
        return self._wait()

    def claim_all(self) -> None:
        """Claim and send until nothing is due: a batch of each collection in turn.

        The first batch is small: of many messages, the first ones leave at once (decision 0092).
        """
        size = min(FIRST_BATCH, self.settings.batch_size)
        now = self.clock.now()
        repeating = self.plans.repeats
        due = ["", *(name for name in repeating if self._repeats_due.get(name, now) <= now)]
        while due and not self.stopping:
            for collection in list(due):
                claimed = self.claim(size, collection)
                self.send(claimed.claims)
                if claimed.held:
                    self.chores.release()
                if claimed.looked_at < size:
                    due.remove(collection)
            size = self.settings.batch_size

    def claim(self, limit: int, collection: str = "") -> Claimed:
        """Run one claim, of the schedules of the code or of a collection of repeats."""
        now = self.clock.now()

        def work(connection: Connection, *, careful: bool = False) -> Claimed:
            if collection:
                return claim_repeats(
                    connection,
                    namespace=self.namespace,
                    collection=collection,
                    plans=self.plans.repeats,
                    node_id=self.heart.id,
                    now=now,
                    limit=limit,
                    careful=careful,
                )
            return claim_due(
                connection,
                namespace=self.namespace,
                plans=self.plans,
                node_id=self.heart.id,
                now=now,
                limit=limit,
                foreign=self.foreign,
                stopped=self.plans.stopped,
                careful=careful,
            )

        try:
            claimed = self.ledger.transact(work)
        except IntegrityError:
            claimed = self.ledger.transact(partial(work, careful=True))
        self.foreign |= claimed.foreign
        facts.claimed(log, claimed)
        return claimed

    def send(self, claims: Sequence[Claim]) -> list[Outcome]:
        """Send claims: fixed payloads at once, callables once they have returned."""
        ready: list[tuple[Claim, tuple[Any, ...], dict[str, Any]]] = []
        for claim in claims:
            payload = claim.definition.payload
            if claim.body not in {None, claim.plan.body}:
                # Sent before, or written down by a former definition: the same arguments again.
                self._resend(claim, ready)
            elif claim.plan.body_error is not None:
                self._note([self.dispatcher.fail(claim, claim.plan.body_error)])
            elif payload.static and claim.definition.kind == "job":
                info = claim.definition.occurrence(claim.scheduled_at, claim.occurrence_id)
                ready.append((claim, *payload.call(info)))
            else:
                self.resolver.submit(claim)
        return self._note(self.dispatcher.send(ready)) if ready else []

    def _resend(self, claim: Claim, ready: list[Any]) -> None:
        try:
            flow = claim.definition.kind == "flow"
            ready.append((claim, *(kept_canvas(claim) if flow else unpack(claim.body or ""))))
        except Exception as exc:  # noqa: BLE001 - a row that cannot be read fails alone
            self._note([self.dispatcher.fail(claim, exc)])

    def collect(self) -> None:
        """Send what the payload callables have returned."""
        ready: list[tuple[Claim, tuple[Any, ...], dict[str, Any]]] = []
        for claim, arguments, error in self.resolver.collect():
            if arguments is not None:
                ready.append((claim, *arguments))
            elif error is not None:
                self._note([self.dispatcher.fail(claim, error)])
        if ready:
            self._note(self.dispatcher.send(ready))

    def in_hand(self) -> set[str]:
        """Return the ids of the claims that this beat is still working on."""
        return self.resolver.in_hand() | self.dispatcher.in_hand()

    def due_within(self, ms: int) -> bool:
        """Return whether a schedule is due by then, as far as was seen at the last look."""
        return self._next_due is not None and self._next_due <= self.clock.now() + ms

    def next_due(self) -> int | None:
        """Return when anything is due next, epoch ms, as the ledger has it now."""
        self._look_ahead()
        return self._next_due

    def look_again(self) -> None:
        """Forget when what is due: the clock jumped, or times in the ledger have changed."""
        self._polled = None
        self._next_due = None

    def _note(self, outcomes: list[Outcome]) -> list[Outcome]:
        facts.sent(log, outcomes)
        self.lateness.note(outcomes)
        return outcomes

    def _is_time(self) -> bool:
        if (
            self._polled is None
            or self.clock.monotonic() - self._polled >= self.settings.poll_interval
        ):
            self._look_ahead()
        return self._next_due is not None and self._next_due <= self.clock.now()

    def _look_ahead(self) -> None:
        with self.ledger.read() as connection:
            first = schedules.next_due(connection, self.namespace, foreign=self.foreign)
            self._repeats_due = repeats.next_due(
                connection, self.namespace, list(self.plans.repeats)
            )
        self._next_due = min(
            [*self._repeats_due.values(), *([] if first is None else [first])], default=None
        )
        self._polled = self.clock.monotonic()

    def _wait(self) -> float:
        polled = self._polled if self._polled is not None else self.clock.monotonic()
        waits = [
            polled + self.settings.poll_interval - self.clock.monotonic(),
            self.chores.rounds.next_in(),
        ]
        if self._next_due is not None:
            waits.append((self._next_due - self.clock.now()) / 1000)
        deadline = self.resolver.next_deadline()
        if deadline is not None:
            waits.append(deadline)
        return max(0.0, min(waits))

    def _finish(self) -> None:
        deadline = self.clock.monotonic() + STOP_WAIT
        while len(self.resolver) and self.clock.monotonic() < deadline:
            self.woken.clear()
            self.collect()
            if len(self.resolver):
                self.woken.wait(0.1)
        left = [claim.occurrence_id for claim in self.resolver.abandon()]
        if left:
            self.ledger.transact(
                lambda connection: put_back(
                    connection, left, node_id=self.heart.id, now=self.clock.now()
                )
            )
        self.dispatcher.settle()
