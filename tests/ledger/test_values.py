"""What is written is what is read: names, zones, times, long texts; two apps in one database."""

from datetime import datetime

import pytest
from sqlalchemy import select, text, update

from tests.ledger.making import NOW, a_schedule, add_occurrence, add_schedule, the_occurrence
from tsumugi_celery.core.cron import parse_cron
from tsumugi_celery.core.interval import Interval
from tsumugi_celery.core.timing import WallClock
from tsumugi_celery.core.zones import load_zone
from tsumugi_celery.ledger import schedules
from tsumugi_celery.ledger.ledger import Ledger
from tsumugi_celery.ledger.schema import occurrence, schedule

NAMES = [
    "nightly",
    "Nightly",
    "NIGHTLY",
    "nightly ",
    " nightly",
    "nightlý",
    "straße",
    "strasse",
    "結び🎌",
    "a'b\"c;-- \\ %s %(x)s :y",
    "tab\tline\nbreak",
    "x" * 1024,
    "é" * 512,
]


def test_names_are_compared_byte_by_byte(ledger: Ledger):
    """On MariaDB the usual collations fold case, accents and trailing blanks."""
    with ledger.begin() as connection:
        schedules.insert_all(connection, [a_schedule(name) for name in NAMES])
    with ledger.read() as connection:
        assert set(schedules.of_namespace(connection, "proj")) == set(NAMES)
        for name in NAMES:
            row = schedules.find(connection, "proj", name)
            assert row is not None
            assert row.name == name
        assert schedules.find(connection, "proj", "nIGHTLY") is None
        ordered = select(schedule.c.name).order_by(schedule.c.name)
        names = list(connection.execute(ordered).scalars())
    assert names == sorted(NAMES, key=str.encode)


def test_ids_are_compared_byte_by_byte(ledger: Ledger):
    number = add_schedule(ledger)
    for at, identifier in enumerate(("proj.a-1", "proj.A-1", "x" * 150)):
        add_occurrence(ledger, identifier, number, at=NOW + at)
        assert the_occurrence(ledger, identifier).scheduled_at == NOW + at


def test_two_apps_with_equal_schedule_names(ledger: Ledger):
    for namespace in ("shop", "Shop", "mail"):
        add_schedule(ledger, "nightly", namespace=namespace, target=namespace)
    with ledger.begin() as connection:
        for namespace in ("shop", "Shop", "mail"):
            (row,) = schedules.due(connection, namespace, now=NOW, limit=9)
            assert (row.name, row.namespace) == ("nightly", namespace)
            assert set(schedules.of_namespace(connection, namespace)) == {"nightly"}


@pytest.mark.parametrize(
    ("cron", "zone", "after", "expected"),
    [
        ("30 7 * * *", "America/St_Johns", "2026-03-06T12:00+00:00", "2026-03-07T11:00+00:00"),
        ("15 22 * * 0", "Pacific/Marquesas", "2031-12-26T00:00+00:00", "2031-12-29T07:45+00:00"),
    ],
)
def test_a_zone_with_half_hours_comes_back_exact(ledger: Ledger, cron, zone, after, expected):
    """C055: stored and read back, the next time is the same to the minute."""
    after, expected = (
        int(datetime.fromisoformat(one).timestamp() * 1000) for one in (after, expected)
    )
    timing = WallClock(parse_cron(cron), load_zone(zone))
    found = timing.next_after(after)
    assert found == expected
    add_schedule(ledger, cron=cron, time_zone=zone, next_at=found)
    with ledger.read() as connection:
        row = schedules.find(connection, "proj", "one")
    assert row is not None
    again = WallClock(parse_cron(row.cron), load_zone(row.time_zone))
    assert row.next_at == again.next_after(after) == expected


def test_a_local_time_of_the_session_means_nothing(mariadb_database, postgres_database):
    """C210: a session in London over the night its clock is put forward."""
    session = {
        "postgresql": "SET TIME ZONE 'Europe/London'",
        "mariadb": "SET time_zone = '+01:00'",  # its named zones are not loaded everywhere
    }
    for database in (mariadb_database, postgres_database):
        ledger = Ledger(database.url)
        ledger.open()
        registered, every = 1774742700000, 600_000  # 2026-03-29T00:05Z; 01:00Z does not exist there
        timing = Interval(registered + every, every)
        number = add_schedule(ledger)
        at = registered
        for _ in range(12):
            following = timing.next_after(at)
            assert following is not None
            with ledger.begin() as connection:
                connection.execute(text(session[database.kind]))
                connection.execute(
                    update(schedule).where(schedule.c.id == number).values(next_at=following)
                )
            with ledger.read() as connection:
                row = schedules.find(connection, "proj", "one")
            assert row is not None
            assert row.next_at == following == at + every
            at = following
        ledger.close()


def test_long_texts_and_odd_characters_in_reasons(ledger: Ledger):
    number = add_schedule(ledger, payload="p" * 300_000)
    reason = "boom 💥 \\ ' \" %s\n" * 50
    add_occurrence(ledger, "a", number, error=reason, body="b" * 300_000)
    row = the_occurrence(ledger, "a")
    assert row.error == reason
    assert len(row.body) == 300_000


def test_times_long_ago_and_far_ahead(ledger: Ledger):
    number = add_schedule(ledger)
    for name, at in (("past", -62_000_000_000_000), ("future", 250_000_000_000_000)):
        add_occurrence(ledger, name, number, at=at)
        assert the_occurrence(ledger, name).scheduled_at == at


def test_flags_come_back_as_flags(ledger: Ledger):
    number = add_schedule(ledger)
    with ledger.read() as connection:
        row = connection.execute(select(schedule).where(schedule.c.id == number)).one()
    assert row.active is True
    assert row.paused is False
    add_occurrence(ledger, "a", number)
    with ledger.read() as connection:
        tracked = occurrence.c.untracked.is_(False)
        assert connection.execute(select(occurrence.c.id).where(tracked)).scalar_one() == "a"
