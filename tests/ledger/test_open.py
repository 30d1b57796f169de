"""Databases that cannot be the ledger are refused, with what to do."""

import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from tests.servers import Database
from tests.waiting import wait_for
from tsumugi_celery import LedgerError
from tsumugi_celery.ledger import versions
from tsumugi_celery.ledger.ledger import Ledger


def refusal(url: object) -> str:
    with pytest.raises(LedgerError) as caught:
        Ledger(url).open()
    assert "\n" not in str(caught.value).strip()
    return str(caught.value)


def set_version(ledger: Ledger, version: str) -> None:
    with ledger.begin() as connection:
        connection.execute(text(f"UPDATE {versions.VERSION_TABLE} SET version_num = '{version}'"))


def test_an_older_version_names_the_command_that_upgrades_it(fresh_ledger: Ledger):
    set_version(fresh_ledger, "0000")
    message = refusal(fresh_ledger.url)
    assert "0000" in message
    assert versions.HEAD in message
    assert "tsumugi migrate" in message
    assert "Back up" in message


def test_a_newer_version_names_the_version_needed(fresh_ledger: Ledger):
    set_version(fresh_ledger, "9999")
    message = refusal(fresh_ledger.url)
    assert "9999" in message
    assert "newer" in message
    with pytest.raises(LedgerError, match="9999"):
        versions.upgrade(fresh_ledger)


def test_tables_of_a_stranger_with_our_names(database: Database):
    engine = create_engine(database.url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE tsumugi_schedule (id INTEGER)"))
    engine.dispose()
    message = refusal(database.url)
    assert "tsumugi_schedule" in message
    assert "another database" in message


def test_tables_of_another_program_are_left_alone(database: Database):
    engine = create_engine(database.url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE orders (id INTEGER)"))
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
        connection.execute(text("INSERT INTO alembic_version VALUES ('theirs')"))
    ledger = Ledger(database.url)
    ledger.open()
    ledger.close()
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT version_num FROM alembic_version")) == "theirs"
        assert connection.scalar(text("SELECT count(*) FROM orders")) == 0
    engine.dispose()


def test_an_empty_version_table_is_an_empty_database(fresh_ledger: Ledger):
    """A first start that was killed between the table and its row must not lock users out."""
    with fresh_ledger.begin() as connection:
        connection.execute(text(f"DELETE FROM {versions.VERSION_TABLE}"))
    message = refusal(fresh_ledger.url)
    assert "another database" in message or "tsumugi migrate" in message


def test_a_file_that_is_no_database(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("buy milk\n" * 1000)
    message = refusal(f"sqlite:///{path}")
    assert str(path) in message
    assert "not a database" in message
    assert path.read_text().startswith("buy milk")


def test_a_folder_in_place_of_a_file(tmp_path):
    message = refusal(f"sqlite:///{tmp_path}")
    assert "it is a folder" in message
    assert "tsumugi_database_url" in message


def test_a_missing_folder(tmp_path):
    message = refusal(f"sqlite:///{tmp_path / 'missing' / 'ledger.sqlite3'}")
    assert "does not exist" in message
    assert str(tmp_path / "missing") in message
    assert not (tmp_path / "missing").exists()


def test_a_folder_that_cannot_be_written_to():
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "theirs"
        folder.mkdir()
        Path(made).chmod(0o755)
        folder.chmod(0o555)
        source = f"""
            import os
            from tsumugi_celery.core.errors import LedgerError
            from tsumugi_celery.ledger.ledger import Ledger
            if os.geteuid() == 0:
                os.setuid(65534)  # root may write everywhere
            try:
                Ledger("sqlite:///{folder}/ledger.sqlite3").open()
            except LedgerError as exc:
                print(exc)
        """
        command = [sys.executable, "-c", textwrap.dedent(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "cannot be written to by this user" in done.stdout
    assert "tsumugi_database_url" in done.stdout


def test_a_database_in_memory():
    for url in ("sqlite://", "sqlite:///:memory:"):
        assert "memory" in refusal(url)


def test_a_locked_file(tmp_path):
    path = tmp_path / "ledger.sqlite3"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (id INTEGER)")
    other.execute("BEGIN EXCLUSIVE")
    try:
        message = refusal(f"sqlite:///{path}")
    finally:
        other.close()
    assert "locked" in message


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("nonsense", "cannot be read"),
        ("", "cannot be read"),
        (None, "None"),
        (42, "42"),
        ("postgresql://u:secret@host:notaport/x", "cannot be read"),
        ("oracle://scott:tiger@host/x", "'oracle'"),
        ("mongodb://host/x", "'mongodb'"),
        ("Sqlite:///x", "'Sqlite'"),
    ],
)
def test_a_wrong_url(url, named):
    message = refusal(url)
    assert named in message
    assert "tsumugi_database_url" in message
    assert "secret" not in message
    assert "tiger" not in message


@pytest.mark.parametrize(
    ("url", "extra"),
    [
        ("postgresql+pg8000://host/x", "postgres"),
        ("mysql+mysqldb://host/x", "mysql"),
        ("postgresql+nonsense://host/x", "postgres"),
    ],
)
def test_a_driver_that_is_not_installed(url, extra):
    message = refusal(url)
    assert f"pip install 'tsumugi-celery[{extra}]'" in message


@pytest.mark.parametrize(
    "url", ["postgresql://u:secret@127.0.0.1:1/x", "mysql://u:secret@127.0.0.1:1/x"]
)
def test_a_server_that_is_not_there(url):
    message = refusal(url)
    assert "Check that the database runs" in message
    assert "secret" not in message


def test_a_database_that_does_not_exist_on_the_server(postgres_database, mariadb_database):
    for one in (postgres_database, mariadb_database):
        missing = one.url.replace("/test_", "/missing_")
        assert "missing_" in refusal(missing)


def test_tables_that_another_process_is_making_are_waited_for(mariadb_database: Database):
    """MariaDB commits each table by itself: one that looks in between sees some of them."""
    ledger = Ledger(mariadb_database.url)
    maker = create_engine(ledger.url)
    opened = threading.Event()

    def open_it() -> None:
        ledger.open()
        opened.set()

    with maker.connect() as connection:
        connection.execute(text(f"SELECT GET_LOCK('{versions.VERSION_TABLE}', 10)"))
        connection.execute(text("CREATE TABLE tsumugi_meta (half INTEGER)"))
        connection.commit()
        opener = threading.Thread(target=open_it)
        opener.start()
        waits = text(
            "SELECT count(*) FROM information_schema.processlist WHERE state = 'User lock'"
        )
        wait_for(lambda: connection.execute(waits).scalar_one(), 20, what="a wait for the lock")
        connection.execute(text("DROP TABLE tsumugi_meta"))
        connection.execute(text(f"SELECT RELEASE_LOCK('{versions.VERSION_TABLE}')"))
        connection.commit()
        opener.join(60)
    maker.dispose()
    assert opened.is_set()
    ledger.close()
