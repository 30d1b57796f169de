"""Readable ids that are the same for the same scheduled time, whoever computes them.

An id is the primary key of an occurrence, the Celery task id of a job and the root id of a Run.
Celery's SQL result backend keeps 155 characters of it.

``<namespace>.<name>-<ms>``, ``<namespace>.<name>-<ms>-<n>-manual`` for a manual execution, and
``<namespace>.<collection>~~<name>-...`` for a data-owned repeat. What is too long or has
other characters appears as ``<slug>~<hash>``. Read from its end, an id can mean one thing only: a
name has no ``.``, and nothing legal has a ``~``.
"""

from __future__ import annotations

import re
from base64 import b32encode
from functools import lru_cache
from hashlib import sha256

MAX_LENGTH = 150
NAMESPACE_LENGTH = 40
NAME_LENGTH = 64
COLLECTION_LENGTH = 24
REPEAT_LENGTH = 48
HASH_LENGTH = 16  # 80 bits: among a billion names two alike are a matter of one in a million

NAMESPACE = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)
NAME = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
ILLEGAL = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)


def occurrence_id(
    namespace: str, name: str, scheduled_at: int, manual_n: int = 0, collection: str = ""
) -> str:
    """Return the id of one execution.

    Args:
        namespace: The namespace of the app.
        name: The name of the schedule, or the id of the repeat within its collection.
        scheduled_at: The scheduled time, epoch ms; may lie before 1970.
        manual_n: 0 for a regular execution; from 1 for manual ones at the same moment.
        collection: The collection of a repeat; empty for a schedule.

    Returns:
        At most 150 characters; distinct arguments give distinct ids.
    """
    # A minus sign would read like the dash in front of the time.
    moment = str(scheduled_at) if scheduled_at >= 0 else f"m{-scheduled_at}"
    manual = f"-{manual_n}-manual" if manual_n else ""
    return f"{_label(namespace, name, collection)}-{moment}{manual}"


@lru_cache(maxsize=4096)
def _label(namespace: str, name: str, collection: str) -> str:
    space = _spelled(namespace, NAMESPACE, NAMESPACE_LENGTH)
    if not collection:
        return f"{space}.{_spelled(name, NAME, NAME_LENGTH)}"
    group = _spelled(collection, NAME, COLLECTION_LENGTH)
    return f"{space}.{group}~~{_spelled(name, NAME, REPEAT_LENGTH)}"


def _spelled(text: str, legal: re.Pattern[str], length: int) -> str:
    """Return the text itself where it is legal and short, else a slug of it and its hash."""
    if len(text) <= length and legal.fullmatch(text):
        return text
    # Text from outside may hold lone surrogates, which plain UTF-8 refuses.
    digest = sha256(text.encode("utf-8", "surrogatepass")).digest()
    mark = b32encode(digest).decode("ascii")[:HASH_LENGTH].lower()
    slug = ILLEGAL.sub("-", text[:length]).strip("-")[: length - HASH_LENGTH - 1]
    return f"{slug or 'id'}~{mark}"
