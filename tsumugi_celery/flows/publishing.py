"""Every message of a Run is noted as it goes out, in whatever process that happens.

Celery tells of each message before it is sent. So a task of a Run is in the ledger before it can
start, and before the task that sends it has ended: there is no moment at which a Run that goes on
looks like one that has ended.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from celery import signals

from tsumugi_celery.flows.names import INTERNAL, RUN_HEADER, may_be_run, turn_of_headers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    #: Gets a root id, the message's headers (which it may change) and the row of the message.
    Register = Callable[[str, dict[str, Any], dict[str, Any]], None]


@dataclass(slots=True)
class Start:
    """A Run whose first messages are being sent by this thread.

    Attributes:
        run_id: the Run.
        fields: the header by which workers know its tasks.
        now: epoch ms.
        sent: rows of the messages, filled while they are sent.
    """

    run_id: str
    fields: Mapping[str, Any]
    now: int
    sent: list[dict[str, Any]] = field(default_factory=list)


_starting: ContextVar[Start | None] = ContextVar("tsumugi_starting", default=None)
_register: list[Register] = []


def connect(register: Register | None = None) -> None:
    """Have Celery tell of messages.

    Args:
        register: told of messages that may belong to a Run but are not the first ones of it; only
            processes that run tasks send such.
    """
    if register is not None:
        _register[:] = [register]
    signals.before_task_publish.connect(_on_publish, weak=False, dispatch_uid="tsumugi-publish")


@contextmanager
def starting(start: Start) -> Iterator[None]:
    """Take messages that this thread sends meanwhile for the first ones of a Run."""
    connect()
    token = _starting.set(start)
    try:
        yield
    finally:
        _starting.reset(token)


def _on_publish(
    sender: str | None = None,
    headers: dict[str, Any] | None = None,
    retry_policy: dict[str, Any] | None = None,
    **message: Any,
) -> None:
    if headers is None:
        return
    start = _starting.get()
    if start is not None and headers.get("root_id") in {None, headers.get("id")}:
        # Celery gives its chord_unlock the root of the task that sends it; here no task runs, so
        # it became its own root.
        headers["root_id"] = start.run_id
    root_id = headers.get("root_id")
    if root_id is None or root_id == headers.get("id"):
        return
    if start is not None and start.run_id == root_id:
        headers[RUN_HEADER] = dict(start.fields)
        if retry_policy is not None:
            # A beat has other schedules to look after: a broker that is away is tried once more.
            retry_policy.update(max_retries=1, interval_start=0)
        start.sent.append(_row(sender, headers, message, start.now))
    elif _register and (RUN_HEADER in headers or may_be_run(root_id, headers.get("id"))):
        _register[0](root_id, headers, _row(sender, headers, message, None))


def _row(
    name: str | None, headers: Mapping[str, Any], message: Mapping[str, Any], now: int | None
) -> dict[str, Any]:
    return {
        "task_id": headers["id"],
        "name": str(name),
        "parent_id": headers.get("parent_id"),
        "internal": name in INTERNAL,
        "sent": turn_of_headers(headers),
        "queue": _queue(message.get("declare"), message.get("routing_key")),
        "queued_at": now,
        "due_at": _due(headers.get("eta")),
    }


def _queue(declare: Sequence[Any] | None, routing_key: str | None) -> str | None:
    named = getattr(declare[0], "name", None) if declare else None
    return named or routing_key or None


def _due(eta: object) -> int | None:
    if not isinstance(eta, str):
        return None
    try:
        moment = datetime.fromisoformat(eta.replace("Z", "+00:00"))
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return int(moment.timestamp() * 1000)
