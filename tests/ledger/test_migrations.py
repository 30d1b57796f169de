"""What the migrations make is what the schema says, on every database."""

import subprocess
import sys
import textwrap
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from tsumugi_celery.ledger import schema, versions
from tsumugi_celery.ledger.ledger import Ledger


def differences(connection: Connection) -> list[Any]:
    """What Alembic would write into a new migration."""
    options = {"compare_type": True, "version_table": versions.VERSION_TABLE}
    context = MigrationContext.configure(connection, opts=options)
    return list(compare_metadata(context, schema.metadata))


def reflected(connection: Connection) -> dict[str, Any]:
    """All that the database says of our tables."""
    found = inspect(connection)
    return {
        name: (
            {
                column["name"]: (str(column["type"]), column["nullable"], column["default"])
                for column in found.get_columns(name)
            },
            found.get_pk_constraint(name)["constrained_columns"],
            sorted((one["name"], one["column_names"]) for one in found.get_indexes(name)),
            sorted(
                (one["name"], one["column_names"]) for one in found.get_unique_constraints(name)
            ),
        )
        for name in schema.metadata.tables
    }


def test_the_migrations_make_the_schema(fresh_ledger: Ledger):
    with fresh_ledger.engine.connect() as connection:
        assert differences(connection) == []
        migrated = reflected(connection)
        connection.rollback()
        schema.metadata.drop_all(connection)
        schema.metadata.create_all(connection)
        connection.commit()
        assert migrated == reflected(connection)


def test_the_tables_are_there_and_the_version_is_written(fresh_ledger: Ledger):
    with fresh_ledger.read() as connection:
        assert set(inspect(connection).get_table_names()) == {
            *schema.metadata.tables,
            versions.VERSION_TABLE,
        }
        assert versions.current(connection) == versions.HEAD


def test_head_is_the_newest_migration():
    assert ScriptDirectory(str(versions._MIGRATIONS)).get_current_head() == versions.HEAD


def test_opening_again_changes_nothing(fresh_ledger: Ledger):
    made = fresh_ledger.id
    other = Ledger(fresh_ledger.url)
    other.open()
    assert other.id == made
    other.close()


def test_upgrading_what_is_up_to_date_changes_nothing(fresh_ledger: Ledger):
    assert versions.upgrade(fresh_ledger) == (versions.HEAD, versions.HEAD)


def test_processes_that_open_an_empty_database_at_once(database_url: str):
    source = textwrap.dedent("""
        import sys
        from tsumugi_celery.ledger.ledger import Ledger
        ledger = Ledger(sys.argv[1])
        sys.stdin.readline()
        ledger.open()
        print(ledger.id)
    """)
    command = [sys.executable, "-c", source, database_url]
    started = [
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for one in started:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    answers = [one.communicate(timeout=90) for one in started]
    assert [one.returncode for one in started] == [0, 0, 0], answers
    assert len({output for output, _ in answers}) == 1


def test_the_comparison_can_fail(fresh_ledger: Ledger):
    with fresh_ledger.engine.connect() as connection:
        connection.execute(text("ALTER TABLE tsumugi_node ADD COLUMN extra INTEGER"))
        connection.commit()
        assert [one[0] for one in differences(connection)] == ["remove_column"]
