"""Make the tables of the ledger."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from tsumugi_celery.ledger import types

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "tsumugi_attempt",
        sa.Column("occurrence_id", types.Key(160), nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column(
            "error",
            sa.Text()
            .with_variant(mysql.LONGTEXT(), "mariadb")
            .with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.PrimaryKeyConstraint("occurrence_id", "attempt"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
    )
    op.create_table(
        "tsumugi_binding",
        sa.Column("namespace", types.Key(64), nullable=False),
        sa.Column("name", types.Key(255), nullable=False),
        sa.Column("paused", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("paused_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("namespace", "name"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
    )
    op.create_table(
        "tsumugi_lateness",
        sa.Column("namespace", types.Key(64), nullable=False),
        sa.Column("bound_ms", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("total_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("namespace", "bound_ms"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
    )
    op.create_table(
        "tsumugi_meta",
        sa.Column("key", types.Key(64), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
    )
    op.create_table(
        "tsumugi_node",
        sa.Column("id", types.Key(36), nullable=False),
        sa.Column("namespace", types.Key(64), nullable=False),
        sa.Column("role", sa.String(8), nullable=False),
        sa.Column("hostname", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("beats", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.Column("stopped_at", sa.BigInteger(), nullable=True),
        sa.Column(
            "info",
            sa.Text()
            .with_variant(mysql.LONGTEXT(), "mariadb")
            .with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.PrimaryKeyConstraint("id"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
    )
    op.create_table(
        "tsumugi_occurrence",
        sa.Column("id", types.Key(160), nullable=False),
        sa.Column(
            "schedule_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("namespace", types.Key(64), nullable=False),
        sa.Column("scheduled_at", sa.BigInteger(), nullable=False),
        sa.Column("manual", sa.Integer(), server_default="0", nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("cause", sa.String(12), nullable=True),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("task", sa.Text(), nullable=True),
        sa.Column("binding", types.Key(255), nullable=True),
        sa.Column("concurrency_key", types.Key(255), nullable=True),
        sa.Column("guarantee", sa.String(16), nullable=False),
        sa.Column(
            "options",
            sa.Text()
            .with_variant(mysql.LONGTEXT(), "mariadb")
            .with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.Column(
            "body",
            sa.Text()
            .with_variant(mysql.LONGTEXT(), "mariadb")
            .with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.Column("claimed_by", types.Key(36), nullable=True),
        sa.Column("claimed_at", sa.BigInteger(), nullable=True),
        sa.Column("fired_at", sa.BigInteger(), nullable=True),
        sa.Column("queue", sa.Text(), nullable=True),
        sa.Column("wait", sa.String(12), nullable=True),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("max_attempts", sa.Integer(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("node_id", types.Key(36), nullable=True),
        sa.Column("pid", sa.Integer(), nullable=True),
        sa.Column(
            "error",
            sa.Text()
            .with_variant(mysql.LONGTEXT(), "mariadb")
            .with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.Column("republished", sa.Integer(), server_default="0", nullable=False),
        sa.Column("untracked", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint(
            "schedule_id", "scheduled_at", "manual", name="uq_tsumugi_occurrence_time"
        ),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
    )
    op.create_index(
        "ix_tsumugi_occurrence_ended",
        "tsumugi_occurrence",
        ["namespace", "state", "ended_at"],
        unique=False,
    )
    op.create_index(
        "ix_tsumugi_occurrence_state", "tsumugi_occurrence", ["state", "schedule_id"], unique=False
    )
    op.create_table(
        "tsumugi_run_task",
        sa.Column("task_id", types.Key(255), nullable=False),
        sa.Column("run_id", types.Key(160), nullable=False),
        sa.Column("position", sa.Integer(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("parent_id", types.Key(255), nullable=True),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("internal", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("sent", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("turn", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("redelivers", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=True),
        sa.Column("queued_at", sa.BigInteger(), nullable=True),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("node_id", types.Key(36), nullable=True),
        sa.Column("pid", sa.Integer(), nullable=True),
        sa.Column(
            "error",
            sa.Text()
            .with_variant(mysql.LONGTEXT(), "mariadb")
            .with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.PrimaryKeyConstraint("task_id", "run_id"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
    )
    op.create_index(
        "ix_tsumugi_run_task_node", "tsumugi_run_task", ["state", "node_id"], unique=False
    )
    op.create_index(
        "ix_tsumugi_run_task_run", "tsumugi_run_task", ["run_id", "state"], unique=False
    )
    op.create_table(
        "tsumugi_schedule",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("namespace", types.Key(64), nullable=False),
        sa.Column("collection", types.Key(64), server_default="", nullable=False),
        sa.Column("name", types.Key(1024), nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("form", sa.String(8), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("every_ms", sa.BigInteger(), nullable=True),
        sa.Column("cron", sa.Text(), nullable=True),
        sa.Column("time_zone", sa.String(64), nullable=True),
        sa.Column("schedule_text", sa.Text(), nullable=False),
        sa.Column("search_text", types.ExactText(), nullable=True),
        sa.Column("overlap", sa.String(8), nullable=False),
        sa.Column(
            "options",
            sa.Text()
            .with_variant(mysql.LONGTEXT(), "mariadb")
            .with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.Column(
            "payload",
            sa.Text()
            .with_variant(mysql.LONGTEXT(), "mariadb")
            .with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.Column("fingerprint", sa.String(32), nullable=False),
        sa.Column("timing_fingerprint", sa.String(32), nullable=False),
        sa.Column("registered_at", sa.BigInteger(), nullable=False),
        sa.Column("first_at", sa.BigInteger(), nullable=False),
        sa.Column("active", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("paused", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("paused_at", sa.BigInteger(), nullable=True),
        sa.Column("next_at", sa.BigInteger(), nullable=True),
        sa.Column("accounted_until", sa.BigInteger(), nullable=False),
        sa.Column("last_run_at", sa.BigInteger(), nullable=True),
        sa.Column("last_fired_at", sa.BigInteger(), nullable=True),
        sa.Column("last_job_id", types.Key(160), nullable=True),
        sa.Column("last_run_id", types.Key(160), nullable=True),
        sa.Column("last_skipped_at", sa.BigInteger(), nullable=True),
        sa.Column("n_overlap", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("n_delay", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("n_pause", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("n_failure", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column(
            "last_error",
            sa.Text()
            .with_variant(mysql.LONGTEXT(), "mariadb")
            .with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.Column("last_error_at", sa.BigInteger(), nullable=True),
        sa.Column("stretch_first", sa.BigInteger(), nullable=True),
        sa.Column("stretch_cause", sa.String(12), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("namespace", "collection", "name", name="uq_tsumugi_schedule_name"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
    )
    op.create_index(
        "ix_tsumugi_schedule_due",
        "tsumugi_schedule",
        ["namespace", "collection", "next_at"],
        unique=False,
    )
    op.create_table(
        "tsumugi_stretch",
        sa.Column(
            "schedule_id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("first_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("cause", sa.String(12), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("recorded_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("schedule_id", "first_at", "cause"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
    )
    op.create_index("ix_tsumugi_stretch_recorded", "tsumugi_stretch", ["recorded_at"], unique=False)


def downgrade() -> None:
    """Remove the tables, with all they hold."""
    op.drop_table("tsumugi_stretch")
    op.drop_table("tsumugi_schedule")
    op.drop_table("tsumugi_run_task")
    op.drop_table("tsumugi_occurrence")
    op.drop_table("tsumugi_node")
    op.drop_table("tsumugi_meta")
    op.drop_table("tsumugi_lateness")
    op.drop_table("tsumugi_binding")
    op.drop_table("tsumugi_attempt")
