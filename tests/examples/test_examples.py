"""The examples run as they stand, with real brokers and databases."""

import shutil
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from tests.processes import REPOSITORY, Project

EXAMPLES = REPOSITORY / "examples"


def use(project: Project, name: str, module: str, **env: str) -> None:
    """Put an example into the project's folder."""
    shutil.copytree(EXAMPLES / name, project.folder, dirs_exist_ok=True)
    project.module = module
    project.env |= env


def completed(url: str, schedule: str) -> int:
    """Return how many executions of a schedule the ledger has as COMPLETED."""
    engine = create_engine(url)
    query = text(
        "SELECT count(*) FROM tsumugi_occurrence o JOIN tsumugi_schedule s ON s.id = o.schedule_id "
        "WHERE s.name = :name AND o.state = 'COMPLETED'"
    )
    try:
        with engine.connect() as connection:
            return int(connection.execute(query, {"name": schedule}).scalar_one())
    finally:
        engine.dispose()


@pytest.mark.e2e
def test_minimal(project, redis_broker):
    use(project, "minimal", "proj", BROKER_URL=redis_broker.url)
    beat = project.beat()
    project.worker()
    url = f"sqlite:///{project.folder}/tsumugi.sqlite3"
    project.wait_for(lambda: Path(project.folder, "tsumugi.sqlite3").exists())
    project.wait_for(lambda: completed(url, "poll-inbox") >= 1, 40, what="a completed job")
    assert beat.terminate() == 0


@pytest.mark.e2e
def test_redis_and_postgresql(project, redis_broker, postgres_database):
    use(
        project,
        "redis_postgres",
        "proj",
        BROKER_URL=redis_broker.url,
        RESULT_URL=redis_broker.url,
        LEDGER_URL=postgres_database.url,
    )
    project.worker()
    assert project.beat().running
    project.wait_for(
        lambda: completed(postgres_database.url, "sync-stock") >= 1, 40, what="a completed job"
    )


@pytest.mark.e2e
def test_django_settings(project, redis_broker):
    pytest.importorskip("django", reason="Django is not installed")
    ledger = f"sqlite:///{project.folder}/ledger.sqlite3"
    use(project, "django_settings", "shop", BROKER_URL=redis_broker.url, LEDGER_URL=ledger)
    project.worker()
    assert project.beat().running
    project.wait_for(lambda: completed(ledger, "heartbeat") >= 2, 40, what="completed jobs")


def test_the_compose_file_offers_what_the_example_asks_for():
    compose = (EXAMPLES / "redis_postgres" / "docker-compose.yml").read_text()
    source = (EXAMPLES / "redis_postgres" / "proj.py").read_text()
    for port in ("6379", "5432"):
        assert f"127.0.0.1:{port}:{port}" in compose
        assert f"localhost:{port}" in source
