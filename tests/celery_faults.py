"""What older versions of Celery do wrong, so that tests can say so (decision 0100)."""

import celery
import pytest

BEFORE_5_7 = celery.VERSION[:2] < (5, 7)

solar_without_sunrise = pytest.mark.skipif(
    BEFORE_5_7, reason="Celery before 5.7 raises where the sun neither rises nor sets"
)


def skip_relative(zone: str) -> None:
    """Skip where Celery's own answer is an hour off: on a day that begins with a change."""
    if BEFORE_5_7 and zone == "Africa/Cairo":
        pytest.skip("Celery before 5.7 is an hour off where the clock changes at midnight")
