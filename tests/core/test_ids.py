from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsumugi_celery.core.ids import MAX_LENGTH, occurrence_id

AT = 1_767_225_600_000
LEGAL = re.compile(r"[A-Za-z0-9_.~-]+")
PIECES = st.sampled_from(
    [
        "a",
        "b.c",
        "a-1",
        "-1",
        "1",
        "m1",
        "-manual",
        "~",
        "~~",
        ".",
        "x" * 24,
        "x" * 48,
        "",
        "é",
        "\uff21",
    ]
)
NAMES = st.lists(PIECES, max_size=4).map("".join)
CALLS = st.tuples(
    NAMES, NAMES, st.sampled_from([AT, 1, 0, -1, 11]), st.sampled_from([0, 1, 11]), NAMES
)


def test_ids_are_readable():
    assert occurrence_id("proj", "nightly", AT) == f"proj.nightly-{AT}"
    assert occurrence_id("proj", "nightly", AT, 2) == f"proj.nightly-{AT}-2-manual"
    assert occurrence_id("proj", "user-42", AT, collection="mails") == f"proj.mails~~user-42-{AT}"
    assert occurrence_id("my.proj", "a_B-9", 0) == "my.proj.a_B-9-0"


def test_other_characters_and_long_names_appear_as_a_slug_with_a_hash():
    found = occurrence_id("proj", "celery.backend_cleanup", AT)
    assert re.fullmatch(rf"proj\.celery-backend_cleanup~[a-z2-7]{{16}}-{AT}", found)
    found = occurrence_id("proj", "x" * 65, AT)
    assert re.fullmatch(rf"proj\.x{{47}}~[a-z2-7]{{16}}-{AT}", found)
    found = occurrence_id("proj", "user:42", AT, collection="mails")
    assert re.fullmatch(rf"proj\.mails~~user-42~[a-z2-7]{{16}}-{AT}", found)
    found = occurrence_id("", "日本", AT)
    assert re.fullmatch(rf"id~[a-z2-7]{{16}}\.id~[a-z2-7]{{16}}-{AT}", found)


def test_the_longest_legal_names_are_kept():
    name = "n" * 64
    assert occurrence_id("s" * 40, name, AT) == f"{'s' * 40}.{name}-{AT}"
    assert "~" in occurrence_id("s" * 41, name, AT)
    assert "~" in occurrence_id("s" * 40, name + "n", AT)


def test_ids_are_the_same_in_every_process_and_release():
    """An id written down before an upgrade must mean the same after it."""
    assert occurrence_id("proj", "user:42", AT, collection="mails") == (
        "proj.mails~~user-42~5i75io7b4v6wfyld-1767225600000"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # a dot in the namespace against one in the name
        (("a.b", "c", AT), ("a", "b.c", AT)),
        # digits and dashes at the end of a name
        (("a", "x-5", 7), ("a", "x", 57)),
        (("a", "x-5", 7), ("a", "x", 5, 7)),
        (("a", "x-5", 7, 1), ("a", "x", 5, 71)),
        (("a", "x-1-2-manual", 3), ("a", "x", 1, 2)),
        # before 1970
        (("a", "x-", 5), ("a", "x", -5)),
        (("a", "x-m5", 5), ("a", "x-m5", -5)),
        # a collection against a name, a slug against a name
        (("a", "c", AT, 0, "b"), ("a", "b~~c", AT)),
        (("a", "c", AT, 0, "b"), ("a.b", "c", AT)),
        (("a", "b", AT, 0, "b~~c"), ("a", "c~~b", AT, 0, "b")),
        (("a", "user:1", AT), ("a", "user-1", AT)),
        (("a", "user:1", AT), ("a", "user.1", AT)),
        (("a", "x" * 64 + "1", AT), ("a", "x" * 64 + "2", AT)),
        (("a", "\ud800", AT), ("a", "\ud801", AT)),
    ],
)
def test_what_looks_alike_is_kept_apart(one, other):
    assert occurrence_id(*one) != occurrence_id(*other)


def test_a_name_that_copies_the_slug_of_another_is_another():
    copied = occurrence_id("a", "user:1", AT).removeprefix("a.").removesuffix(f"-{AT}")
    assert occurrence_id("a", copied, AT) != occurrence_id("a", "user:1", AT)
    for collection, name in product(("user:1", copied, "b"), repeat=2):
        found = occurrence_id("a", name, AT, collection=collection)
        assert found != occurrence_id("a", f"{collection}~~{name}", AT)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(CALLS, min_size=2, max_size=40, unique=True))
def test_distinct_arguments_give_distinct_ids(calls):
    found = [occurrence_id(*call) for call in calls]
    assert len(set(found)) == len(calls)
    for one in found:
        assert LEGAL.fullmatch(one)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(), st.text(), st.text(), st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_any_text_gives_a_short_and_plain_id(namespace, name, collection, moment):
    found = occurrence_id(namespace, name, moment, 9_999_999_999, collection)
    assert len(found) <= MAX_LENGTH
    assert LEGAL.fullmatch(found)


def test_the_longest_possible_id():
    longest = occurrence_id("s" * 40, "n" * 48, -62_135_596_800_000, 9_999_999_999, "c" * 24)
    assert "~" not in longest.replace("~~", "")
    assert len(longest) <= MAX_LENGTH
