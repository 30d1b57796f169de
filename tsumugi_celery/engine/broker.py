"""Sending to the broker: one long-lived producer, bounded waits, batches."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, cast

from celery.result import denied_join_result
from kombu.exceptions import OperationalError

from tsumugi_celery.core.reasons import reason
from tsumugi_celery.engine.confirms import Confirms, can_confirm
from tsumugi_celery.engine.whole_files import write_whole_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from celery import Celery
    from kombu import Connection, Producer

    from tsumugi_celery.engine.message import Outgoing

log = logging.getLogger(__name__)

#: How many messages a transport that can batch hands over at once: the first ones of many are not
#: to wait until the last one is made (decision 0090).
FLUSH = 100

#: What an exception of the transport looks like, whatever the transport.
_CONNECTION_ERRORS = (OperationalError, ConnectionError, TimeoutError, OSError)


class Sender:
    """Sends messages; every wait in it is bounded.

    Args:
        app: the Celery app.
        timeout: how long connecting and each send may take, in seconds.
        send: what hands one message to Celery, given the producer.
    """

    def __init__(self, app: Celery, timeout: float, send: Callable[[Outgoing, Any], None]) -> None:
        """Remember the app; nothing is connected yet."""
        self.app = app
        self.timeout = timeout
        self._send = send
        self._connection: Connection | None = None
        self._producer: Producer | None = None
        self._confirms: Confirms | None = None
        self._channel_errors: tuple[type[BaseException], ...] = ()

    def send(self, messages: Sequence[Outgoing]) -> list[Exception | None]:
        """Send messages, as a batch where the transport can.

        A connection that turns out to be broken is replaced once, and what was under way is sent
        again: a message that arrives twice is executed once.

        Returns:
            For each message None, or why it was not sent, certainly or possibly.
        """
        # No result backend is asked to listen for results: beat waits for none, and one that is
        # away would hold up the send.
        with denied_join_result():
            return self._send_all(messages)

    def _send_all(self, messages: Sequence[Outgoing]) -> list[Exception | None]:
        outcomes: list[Exception | None] = []
        replaced = False
        for start in range(0, len(messages), FLUSH):
            part = messages[start : start + FLUSH]
            again = self._producer is not None and not replaced
            outcome, broken = self._attempt(part)
            many = len(part) > 1 and isinstance(broken, self._channel_errors)
            if broken is not None and again and not many:
                log.info(
                    "The broker connection is replaced: %s",
                    reason(broken),
                    extra={"action": "broker.reconnect"},
                )
                replaced = True
                outcome, broken = self._attempt(part)
            if many:
                outcome = [self._alone(each) for each in part]
                broken = None if None in outcome else broken
            outcomes += [broken if each is None else each for each in outcome]
            if broken is not None:
                # It is away: what is left does not wait for it as well.
                return outcomes + [broken] * (len(messages) - len(outcomes))
        return outcomes

    def _alone(self, message: Outgoing) -> Exception | None:
        # One message of many made the broker close the channel, by an exchange that does not exist
        # for example: it must not take the others along.
        (error,), broken = self._attempt([message])
        return error if error is not None else broken

    def close(self) -> None:
        """Close the connection; the next send opens another."""
        connection, self._connection, self._producer = self._connection, None, None
        self._confirms = None
        if connection is not None:
            with suppress(*_CONNECTION_ERRORS, connection.connection_errors):
                connection.release()

    def _attempt(
        self, messages: Sequence[Outgoing]
    ) -> tuple[list[Exception | None], Exception | None]:
        outcome: list[Exception | None] = [None] * len(messages)
        try:
            producer = self._ready()
            with _batch(producer, len(messages) * 2 + 1):
                for index, message in enumerate(messages):
                    if self._confirms is not None:
                        self._confirms.current = index
                    try:
                        self._send(message, producer)
                    except Exception as exc:
                        if self._is_broken(exc):
                            raise
                        outcome[index] = exc
            if self._confirms is not None:
                for index, refusal in self._confirms.settle().items():
                    outcome[index] = refusal
        except Exception as exc:  # noqa: BLE001 - whatever a transport raises settles the batch
            if not self._is_broken(exc):
                # Nothing is known of the batch, and another try would not mend it.
                self.close()
                return [exc if each is None else each for each in outcome], None
            self.close()
            return outcome, exc
        return outcome, None

    def _ready(self) -> Producer:
        if self._producer is None:
            write_whole_files(self.app)
            options = bounded_options(self.app, self.app.conf.broker_write_url, self.timeout)
            # Said in any case, since Celery adds the app's own options: py-amqp must not wait for
            # each confirm, Confirms waits for many together.
            options["confirm_publish"] = False
            self._connection = self.app.connection_for_write(
                connect_timeout=self.timeout, transport_options=options
            )
            self._connection.ensure_connection(
                max_retries=1, interval_start=0, timeout=self.timeout
            )
            self._channel_errors = self._connection.channel_errors
            self._producer = self.app.amqp.Producer(self._connection, auto_declare=False)
            _declare_once(self._producer)
            if can_confirm(self._connection):
                self._confirms = Confirms(self._producer.channel, self.timeout)
        return cast("Producer", self._producer)

    def _is_broken(self, error: Exception) -> bool:
        if isinstance(error, _CONNECTION_ERRORS):
            return True
        connection = self._connection
        if connection is None:
            return False
        return isinstance(error, (*connection.connection_errors, *connection.channel_errors))


def _declare_once(producer: Producer) -> None:
    """Have a producer remember what it has declared.

    kombu remembers it too, but copies and binds the queue for each message before it looks.
    """
    declare = producer.maybe_declare
    known: dict[int, Any] = {}

    def once(entity: Any, *args: Any, **kwargs: Any) -> Any:
        # By identity, and kept, so that no other queue can get the same number.
        if known.get(id(entity)) is entity:
            return False
        done = declare(entity, *args, **kwargs)
        if entity and entity.can_cache_declaration:
            known[id(entity)] = entity
        return done

    producer.maybe_declare = once


def _batch(producer: Producer, size: int) -> AbstractContextManager[object]:
    """Return a batch; before kombu 5.7 messages leave one by one (decision 0100)."""
    make = getattr(producer, "batch", None)
    return nullcontext() if make is None else cast("AbstractContextManager[object]", make(size))


def bounded_options(app: Celery, url: object, timeout: float) -> dict[str, Any]:
    """Return the transport options of the app, with every wait of the transport bounded.

    Args:
        app: the Celery app.
        url: where the connection leads to; None: the app's `broker_url`.
        timeout: the bound, in seconds; what the app sets itself stays.
    """
    options = dict(app.conf.broker_transport_options or {})
    first = url or app.conf.broker_url or "amqp"
    name = str(first[0] if isinstance(first, (list, tuple)) else first).partition(":")[0]
    if name.startswith(("redis", "rediss", "valkey", "sentinel")):
        options.setdefault("socket_connect_timeout", timeout)
        options.setdefault("socket_timeout", timeout)
    elif name.startswith(("amqp", "pyamqp")):
        # Without confirms a publish only proves that bytes left this machine.
        options["confirm_publish"] = True
        options.setdefault("read_timeout", timeout)
        options.setdefault("write_timeout", timeout)
    return options
