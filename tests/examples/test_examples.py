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


@pytest.mark.e2e
def test_flows(project, redis_broker):
    use(project, "flows", "proj", BROKER_URL=redis_broker.url)
    project.worker()
    assert project.beat().running
    url = f"sqlite:///{project.folder}/tsumugi.sqlite3"
    project.wait_for(lambda: Path(project.folder, "tsumugi.sqlite3").exists())
    project.wait_for(lambda: completed(url, "report") >= 1, 60, what="a completed Run")
    identifier = project.celery("tsumugi", "trigger", "report").stdout.split()[-1]
    assert "proj.publish" in project.celery("tsumugi", "run", identifier).stdout


@pytest.mark.e2e
def test_repeats_with_a_table_of_the_users_own(project, redis_broker):
    url = f"sqlite:///{project.folder}/sites.sqlite3"
    use(project, "repeats", "proj", BROKER_URL=redis_broker.url, DATABASE_URL=url)
    assert project.celery("tsumugi", "migrate").returncode == 0
    added = project.python("import proj; print(proj.add_site('https://example.org'))")
    refused = """
        import proj
        from tsumugi_celery import DefinitionError
        try:
            proj.add_site(b"inserted as it is, but no JSON")
        except DefinitionError as refusal:
            print(len(refusal.problems))
        with proj.engine.connect() as connection:
            print(len(connection.execute(proj.sites.select()).all()), proj.probes.count())
    """
    assert project.python(refused).split() == ["1", "1", "1"]
    project.worker()
    assert project.beat().running
    name = f"site:{added.strip()}"
    project.wait_for(lambda: completed(url, name) >= 2, 60, what="completed probes")
    left = f"import proj; proj.remove_site({added}); print(proj.probes.count())"
    assert project.python(left).split() == ["0"]


def test_the_compose_file_offers_what_the_example_asks_for():
    compose = (EXAMPLES / "redis_postgres" / "docker-compose.yml").read_text()
    source = (EXAMPLES / "redis_postgres" / "proj.py").read_text()
    for port in ("6379", "5432"):
        assert f"127.0.0.1:{port}:{port}" in compose
        assert f"localhost:{port}" in source
