"""Days on end, with a store that drops connections; and crashes between publish and record."""

import random
import sqlite3

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from tests.clocks.moments import ms
from tests.model.clock import HOUR, MINUTE, SECOND


class Drops:
    """Lets statements and commits of a ledger fail, by chance, while it is armed."""

    def __init__(self, engine, chance: float) -> None:
        self.random = random.Random(242)
        self.chance = chance
        self.armed = False
        self.count = 0
        event.listen(engine, "before_cursor_execute", self.maybe)
        event.listen(engine, "commit", self.maybe)

    def maybe(self, *_args: object) -> None:
        if self.armed and self.random.random() < self.chance:
            self.count += 1
            raise OperationalError("any", {}, sqlite3.OperationalError("the connection is gone"))


def test_c242_72_hours_with_connections_dropped_at_random(drive):
    driver = drive("2026-03-02T00:00:10Z")
    given = {f"m{each}": {"everyMs": each * MINUTE} for each in (15, 40, 60)}
    beats = [driver.start(given), driver.start(given)]
    start = driver.world.clock.now()
    drops = Drops(driver.world.ledger.engine, 0.02)
    for turn in range(72 * 12):
        driver.world.clock.advance(5 * MINUTE)
        drops.armed = True
        for beat in beats:
            beat.tick()
        drops.armed = False
        driver.work()
        if turn % 100 == 99:
            # A beat that is killed, and one that takes its place.
            beats.pop(0)
            driver.beats.clear()
            beats.append(driver.start(given))
    assert drops.count > 50
    driver.beats = beats
    for _ in range(30):
        driver.world.clock.advance(SECOND)
        driver.turn()
    driver.check_books()
    now = driver.world.clock.now()
    for minutes in (15, 40, 60):
        step = minutes * MINUTE
        driver.check_times(f"m{minutes}", list(range(start + step, now + 1, step)))
        assert driver.world.schedule(f"m{minutes}").next_at > now


@pytest.mark.parametrize("delivered", [True, False])
def test_c130_a_beat_killed_after_the_publish(drive, delivered):
    driver = drive("2026-03-02T09:59:30Z")
    given = {"a": {"cron": "* * * * *"}}
    beat = driver.start(given)
    driver.world.clock.advance(30 * SECOND + 20)
    claimed = beat.claim(500)
    beat.dispatcher.publish([(claim, (), {}) for claim in claimed.claims])
    if delivered:
        driver.work()
    driver.beats.clear()
    driver.world.clock.advance(10 * SECOND)
    driver.start(given)
    driver.run(40 * SECOND, step=SECOND)
    assert driver.executed("a") == [ms("2026-03-02T10:00:00Z")]
    (row,) = driver.world.occurrences("a")
    assert row.id == claimed.claims[0].occurrence_id
    assert row.state == "COMPLETED"
    driver.check_books()


def test_c131_an_edit_beside_a_run_changes_nothing_of_the_run(drive):
    driver = drive("2026-03-02T09:59:30Z")
    every, other = {"cron": "* * * * *"}, [{"everyMs": HOUR}, {"everyMs": 2 * HOUR}]
    driver.start({"a": every, "b": other[0]})
    for turn in range(20):
        driver.world.clock.advance(MINUTE)
        claims = driver.beats[-1].claim(500).claims
        # B is edited by a new beat before A's run is recorded.
        old = driver.beats.pop()
        driver.start({"a": every, "b": other[turn % 2]})
        old.dispatcher.send([(claim, (), {}) for claim in claims])
        driver.turn()
    driver.check_books()
    first = ms("2026-03-02T10:00:00Z")
    assert driver.executed("a") == [first + n * MINUTE for n in range(20)]
