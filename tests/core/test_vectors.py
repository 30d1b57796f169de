"""The timing cases gathered from bug reports of other schedulers, each by its id.

`data/vectors.json` holds them: `expect` lists the first times later than `after`; `registeredAt`
is when an interval was registered; `rule` is there for data-owned repeats.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from tsumugi_celery.core.errors import DefinitionError
from tsumugi_celery.core.upcoming import upcoming

VECTORS = json.loads((Path(__file__).parent / "data" / "vectors.json").read_text("utf-8"))


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def arguments(vector: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "after": moment(vector["after"]),
        "rule": vector.get("rule", "schedule"),
    }
    for key, name in (("cron", "cron"), ("everyMs", "every_ms"), ("timeZone", "time_zone")):
        if key in vector:
            found[name] = vector[key]
    if "registeredAt" in vector:
        every = timedelta(milliseconds=vector["everyMs"])
        found["first"] = moment(vector["registeredAt"]) + every
    return found


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["id"] for vector in VECTORS])
def test_case(vector: dict[str, Any]) -> None:
    if vector.get("expectError"):
        with pytest.raises(DefinitionError) as caught:
            upcoming(**arguments(vector))
        assert caught.value.problems
        return
    expected = [moment(text) for text in vector["expect"]]
    found = upcoming(**arguments(vector), count=len(expected))
    assert found == expected
    assert all(one.tzinfo is timezone.utc for one in found)
