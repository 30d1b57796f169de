"""The index of decisions is complete, and code cites only decisions that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DECISIONS = ROOT / "docs" / "decisions"


def test_the_index_lists_every_decision():
    listed = re.findall(
        r"^\| \[\d{4}\]\((.*?)\)", (DECISIONS / "README.md").read_text(), re.MULTILINE
    )
    assert listed == sorted(path.name for path in DECISIONS.glob("[0-9]*.md"))


def test_every_cited_decision_exists():
    known = {path.name[:4] for path in DECISIONS.glob("[0-9]*.md")}
    cited = {
        (str(path.relative_to(ROOT)), number)
        for path in (ROOT / "tsumugi_celery").rglob("*.py")
        for number in re.findall(r"decision (\d{4})", path.read_text())
    }
    assert {one for one in cited if one[1] not in known} == set()
