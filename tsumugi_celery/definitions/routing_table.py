"""The tables behind `options`: Celery's own names for one message, and why some are refused.

Source: the parameters of `Celery.send_task`, `AMQP.send_task_message` and
`kombu.Producer.publish`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from kombu import Queue


def _is(*types: type) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, types) and not (isinstance(value, bool) and bool not in types)
    )


def _anything(value: object) -> bool:  # noqa: ARG001 - a rule that any value keeps
    return True


#: name -> (accepted, check). What Celery or kombu take for one message, None allowed for each.
ROUTING: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "queue": ("a queue's name or a kombu.Queue", _is(str, Queue)),
    "exchange": ("an exchange's name or a kombu.Exchange", _anything),
    "exchange_type": ("text such as 'direct' or 'topic'", _is(str)),
    "routing_key": ("text", _is(str)),
    "headers": ("a dict with text as keys", _is(Mapping)),
    "serializer": ("a serializer's name such as 'json'", _is(str)),
    "compression": ("a compression's name such as 'gzip'", _is(str)),
    "content_type": ("text", _is(str)),
    "content_encoding": ("text", _is(str)),
    "delivery_mode": ("1, 2, 'transient' or 'persistent'", _is(int, str)),
    "mandatory": ("True or False", _is(bool)),
    "immediate": ("True or False", _is(bool)),
    "declare": ("a list of kombu entities", _is(list, tuple)),
    "retry": ("True or False", _is(bool)),
    "retry_policy": ("a dict", _is(Mapping)),
    "timeout": ("seconds as a number", _is(int, float)),
    "confirm_timeout": ("seconds as a number", _is(int, float)),
    "link": ("a signature or a list of them", _anything),
    "link_error": ("a signature or a list of them", _anything),
    "ignore_result": ("True or False", _is(bool)),
    "add_to_parent": ("True or False", _is(bool)),
    "shadow": ("text", _is(str)),
    "reply_to": ("text", _is(str)),
    "argsrepr": ("text", _is(str)),
    "kwargsrepr": ("text", _is(str)),
    "stamped_headers": ("a list of names", _is(list, tuple, set)),
}

#: The same for what only Celery's form may give here.
CELERY_ONLY: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "priority": ("an integer", _is(int)),
    "expires": ("seconds as a number, or a datetime", _is(int, float, datetime, str)),
    "time_limit": ("seconds as a number", _is(int, float)),
    "soft_time_limit": ("seconds as a number", _is(int, float)),
    "countdown": ("seconds as a number", _is(int, float)),
    "eta": ("a datetime", _is(datetime, str)),
}

#: Celery's name -> our own option for it; given both, the two contradict each other.
OURS = {
    "priority": "priority",
    "expires": "expiresMs",
    "time_limit": "timeoutMs",
    "soft_time_limit": "timeoutMs",
}
DELAYS = ("countdown", "eta")

_ID = "the id of a job is made of its schedule and scheduled time, and the ledger goes by it"
_PLUMBING = "it is set for each message when it is sent"
REFUSED: dict[str, str] = {
    **dict.fromkeys(("task_id", "root_id", "parent_id", "correlation_id"), _ID),
    **dict.fromkeys(("group_id", "group_index", "chord"), "a job stands alone; use a flow"),
    "retries": "attempts are counted by the ledger; use maxAttempts",
    "args": "it belongs beside options, not in it",
    "kwargs": "it belongs beside options, not in it",
    **dict.fromkeys(
        (
            *("producer", "publisher", "connection", "router", "result_cls", "task_type"),
            *("route_name", "replaced_task_nesting", "event_dispatcher"),
        ),
        _PLUMBING,
    ),
}

#: Headers of Celery's message protocol: one of the user's would replace the message's own.
HEADERS = frozenset(
    {"id", "task", "lang", "eta", "expires", "group", "group_index", "retries", "timelimit"}
    | {"root_id", "parent_id", "origin", "ignore_result", "stamps", "stamped_headers"}
)
HEADER_PREFIX = "tsumugi"
