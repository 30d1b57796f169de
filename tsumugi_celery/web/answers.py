"""Answers: JSON, an ETag where polling is worth it, and the headers that keep browsers safe."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from flask import Response, request

#: Nothing from elsewhere, nothing inline, in nobody's frame.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def answer(value: Any, status: int = 200) -> Response:
    """Return a value as JSON. Flask's own JSON belongs to the app, which may have changed it."""
    text = json.dumps(value, separators=(",", ":"))
    return Response(text + "\n", status=status, mimetype="application/json")


def polled(value: Any) -> Response:
    """Return a value as JSON with an ETag; 304 where the asker has it already."""
    response = answer(value)
    response.set_etag(sha256(response.get_data()).hexdigest()[:32], weak=True)
    response.headers["Cache-Control"] = "private, no-cache"
    response.vary.update(("Authorization", "Cookie"))
    response.make_conditional(request)  # changes it in place
    return response


def secured(response: Response) -> Response:
    """Add the headers that every answer has."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers.setdefault("Cache-Control", "no-store")
    return response
