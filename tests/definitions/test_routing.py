"""Celery's own options under `options`: names, types and clashes."""

from __future__ import annotations

import pytest
from kombu import Queue

from tests.definitions.reading import CELERY, JOB, only_problem, problems, read
from tsumugi_celery.definitions.routing_table import (
    CELERY_ONLY,
    HEADERS,
    OURS,
    REFUSED,
    ROUTING,
)

GOOD = {
    "queue": "slow", "routing_key": "slow", "exchange": "x", "exchange_type": "topic",
    "headers": {"tenant": 1}, "serializer": "json", "compression": "gzip", "delivery_mode": 1,
    "mandatory": True, "link": {"task": "proj.done"}, "link_error": [], "ignore_result": True,
    "shadow": "s", "reply_to": "r", "retry": False, "retry_policy": {"max_retries": 1},
    "add_to_parent": False, "argsrepr": "...", "kwargsrepr": "...", "timeout": 1.5,
    "stamped_headers": ["tenant"], "tenant": 5,
}  # fmt: skip


@pytest.mark.parametrize("entry", [JOB, CELERY], ids=["tsumugi", "celery"])
def test_routing_is_passed_on(entry):
    assert read({**entry, "options": GOOD}).options.celery == GOOD


def test_a_kombu_queue():
    queue = Queue("slow", queue_arguments={"x-max-priority": 9})
    definition = read({**JOB, "options": {"queue": queue}})
    assert definition.options.celery["queue"] is queue


@pytest.mark.parametrize("options", [None, 5, "queue", ["queue"]])
def test_options_is_a_dict(options):
    assert only_problem({**JOB, "options": options}).key == "options"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("quue", "did you mean 'queue'?"), ("routingkey", "did you mean 'routing_key'?"), ("zz", "")],
)
def test_an_unknown_option_is_refused_with_a_hint(name, hint):
    problem = only_problem({**JOB, "options": {name: 1}})
    assert (problem.key, problem.hint) == (f"options.{name}", hint)


@pytest.mark.parametrize("name", sorted(OURS))
def test_what_we_have_a_key_for_is_not_given_here(name):
    assert OURS[name] in only_problem({**JOB, "options": {name: 5}}).hint


@pytest.mark.parametrize("name", ["countdown", "eta"])
def test_a_delay_is_the_schedules_matter(name):
    assert "the schedule alone" in only_problem({**JOB, "options": {name: 5}}).hint


@pytest.mark.parametrize("entry", [JOB, CELERY], ids=["tsumugi", "celery"])
@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_would_break_the_ledger_is_refused_in_both_forms(entry, name):
    problem = only_problem({**entry, "options": {name: "x"}})
    assert (problem.key, problem.hint) == (f"options.{name}", REFUSED[name])


@pytest.mark.parametrize("entry", [JOB, CELERY], ids=["tsumugi", "celery"])
@pytest.mark.parametrize("name", [*sorted(HEADERS), "tsumugi_schedule", "tsumugi", 5])
def test_the_messages_own_headers_are_not_replaced(entry, name):
    problem = only_problem({**entry, "options": {"headers": {name: "x"}}})
    assert problem.key == f"options.headers.{name}"


@pytest.mark.parametrize("entry", [JOB, CELERY], ids=["tsumugi", "celery"])
@pytest.mark.parametrize(
    "name", sorted(set(ROUTING) - {"exchange", "link", "link_error", "stamped_headers", "declare"})
)
def test_a_value_of_the_wrong_type_is_refused(entry, name):
    assert only_problem({**entry, "options": {name: object}}).key == f"options.{name}"
    assert read({**entry, "options": {name: None}}) is not None


@pytest.mark.parametrize("name", sorted(CELERY_ONLY))
def test_a_value_of_the_wrong_type_is_refused_in_celerys_form(name):
    assert only_problem({**CELERY, "options": {name: True}}).key == f"options.{name}"
    assert only_problem({**CELERY, "options": {name: [1]}}).key == f"options.{name}"


def test_all_problems_of_the_options_at_once():
    options = {"quue": 1, "task_id": "x", "headers": {"id": 1}, 5: 1, "queue": "fine"}
    keys = [one.key for one in problems({"one": {**JOB, "options": options}})]
    assert keys == ["options.quue", "options.task_id", "options.headers.id", "options.5"]
