from __future__ import annotations

import copy
import pickle

import pytest

from tsumugi_celery.core.errors import (
    DefinitionError,
    DispatchError,
    LedgerError,
    Problem,
    TsumugiError,
    UnknownSchedule,
)
from tsumugi_celery.core.wording import SHOWN_LENGTH, did_you_mean, nearest, shown

PROBLEMS = [
    Problem("schedule 'nightly'", "cron", "'5/2 * * * *'", "0-59", "write 5-59/2"),
    Problem("schedule 'poll'", "everyMs", "True", "an integer from 1000"),
]


def test_a_definition_error_tells_every_problem():
    error = DefinitionError(PROBLEMS)
    assert error.problems == tuple(PROBLEMS)
    assert str(error) == (
        "2 problems in the definitions:\n"
        "  - schedule 'nightly': cron: got '5/2 * * * *'; accepted: 0-59 (write 5-59/2)\n"
        "  - schedule 'poll': everyMs: got True; accepted: an integer from 1000"
    )
    assert str(DefinitionError(PROBLEMS[:1])).startswith("1 problem in the definitions:")


def test_what_the_errors_can_be_caught_as():
    assert issubclass(DefinitionError, ValueError)
    assert issubclass(UnknownSchedule, KeyError)
    for kind in (DefinitionError, UnknownSchedule, DispatchError, LedgerError):
        assert issubclass(kind, TsumugiError)


def test_an_unknown_schedule_reads_as_a_sentence():
    error = UnknownSchedule("nightli", ["poll", "nightly", "Nightly-2"])
    assert str(error) == ("no schedule is named 'nightli' (did you mean 'nightly' or 'Nightly-2'?)")
    assert error.name == "nightli"
    assert str(UnknownSchedule("x")) == (
        "no schedule is named 'x' (list() shows the names that exist)"
    )


@pytest.mark.parametrize(
    "error",
    [
        DefinitionError(PROBLEMS),
        UnknownSchedule("nightli", ["nightly"]),
        DispatchError("refused"),
        LedgerError("too new"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_survive_pickling_and_copying(error):
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert twin.__dict__ == error.__dict__


def test_values_are_shown_on_one_short_line():
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    assert shown("a") == "'a'"
    assert len(shown("x" * 10_000)) <= SHOWN_LENGTH
    assert "\n" not in shown({"a": "b\nc", "d": object()})
    assert shown(Broken()) == "<Broken object whose repr fails>"


def test_near_names():
    assert nearest("TIMEZONE", ["timeZone", "cron"]) == ("timeZone",)
    assert nearest("qqq", ["timeZone", "cron"]) == ()
    assert nearest(5, ["timeZone"]) == ()
    assert nearest("x" * 100_000, ["x" * 99]) == ()
    assert did_you_mean(()) == ""
    assert did_you_mean(("a", "b")) == "did you mean 'a' or 'b'?"
