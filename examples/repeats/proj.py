"""Repeats beside the user's own table: a site and its probe are committed together.

In this folder:

    celery -A proj tsumugi migrate                # makes the tables of the ledger
    python -c "import proj; proj.add_site('https://example.org')"
    celery -A proj worker --loglevel INFO
    celery -A proj beat -S tsumugi_celery.Scheduler --loglevel INFO
"""

import os

from celery import Celery
from sqlalchemy import Column, Integer, MetaData, Table, Text, create_engine, delete, insert

from tsumugi_celery import define_tsumugi

# The table and the ledger are in one database, so that one transaction holds both.
database_url = os.environ.get("DATABASE_URL", "sqlite:///sites.sqlite3")
app = Celery("sites", broker=os.environ.get("BROKER_URL", "redis://localhost:6379/0"))
tsumugi = define_tsumugi(app, database_url=database_url)

engine = create_engine(database_url)
metadata = MetaData()
sites = Table(
    "site", metadata, Column("id", Integer, primary_key=True), Column("url", Text, nullable=False)
)


@app.task
def probe(url: str) -> str:
    """Look whether a site answers."""
    return f"{url} answers"


probes = tsumugi.repeats("probes", binding=probe, max_attempts=2)


def add_site(url: str) -> int:
    """Add a site and its probe: both, or neither."""
    metadata.create_all(engine)
    with engine.begin() as connection:
        made = connection.execute(insert(sites).values(url=url)).inserted_primary_key
        site_id = int(made[0]) if made else 0
        probes.set(f"site:{site_id}", {"url": url}, every="2s", connection=connection)
    return site_id


def remove_site(site_id: int) -> None:
    """Remove a site; its probe ends with it."""
    with engine.begin() as connection:
        connection.execute(delete(sites).where(sites.c.id == site_id))
        probes.cancel(f"site:{site_id}", connection=connection)
