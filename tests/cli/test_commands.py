"""Every command: plain text, JSON, wrong names, exit codes."""

import json

import pytest

SCHEDULE_KEYS = {
    "name", "kind", "target", "every_ms", "cron", "time_zone", "overlap", "paused", "paused_at",
    "next_run_at", "last_run_at", "last_fired_at", "last_job_id", "last_run_id",
    "last_skipped_at", "skipped_count", "not_executed", "last_error", "last_error_at",
}  # fmt: skip


def test_list_is_aligned_and_never_coloured(call):
    result = call("list")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0].split() == ["NAME", "WHEN", "NEXT", "LAST", "STATE", "NOT", "EXECUTED", "NOTE"]
    assert len(lines) == 6
    assert "\x1b" not in result.output
    column = lines[0].index("NEXT")
    shown = [line for line in lines[1:] if line.isascii()]
    assert all(line[column - 2] == " " and line[column] != " " for line in shown)


def test_list_as_json_has_every_key_of_the_contract(call):
    listed = json.loads(call("list", "--json").output)["schedules"]
    assert [each["name"] for each in listed] == sorted(each["name"] for each in listed)
    assert all(each.keys() >= SCHEDULE_KEYS for each in listed)


def test_list_pages_and_searches(call):
    assert "2 of 5" in call("list", "--limit", "2").output
    assert "nightly" in call("list", "--search", "night").output
    assert "No schedule matches 'nix'." in call("list", "--search", "nix").output


def test_show(call):
    result = call("show", "nightly")
    assert "30 2 * * *" in result.output
    assert "Europe/Berlin" in result.output
    assert json.loads(call("show", "nightly", "--json").output)["cron"] == "30 2 * * *"


@pytest.mark.parametrize(
    "words",
    [
        ("show", "nigthly"),
        ("next", "nigthly"),
        ("history", "nigthly"),
        ("why", "nigthly", "2026-01-01"),
        ("pause", "nigthly"),
        ("resume", "nigthly"),
        ("trigger", "nigthly"),
    ],
)
def test_a_wrong_name_suggests_the_nearest(call, words):
    result = call(*words)
    assert result.exit_code == 3
    assert "'nightly'" in result.output
    assert "Traceback" not in result.output


def test_next_marks_the_times_that_daylight_saving_skips_and_repeats(call):
    spring = call("next", "nightly", "-n", "3", "--after", "2026-03-28 12:00").output
    assert "2026-03-29 02:30:00" in spring
    assert "does not exist: skipped" in spring
    autumn = call("next", "nightly", "-n", "3", "--after", "2026-10-24 12:00").output
    assert autumn.count("2026-10-25 02:30:00") == 2
    assert "second pass: silent" in autumn
    times = json.loads(call("next", "nightly", "--json", "--after", "2026-03-28 12:00").output)
    assert len(times) == 10
    assert {each["status"] for each in times} == {"runs", "skipped"}


def test_history_of_a_schedule_that_never_ran(call):
    assert call("history", "often").output == "No occurrences.\n"
    assert json.loads(call("history", "often", "--json").output)["occurrences"] == []


def test_why(call):
    answer = call("why", "nightly", "2020-01-01 02:30")
    assert answer.exit_code == 0
    assert len(answer.output.splitlines()) == 1
    assert "regist" in answer.output
    missing = call("why", "nightly", "2026-03-29 02:30")
    assert missing.exit_code == 1
    assert "does not exist in Europe/Berlin" in missing.output
    assert "accepted: epoch milliseconds" in call("why", "nightly", "soon").output


def test_pause_and_resume_twice_change_nothing(call):
    """C175."""
    first = json.loads(call("pause", "often", "nightly", "--json").output)
    again = json.loads(call("pause", "often", "nightly", "--json").output)
    assert [each["paused_at"] for each in first] == [each["paused_at"] for each in again]
    assert "paused" in call("list").output
    assert call("resume", "often").output.startswith("often goes on; next at ")
    assert call("resume", "often").exit_code == 0
    assert not json.loads(call("show", "often", "--json").output)["paused"]


def test_trigger_prints_the_id_and_history_shows_it(call):
    identifier = call("trigger", "often").output.strip()
    assert identifier.startswith("shop.often-")
    assert identifier.endswith("-manual")
    assert identifier in call("history", "often").output
    assert call("cancel", identifier).output == f"{identifier} is CANCELLED.\n"
    assert call("cancel", "shop.nothing-1").exit_code == 3


def test_bindings(call):
    assert "Sum" in call("bindings").output
    assert "paused" in call("bindings", "--pause", "Sum").output
    assert "paused" not in call("bindings", "--resume", "Sum").output.splitlines()[1]
    assert call("bindings", "--pause", "Summ").exit_code == 3


def test_check_and_migrate(call):
    assert call("check").output == "No problems: 5 schedules, 1 binding, 0 flows.\n"
    assert json.loads(call("check", "--json").output) == {"problems": []}
    assert "has version" in call("migrate").output
    told = json.loads(call("migrate", "--json").output)
    assert told["before"] == told["now"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--host", "0.0.0.0"), "Set the environment variable TSUMUGI_TOKEN"),
        (("--host", "0.0.0.0", "--unsafe-no-auth"), "everyone who reaches this machine"),
        (("--host", "example.org"), "TSUMUGI_TOKEN"),
        (("--port", "99999"), "99999"),
    ],
)
def test_web_refuses_to_be_open_to_others(call, monkeypatch, words, text):
    monkeypatch.delenv("TSUMUGI_TOKEN", raising=False)
    result = call("web", *words)
    assert result.exit_code in {1, 2}
    assert text in result.output
