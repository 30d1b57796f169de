"""The documentation is true: links lead somewhere, references name what there is."""

import ast
import re
from dataclasses import fields
from pathlib import Path

import click
import pytest

from tsumugi_celery.cli import tsumugi
from tsumugi_celery.engine.settings import OTHERS, Settings

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", ROOT / "examples" / "README.md", *DOCS.rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path):
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    broken = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_can_be_read(page: Path):
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        ast.parse(re.sub(r"^   ", "", block, flags=re.MULTILINE) if block[0] == " " else block)


def test_every_page_is_in_the_index():
    index = (DOCS / "README.md").read_text()
    pages = {str(page.relative_to(DOCS)) for page in DOCS.glob("*.md")} - {"README.md"}
    assert {page for page in pages if f"]({page})" not in index} == set()


def test_settings_reference():
    page = (DOCS / "settings.md").read_text()
    rows = re.findall(r"^\| `tsumugi_(\w+)` \| (.*?) \|", page, re.MULTILINE)
    told = dict(rows)
    assert told.keys() == {each.name for each in fields(Settings)} | set(OTHERS)
    for each in fields(Settings):
        if each.name != "retention":
            assert told[each.name] == f"`{each.default}`", each.name


def test_command_line_reference():
    text = (DOCS / "command-line.md").read_text()
    sections = dict(re.findall(r"^## (\w+)(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert sections.keys() == tsumugi.commands.keys()
    for name, command in tsumugi.commands.items():
        options = [each for each in command.params if isinstance(each, click.Option)]
        told = re.findall(r"^\| `(.*?)` \| (.*) \|$", sections[name], re.MULTILINE)
        assert told == [(", ".join(each.opts), each.help) for each in options], name


def test_rest_reference():
    flask = pytest.importorskip("flask")
    from tests.control.stage import Stage
    from tsumugi_celery.web import create_blueprint, unsafe_no_auth

    stage = Stage("sqlite:///unused.sqlite3")
    stage.define({})
    site = flask.Flask("site")
    site.register_blueprint(create_blueprint(stage.tsumugi, auth=unsafe_no_auth()), url_prefix="/x")
    document = site.test_client().get("/x/api/openapi.json").get_json()
    text = (DOCS / "rest.md").read_text()
    told = " ".join(re.findall(r"^\| (?:GET|POST).*$", text, re.MULTILINE))
    for path in document["paths"]:
        last = re.sub(r"\{.*?\}", "<", path).rstrip("/").rpartition("/")[2]
        if "session" not in path:
            assert last in told, path


def test_metrics_reference(tmp_path: Path):
    pytest.importorskip("prometheus_client")
    from tests.control.stage import Stage
    from tsumugi_celery.control.metrics import measure
    from tsumugi_celery.web.metrics import families

    stage = Stage(f"sqlite:///{tmp_path}/ledger.sqlite3")
    tsumugi = stage.define({})
    tsumugi._state.ledger.open()
    text = (DOCS / "metrics.md").read_text()
    told = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", text, re.MULTILINE))
    made = {each.name: each.type for each in families(measure(tsumugi.control.source))}
    assert {name.removesuffix("_total"): kind for name, kind in told.items()} == made
    stage.close()
