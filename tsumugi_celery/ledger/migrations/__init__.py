"""The migrations of the ledger, applied by Alembic."""
