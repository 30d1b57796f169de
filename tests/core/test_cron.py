from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, timedelta
from itertools import product

import pytest

from tsumugi_celery.core.cron import ALIASES, CronError, expand_alias, parse_cron

NAMES = ("minute", "hour", "day of month", "month", "day of week")
RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
WIDTHS = (60, 24, 31, 12, 7)
BAD_ANYWHERE = (
    # other dialects (C066, C067)
    *("?", "L", "W", "1W", "1L", "1#2", "H", "R", "jan", "MON", "mon-fri", "@daily", "%", "!1"),
    # half of something (C058)
    *("", ",", "1,", ",1", "1,,2", "-", "1-", "-1", "1-2-3", "/", "*/", "/2", "*/2/2", "1-2/"),
    *("**", "*1", "1*", "*-2", "1-*", "*/*", "*/-1"),
    # a step without anything to step through (C056, C057)
    *("5/2", "1/1", "3/15"),
    # numbers that Python would read (C058)
    *(
        "+1",
        "1_0",
        "1.0",
        "1e0",
        "0x1",
        "\uff11",
        "\u0663",
        "\u00b2",
        "\u2163",
        "1\u00a0",
        "1\n",
        "\x001",
        "00001",
    ),
    *("1" * 400, "9" * 5000, "*/" + "9" * 5000, "1-" + "9" * 5000),
    # outside every field
    *("60", "99", "9999", "1-60", "*/0", "1-2/0", "*/61", "2-1", "5-0"),
)


def in_place(word: str, position: int) -> str:
    words = ["*"] * 5
    words[position] = word
    return " ".join(words)


def ids(value: object) -> str:
    return repr(value)[:24]


@pytest.mark.parametrize("position", range(5), ids=NAMES)
@pytest.mark.parametrize("word", BAD_ANYWHERE, ids=ids)
def test_what_is_refused_in_every_field(word: str, position: int) -> None:
    with pytest.raises(CronError) as caught:
        parse_cron(in_place(word, position))
    error = caught.value
    assert error.field in {NAMES[position], "expression"}
    assert error.got
    assert error.accepted in str(error)
    assert error.hint in str(error)
    assert len(str(error)) < 400


@pytest.mark.parametrize(
    ("position", "word", "hint"),
    [
        (0, "60", "60 is outside 0-59"),
        (1, "24", "24 is outside 0-23"),
        (2, "0", "0 is outside 1-31"),
        (2, "32", "32 is outside 1-31"),
        (3, "0", "0 is outside 1-12"),
        (3, "13", "13 is outside 1-12"),
        (4, "8", "8 is outside 0-7"),
        (4, "5-8", "8 is outside 0-7"),
        (1, "22-2", "a range goes upwards; write 22-23,0-2"),
        (4, "6-0", "a range goes upwards; write 6-7,0-0"),
        (0, "5/15", "a step needs '*' or a range in front; write 5-59/15"),
        (3, "1/1", "a step needs '*' or a range in front; write 1-12/1"),
        (0, "*/0", "the step 0 is not between 1 and 60"),
        (4, "mon", "names are not read; write numbers"),
        (2, "L", "names are not read; write numbers"),
        (2, "?", "'?' has no meaning here"),
        (4, "1#2", "'#' has no meaning here"),
        (0, "1,", "a comma with nothing beside it"),
        (0, "0-10/", "'0-10/' is incomplete"),
        (0, "00001", "a number has at most 4 digits"),
    ],
)
def test_the_message_names_field_value_and_what_is_accepted(
    position: int, word: str, hint: str
) -> None:
    with pytest.raises(CronError) as caught:
        parse_cron(in_place(word, position))
    error = caught.value
    assert (error.field, error.got, error.hint) == (NAMES[position], repr(word), hint)
    low, high = RANGES[position]
    assert error.accepted == f"{low}-{high}, as numbers, '*', ',', '-' and '/'"


@pytest.mark.parametrize("position", range(5), ids=NAMES)
def test_a_step_may_be_as_wide_as_its_field_but_not_wider(position: int) -> None:
    parse_cron(in_place(f"*/{WIDTHS[position]}", position))
    with pytest.raises(CronError, match=f"not between 1 and {WIDTHS[position]}"):
        parse_cron(in_place(f"*/{WIDTHS[position] + 1}", position))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "it has 0 fields"),
        (" \t ", "it has 0 fields"),
        ("*", "it has 1 field"),
        ("* * * *", "it has 4 fields"),
        ("* * * * * *", "it has 6 fields; seconds and years are not read"),
        ("0 * * * * * 2030", "it has 7 fields; seconds and years are not read"),
        ("@daily", "write '0 0 * * *'"),
        ("@weekly", "write '0 0 * * 0'"),
        ("@reboot", "words such as @daily are not read here"),
        ("*\n*\n*\n*\n*", "it has 1 field"),
        ("0\u00a09\u00a0*\u00a0*\u00a0*", "it has 1 field"),
        ("0\u30009 * * *", "it has 4 fields"),
        ("* * * * " + "1," * 600 + "1", "it is longer than 1024 characters"),
    ],
    ids=ids,
)
def test_what_is_not_five_fields(text: str, hint: str) -> None:
    """C068: a schedule has five fields, and words such as @daily are none."""
    with pytest.raises(CronError) as caught:
        parse_cron(text)
    assert (caught.value.field, caught.value.hint) == ("expression", hint)


