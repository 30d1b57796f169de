"""What the README shows works."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """Return the code blocks of a language, without their indentation."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", README, re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, text in found]


def test_the_example_runs(project):
    (source,) = blocks("python")
    tasks = """
        from proj import app
        @app.task(name="proj.tasks.clean_up")
        def clean_up(): ...
        @app.task(name="proj.tasks.poll_inbox")
        def poll_inbox(): ...
        @app.task(name="proj.tasks.open_shop")
        def open_shop(day): ...
    """
    project.write(tasks, "tasks")
    project.write(source + '\napp.conf.imports = ["tasks"]\n')
    checked = project.celery("tsumugi", "check")
    assert checked.stdout.startswith("No problems: 3 schedules"), checked.stdout


def test_every_command_it_names_exists(project):
    project.write(blocks("python")[0])
    told = project.celery("tsumugi", "--help").stdout
    named = set(re.findall(r"celery -A proj tsumugi (\w+)", README))
    assert named
    for command in named:
        assert re.search(rf"^  {command} ", told, re.MULTILINE), command


def test_every_link_leads_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []


def test_the_two_commands_come_first():
    first = blocks("sh")[0]
    assert re.findall(r"^make (\w+)", first, re.MULTILINE) == ["demo", "test"]
