"""What travels: the arguments as text for the ledger, and the header for the worker."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kombu.serialization import dumps, loads, prepare_accept_content

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The name of the message header that makes a task one of ours.
HEADER = "tsumugi"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One message to be sent.

    Attributes:
        occurrence_id: the Celery task id (or the root id of a Run).
        schedule_id: the row of its schedule.
        scheduled_at: epoch ms.
        kind: 'job' or 'flow'.
        target: the task's name, or the flow's.
        args: positional arguments.
        kwargs: keyword arguments.
        options: for `apply_async`; holds the header.
        body: the arguments as text, for the ledger; None when it has them already.
    """

    occurrence_id: str
    schedule_id: int
    scheduled_at: int
    kind: str
    target: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    body: str | None = None


def pack(args: tuple[Any, ...], kwargs: Mapping[str, Any], serializer: str) -> str:
    """Return arguments as text, by the serializer their message will use.

    Raises:
        kombu.exceptions.EncodeError: the arguments cannot be serialized.
    """
    content_type, encoding, data = dumps([list(args), dict(kwargs)], serializer=serializer)
    text = data if isinstance(data, str) else "base64:" + base64.b64encode(data).decode()
    return json.dumps([content_type, encoding, text])


def unpack(body: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments that `pack` made into text.

    The text comes from this project's own ledger, so its content type is accepted as it is.
    """
    content_type, encoding, text = json.loads(body)
    data = base64.b64decode(text[7:]) if text.startswith("base64:") else text
    args, kwargs = loads(
        data, content_type, encoding, accept=prepare_accept_content([content_type])
    )
    return tuple(args), dict(kwargs)
