"""What is in a release, and what it says of itself."""

import email
import re
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.release.conftest import ROOT

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def wheel(built):
    with zipfile.ZipFile(built["wheel"]) as file:
        yield file


@pytest.fixture(scope="module")
def metadata(wheel):
    (name,) = [each for each in wheel.namelist() if each.endswith(".dist-info/METADATA")]
    return email.message_from_bytes(wheel.read(name))


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(wheel, built):
    package = built["source"] / "tsumugi_celery"
    there = {
        str(path.relative_to(built["source"])) for path in package.rglob("*") if path.is_file()
    }
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == there


@pytest.mark.parametrize(
    "pattern",
    [
        r"tsumugi_celery/py\.typed",
        r"tsumugi_celery/ledger/migrations/versions/0001_\w+\.py",
        r"tsumugi_celery/ledger/migrations/env\.py",
        r"tsumugi_celery/web/static/.+\.css",
        r"tsumugi_celery/web/static/.+\.js",
        r"tsumugi_celery/web/templates/.+\.html",
        r"tsumugi_celery-.*\.dist-info/licenses/LICENSE",
    ],
)
def test_files_that_are_no_modules_are_shipped(wheel, pattern):
    assert [name for name in wheel.namelist() if re.fullmatch(pattern, name)]


def test_commands_and_plugins_are_announced(wheel):
    (name,) = [each for each in wheel.namelist() if each.endswith("entry_points.txt")]
    text = wheel.read(name).decode()
    assert "[celery.commands]\ntsumugi = tsumugi_celery.cli:tsumugi" in text
    assert "[pytest11]" in text


def test_metadata_is_complete(metadata):
    assert metadata["Name"] == "tsumugi-celery"
    assert metadata["Version"] == "0.1.0"
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload().startswith("# tsumugi_celery")
    classifiers = metadata.get_all("Classifier")
    assert {"Typing :: Typed", "Programming Language :: Python :: 3.13"} <= {*classifiers}
    # A host that does not exist is worse than none.
    assert metadata.get_all("Project-URL") is None


def test_the_changelog_has_this_version(metadata):
    text = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(rf"^## {re.escape(metadata['Version'])}\b", text, re.MULTILINE)


def test_the_sdist_has_what_is_needed_to_test_it(built):
    with tarfile.open(built["sdist"]) as file:
        names = {str(Path(*Path(name).parts[1:])) for name in file.getnames()}
    wanted = {"README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md", "Makefile"}
    assert wanted <= names
    assert {"tests/conftest.py", "docs/start.md", "examples/demo/run.py"} <= names
    assert {name for name in names if name.startswith((".venv", ".ci", ".git/"))} == set()
