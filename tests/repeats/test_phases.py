"""Phases of `every`: spread evenly, and the same for ever."""

import subprocess
import sys
from datetime import timedelta

import pytest

from tsumugi_celery.core.repeat import NotAccepted, parse_every, phase_of

EVERY = 30_000
#: Written down: a release that changed it would move a million runs.
PROBE_1 = 25598


def test_phases_of_ten_thousand_ids_are_spread_evenly():
    bins = 100
    counts = [0] * bins
    for number in range(10_000):
        counts[phase_of("probes", f"probe:{number}", EVERY) * bins // EVERY] += 1
    expected = 10_000 / bins
    chi_square = sum((count - expected) ** 2 / expected for count in counts)
    # 99 degrees of freedom: one hash in a thousand lies above 148, one in a thousand below 60.
    assert 60 < chi_square < 148


def test_ids_of_two_collections_do_not_run_in_step():
    ids = [f"probe:{number}" for number in range(1000)]
    same = sum(phase_of("a", each, EVERY) == phase_of("b", each, EVERY) for each in ids)
    assert same < 5


def test_phases_are_those_of_every_other_process():
    code = (
        "from tsumugi_celery.core.repeat import phase_of\n"
        "print([phase_of('probes', f'probe:{n}', 30000) for n in range(50)])"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    ]
    here = [phase_of("probes", f"probe:{number}", EVERY) for number in range(50)]
    assert told == [str(here), str(here)]
    assert here[1] == PROBE_1


@pytest.mark.parametrize(
    ("written", "ms"),
    [
        ("1s", 1000),
        ("30s", 30_000),
        ("15m", 900_000),
        ("1h", 3_600_000),
        ("1d", 86_400_000),
        ("90s", 90_000),
        (timedelta(seconds=1), 1000),
        (timedelta(milliseconds=1500), 1500),
        (timedelta(days=7), 604_800_000),
    ],
)
def test_intervals_are_read(written, ms):
    assert parse_every(written) == ms


@pytest.mark.parametrize(
    "written",
    [
        "", "30", "s", "30 s", "30S", "-30s", "+30s", "1.5h", "1h30m", "0s", "500ms", "1w", "٣s",
        "30s ", " 30s", "1e3s", "999999999999d", "9" * 400 + "s", 30, 30.0, True, [], b"30s",
        timedelta(0), timedelta(milliseconds=999), timedelta(seconds=-5),
        timedelta(seconds=1, microseconds=1), timedelta(days=40_000),
    ],
)  # fmt: skip
def test_what_is_no_interval_is_refused(written):
    with pytest.raises(NotAccepted, match="accepted"):
        parse_every(written)
