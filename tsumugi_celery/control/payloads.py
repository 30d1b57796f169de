"""Payloads for people: the text that travelled, never an object made from it."""

from __future__ import annotations

import json

#: The longest payload that is shown, in characters.
LONGEST = 20_000


def shown_payload(body: str | None) -> str | None:
    """Return the arguments as the serializer wrote them: for JSON ``[args, kwargs]``.

    Binary content is named, not decoded: decoding a pickle would run what it says.

    Args:
        body: as the ledger keeps it; None before a payload callable was called.
    """
    if body is None:
        return None
    content_type, _encoding, given = json.loads(body)
    text = str(given)
    if text.startswith("base64:"):
        return f"({content_type}, {len(text)} characters, not shown)"
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
