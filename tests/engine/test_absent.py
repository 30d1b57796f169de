"""What is missing at every look for long enough is overdue; what is back begins anew."""

from tsumugi_celery.engine.absent import Absent


def test_patience_counts_from_the_first_look_that_missed_it():
    absent = Absent[str](10)
    assert absent.overdue(["a"], 100) == []
    assert absent.overdue(["a", "b"], 109.9) == []
    assert absent.overdue(["a", "b"], 110) == ["a"]
    assert absent.overdue([], 111) == []
    assert absent.overdue(["a"], 112) == []
    assert absent.overdue(["a"], 122) == ["a"]
