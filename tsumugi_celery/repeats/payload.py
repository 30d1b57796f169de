"""Payloads of repeats: JSON, and refused when they are set rather than when they run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core.repeat import NotAccepted
from tsumugi_celery.core.wording import shown
from tsumugi_celery.definitions.payload import spread

if TYPE_CHECKING:
    from collections.abc import Callable

_ACCEPTED = "JSON: None, bool, int, float, text, and lists and dicts of these"


class Payloads:
    """Checks the payloads of one collection.

    Args:
        task: the name of its task, for messages.
        header: raises TypeError for arguments that do not fit the task; None where any will do.
    """

    def __init__(self, task: str, header: Callable[..., Any] | None) -> None:
        """Start without having checked any."""
        self._task = task
        self._header = header
        self._fitting: set[tuple[int, frozenset[str]]] = set()

    def text(self, value: object) -> str:
        """Return a payload as JSON text.

        Raises:
            NotAccepted: it is not JSON, or does not fit the task.
        """
        self._check_keys(value)
        try:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False)
            text.encode()
        except UnicodeEncodeError:
            hint = "it holds half of a surrogate pair"
            raise NotAccepted(shown(value), _ACCEPTED, hint) from None
        except (TypeError, ValueError, RecursionError) as error:
            raise NotAccepted(shown(value), _ACCEPTED, str(error)) from error
        self._check_fit(value)
        return text

    def _check_keys(self, value: object) -> None:
        """Refuse keys that JSON would turn into text without a word."""
        try:
            odd = _odd_key(value)
        except RecursionError:
            raise NotAccepted(shown(value), _ACCEPTED, "it contains itself") from None
        if odd is not None:
            hint = f"the key {shown(odd[0])} is not text"
            raise NotAccepted(shown(value), _ACCEPTED, hint)

    def _check_fit(self, value: object) -> None:
        args, kwargs = spread(value)
        shape = (len(args), frozenset(kwargs))
        if self._header is None or shape in self._fitting:
            return
        try:
            self._header(*args, **kwargs)
        except TypeError as error:
            hint = f"{error}; for no arguments write {{}}" if value is None else str(error)
            raise NotAccepted(shown(value), f"arguments that fit {self._task}", hint) from error
        self._fitting.add(shape)


def _odd_key(value: object) -> tuple[Any] | None:
    if isinstance(value, dict):
        for key, each in value.items():
            if not isinstance(key, str):
                return (key,)
            if isinstance(each, (dict, list, tuple)) and (found := _odd_key(each)) is not None:
                return found
    elif isinstance(value, (list, tuple)):
        for each in value:
            if (found := _odd_key(each)) is not None:
                return found
    return None
