"""A short text that stands for a value: equal for equal values, in every process.

Neither `hash()` nor `pickle` nor `repr` will do: they differ with the seed of the process, the
order of a set or the address of an object.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import inspect
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

_LENGTH = 32
_SCALARS = (type(None), bool, int, float, complex, str, bytes)


def fingerprint_of(value: Any) -> str:
    """Return the first 32 hexadecimal digits of the SHA-256 of `value` written canonically."""
    return hashlib.sha256(_written(value, ()).encode("utf-8", "surrogatepass")).hexdigest()[
        :_LENGTH
    ]


def _written(value: Any, above: tuple[int, ...]) -> str:
    if isinstance(value, enum.Enum):
        return f"{_name(type(value))}.{value.name}"
    if type(value) in _SCALARS:
        return f"{type(value).__name__}:{value!r}"
    if id(value) in above:
        return f"again:{len(above) - above.index(id(value))}"
    return _compound(value, (*above, id(value)))


def _compound(value: Any, above: tuple[int, ...]) -> str:
    if isinstance(value, Mapping):
        pairs = sorted(f"{_written(k, above)}={_written(v, above)}" for k, v in value.items())
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, (list, tuple, set, frozenset)):
        parts = [_written(one, above) for one in value]
        if isinstance(value, (set, frozenset)):
            parts.sort()
        return f"{type(value).__name__}[{','.join(parts)}]"
    if isinstance(value, functools.partial):
        return f"partial[{_written((value.func, value.args, value.keywords), above)}]"
    if inspect.ismethod(value):
        return f"method[{_written(value.__self__, above)}.{value.__func__.__qualname__}]"
    if isinstance(value, type) or inspect.isroutine(value):
        return _name(value)
    return _object(value, above)


def _object(value: Any, above: tuple[int, ...]) -> str:
    kind = _name(type(value))
    if is_dataclass(value):
        state: Any = {one.name: getattr(value, one.name) for one in fields(value)}
        return f"{kind}{_written(state, above)}"
    # An attribute may be computed by user code and fail; instance dictionaries do not.
    state = getattr(value, "__dict__", None)
    if state:
        return f"{kind}{_written(dict(state), above)}"
    text = repr(value)
    return kind if " at 0x" in text else f"{kind}:{text}"


def _name(value: Any) -> str:
    module = getattr(value, "__module__", "")
    return f"{module}:{getattr(value, '__qualname__', type(value).__qualname__)}"
