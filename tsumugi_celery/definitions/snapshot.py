"""Copies of what the user gave, so that later changes to it do no harm."""

from __future__ import annotations

import copy
from types import MappingProxyType
from typing import Any

from celery.canvas import Signature

_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def is_flat(value: Any) -> bool:
    """Return whether `value` cannot be changed in place and so may be shared."""
    return isinstance(value, _PLAIN)


def snapshot(value: Any) -> Any:
    """Return a deep copy of `value`.

    Callables (lazy arguments among them) and Celery signatures are kept as they are: a copy of
    either would be something else.

    Raises:
        Exception: whatever the copying of an unusual object raises.
        RecursionError: `value` contains itself.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind in (dict, MappingProxyType):
        return {key: snapshot(one) for key, one in value.items()}
    if kind in (list, tuple):
        return kind(snapshot(one) for one in value)
    if isinstance(value, Signature) or callable(value):
        return value
    return copy.deepcopy(value)