@pytest.mark.parametrize(
    "value", [None, 5, 1.5, True, b"* * * * *", ["*"] * 5, object()], ids=lambda v: type(v).__name__
)
def test_what_is_not_text(value: object) -> None:
    with pytest.raises(CronError, match=f"not as {type(value).__name__}"):
        parse_cron(value)


@pytest.mark.parametrize(
    ("position", "word", "values"),
    [
        (0, "*", range(60)),
        (0, "5", [5]),
        (0, "05", [5]),
        (0, "0005", [5]),
        (0, "7,5,5,6", [5, 6, 7]),
        (0, "*/7", range(0, 60, 7)),
        (0, "10-20/5", [10, 15, 20]),
        (0, "10-20/50", [10]),
        (0, "3-3", [3]),
        (0, "50-59,0-5/5", [0, 5, *range(50, 60)]),
        (1, "*/24", [0]),
        (2, "*/10", [1, 11, 21, 31]),
        (3, "*/5", [1, 6, 11]),
        (4, "*", range(7)),
        (4, "0", [0]),
        (4, "7", [0]),
        (4, "0,7", [0]),
        (4, "7-7", [0]),
        (4, "5-7", [0, 5, 6]),
        (4, "0-7", range(7)),
        (4, "1-7/3", [0, 1, 4]),
        (4, "*/7", [0]),
        (4, "*/2", [0, 2, 4, 6]),
    ],
)
def test_values(position: int, word: str, values: list[int]) -> None:
    fields = parse_cron(in_place(word, position))
    found = (fields.minutes, fields.hours, fields.days, fields.months, fields.weekdays)[position]
    assert found == tuple(values)


def test_blanks_separate_fields() -> None:
    assert parse_cron(" \t0  9\t*\t \t* *  ").hours == (9,)


@pytest.mark.parametrize(
    ("days", "weekdays", "either"),
    [
        ("*", "*", False),
        ("*", "1", False),
        ("13", "*", False),
        ("13", "5", True),
        ("1-31", "1", True),  # C077
        ("1-31/10", "1", True),  # C070a
        ("*/10", "1", False),  # C070b
        ("*/2", "3", False),  # C072
        ("*,15", "1", False),  # C076
        ("15,*", "1", True),
        ("29", "*/7", False),  # C085b
        ("29", "0-7", True),
    ],
)
def test_a_day_field_that_starts_with_a_star_is_unrestricted(
    days: str, weekdays: str, *, either: bool
) -> None:
    assert parse_cron(f"0 0 {days} * {weekdays}").either_day is either


@pytest.mark.parametrize(
    "text",
    [
        "0 0 30 2 *",  # C079a
        "15 6 30-31 2 *",  # C079b
        "0 12 31 4 *",  # C081
        "0 0 31 2 *",
        "0 0 31 2,4,6,9,11 *",
        "0 0 30,31 2 */7",
        "* * 31 2-2 *",
    ],
)
def test_what_never_occurs_is_refused(text: str) -> None:
    with pytest.raises(CronError, match="none of its months has such a day"):
        parse_cron(text)


@pytest.mark.parametrize(
    "text",
    ["0 0 29 2 *", "0 0 29 2 */7", "0 0 31 2 1", "0 0 31 2,3 *", "0 0 30 4 *", "* * 1 1 */7"],
)
def test_what_occurs_rarely_is_accepted(text: str) -> None:
    """C083, C085: also 29 February on a Sunday, which is 28 or 40 years apart."""
    assert parse_cron(text).text == text


def test_every_month_begins_on_every_weekday() -> None:
    """What the refusal of impossible dates rests on, over all 400 years of the calendar."""
    found = {
        (month, *monthrange(year, month))
        for year, month in product(range(2000, 2400), range(1, 13))
    }
    for month, weekday in product(range(1, 13), range(7)):
        longest = max(monthrange(year, month)[1] for year in range(2000, 2004))
        assert (month, weekday, longest) in found
    assert date(2000, 1, 1) + timedelta(days=146_097) == date(2400, 1, 1)
    assert date(2000, 1, 1).weekday() == date(2400, 1, 1).weekday()


def test_words_are_for_repeats_alone() -> None:
    """C249: @hourly, @daily, @weekly and @monthly; no others."""
    assert {word: expand_alias(word) for word in ALIASES} == {
        "@hourly": "0 * * * *",
        "@daily": "0 0 * * *",
        "@weekly": "0 0 * * 0",
        "@monthly": "0 0 1 * *",
    }
    for other in ("@yearly", "@DAILY", "@reboot", "* * * * *", None, 5):
        assert expand_alias(other) is other
    assert all(re.fullmatch(r"[\d *]+", text) for text in ALIASES.values())
