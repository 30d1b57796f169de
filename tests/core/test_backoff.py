from __future__ import annotations

import pytest

from tsumugi_celery.core.backoff import Backoff


@pytest.mark.parametrize(
    ("backoff", "waits"),
    [
        (Backoff(jitter=False), [1000, 2000, 4000, 8000, 16_000]),
        (Backoff(base_ms=500, factor=3, max_ms=5000, jitter=False), [500, 1500, 4500, 5000, 5000]),
        (Backoff(base_ms=100, factor=1.5, jitter=False), [100, 150, 225, 337, 506]),
        (Backoff(base_ms=100, factor=1, jitter=False), [100] * 5),
        (Backoff(base_ms=9000, max_ms=700, jitter=False), [700] * 5),
        (Backoff.fixed(250, jitter=False), [250] * 5),
        (Backoff.fixed(0, jitter=False), [0] * 5),
    ],
)
def test_waits(backoff, waits):
    assert [backoff.delay_ms(attempt, 0.5) for attempt in range(1, 6)] == waits


def test_the_default_of_max_attempts_alone():
    assert Backoff() == Backoff("exponential", 1000, 2, 3_600_000, jitter=True)
    assert Backoff().delay_ms(40, 0.999_999_999) <= 3_600_000


@pytest.mark.parametrize("backoff", [Backoff(), Backoff.fixed(1000, jitter=True)])
def test_jitter_is_half_fixed_and_half_random(backoff):
    assert [backoff.delay_ms(1, chance) for chance in (0, 0.25, 0.5, 0.999)] == [500, 625, 750, 999]


@pytest.mark.parametrize("factor", [2, 1.0001, 2.5, 1000])
def test_numbers_without_end_stop_at_the_longest_wait(factor):
    assert Backoff(factor=factor, jitter=False).delay_ms(10**6, 0) == 3_600_000
