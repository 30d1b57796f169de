"""JSON schemas of the answers, read from the service's own types so that they cannot differ."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from tsumugi_celery.control import repeats, runs, views
from tsumugi_celery.core import states

#: The views that answers are made of, by the name of their schema.
VIEWS: dict[str, type[views.View]] = {
    "Schedule": views.ScheduleView,
    "SchedulePage": views.SchedulePage,
    "Outcome": views.Outcome,
    "Occurrence": views.OccurrenceView,
    "OccurrencePage": views.OccurrencePage,
    "Attempt": views.AttemptView,
    "Binding": views.BindingView,
    "Repeat": repeats.RepeatItem,
    "RepeatPage": repeats.RepeatPage,
    "Collection": repeats.CollectionItem,
    "Run": runs.RunView,
    "Branch": runs.BranchView,
    "ComingTime": views.ComingTime,
    "Explanation": views.Explanation,
}
_NAMES = {view: name for name, view in VIEWS.items()}
_PLAIN = {str: "string", int: "integer", bool: "boolean"}
_ENUMS: dict[str, tuple[str, ...]] = {
    "kind": ("job", "flow"),
    "form": ("tsumugi", "celery", "handler"),
    "overlap": ("skip", "overlap"),
    "state": states.STATES,
    "last_state": states.STATES,
    "cause": states.CAUSES,
    "wait": ("slot", "binding", "retry", "broker"),
    "shape": ("task", "chain", "group", "chord"),
    "role": ("root", "step", "member", "header", "body", "link", "extra"),
    "status": ("runs", "skipped", "repeated"),
}


def schemas() -> dict[str, Any]:
    """Return the schemas of all answers, by name."""
    made: dict[str, Any] = {name: _object(view) for name, view in VIEWS.items()}
    made["Upcoming"] = _listed("upcoming", "ComingTime")
    made["Collections"] = _listed("collections", "Collection")
    made["Bindings"] = _listed("bindings", "Binding")
    made["Triggered"] = {
        "type": "object",
        "properties": {"id": {"type": "string", "description": "of the new occurrence"}},
        "required": ["id"],
        "additionalProperties": False,
    }
    made["Error"] = {
        "type": "object",
        "properties": {
            "error": {
                "type": "object",
                "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
                "required": ["code", "message"],
                "additionalProperties": False,
            }
        },
        "required": ["error"],
        "additionalProperties": False,
    }
    return made


def reference(name: str) -> dict[str, str]:
    """Return a reference to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def _listed(key: str, item: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {key: {"type": "array", "items": reference(item)}},
        "required": [key],
        "additionalProperties": False,
    }


def _object(view: type[views.View]) -> dict[str, Any]:
    hints = get_type_hints(view)
    told = _told(view.__doc__ or "")
    properties = {}
    for field in fields(view):  # type: ignore[arg-type] # all views are dataclasses
        schema = _schema(hints[field.name], field.name)
        if field.name in told:
            # Beside a $ref too: 3.1 allows it.
            schema = schema | {"description": told[field.name]}
        properties[field.name] = schema
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _schema(hint: Any, name: str) -> dict[str, Any]:
    if get_origin(hint) in {Union, UnionType}:
        (inner,) = (each for each in get_args(hint) if each is not NoneType)
        schema = _schema(inner, name)
        if "enum" in schema:
            return schema | {"type": ["string", "null"], "enum": [*schema["enum"], None]}
        return schema | {"type": [schema["type"], "null"]}
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _schema(get_args(hint)[0], name)}
    if get_origin(hint) is Mapping:
        counts = {cause: {"type": "integer", "minimum": 0} for cause in states.CAUSES}
        return {
            "type": "object",
            "properties": counts,
            "required": list(counts),
            "additionalProperties": False,
        }
    if hint in _NAMES:
        return dict(reference(_NAMES[hint]))
    plain: dict[str, Any] = {"type": _PLAIN[hint]}
    return plain | {"enum": list(_ENUMS[name])} if name in _ENUMS else plain


def _told(doc: str) -> dict[str, str]:
    """Return what the docstring says of each attribute."""
    _, _, listed = doc.partition("Attributes:")
    found = re.findall(r"^ {8}(\w+): (.*(?:\n {12}.*)*)", listed, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in found}
