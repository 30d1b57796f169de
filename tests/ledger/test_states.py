"""The table of states, listed by hand: a change of it must be meant."""

from tsumugi_celery.core import states

PAIRS = {
    ("CLAIMED", "SCHEDULED"),
    ("CLAIMED", "QUEUED"),
    ("CLAIMED", "RUNNING"),
    ("CLAIMED", "FAILED"),
    ("CLAIMED", "CANCELLED"),
    ("CLAIMED", "NOT_EXECUTED"),
    ("SCHEDULED", "CLAIMED"),
    ("SCHEDULED", "QUEUED"),
    ("SCHEDULED", "RUNNING"),
    ("SCHEDULED", "FAILED"),
    ("SCHEDULED", "CANCELLED"),
    ("QUEUED", "CLAIMED"),
    ("QUEUED", "SCHEDULED"),
    ("QUEUED", "RUNNING"),
    ("QUEUED", "COMPLETED"),
    ("QUEUED", "FAILED"),
    ("QUEUED", "CANCELLED"),
    ("QUEUED", "STALLED"),
    ("RUNNING", "SCHEDULED"),
    ("RUNNING", "QUEUED"),
    ("RUNNING", "RUNNING"),
    ("RUNNING", "COMPLETED"),
    ("RUNNING", "FAILED"),
    ("RUNNING", "CANCELLED"),
    ("RUNNING", "STALLED"),
}


def test_the_moves_are_these_and_no_others():
    assert {(old, new) for old, all_new in states.MOVES.items() for new in all_new} == PAIRS


def test_nothing_leaves_a_finished_state():
    assert not {old for old, _ in PAIRS} & set(states.FINISHED)


def test_sources_are_the_moves_read_backwards():
    for state in states.STATES:
        assert {(old, state) for old in states.sources(state)} == {
            pair for pair in PAIRS if pair[1] == state
        }
