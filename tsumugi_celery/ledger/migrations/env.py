"""Run the migrations on the connection that the caller gives."""

from __future__ import annotations

from alembic import context

from tsumugi_celery.ledger import schema
from tsumugi_celery.ledger.versions import VERSION_TABLE

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=schema.metadata,
    version_table=VERSION_TABLE,
    # SQLite's driver is told when to begin by the engine; DDL is part of the transaction there too.
    transactional_ddl=connection.dialect.name != "mysql",
)
with context.begin_transaction():
    context.run_migrations()
