"""The tables. All times are epoch milliseconds; absent is NULL."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    true,
)

from tsumugi_celery.ledger.types import ExactText, Key, LongText, Millis, RowId

metadata = MetaData()
_OPTIONS: dict[str, Any] = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4"}

meta = Table(
    "tsumugi_meta",
    metadata,
    Column("key", Key(64), primary_key=True),
    Column("value", Text, nullable=False),
    **_OPTIONS,
)

schedule = Table(
    "tsumugi_schedule",
    metadata,
    Column("id", RowId, primary_key=True, autoincrement=True),
    Column("namespace", Key(64), nullable=False),
    # '' for a schedule that code owns, else the name of the repeats it belongs to.
    Column("collection", Key(64), nullable=False, server_default=""),
    Column("name", Key(1024), nullable=False),
    Column("kind", String(8), nullable=False),
    Column("form", String(8), nullable=False),
    Column("target", Text, nullable=False),
    Column("every_ms", Millis),
    Column("cron", Text),
    Column("time_zone", String(64)),
    Column("schedule_text", Text, nullable=False),
    # Name and target without case, for the search of the list (decision 0110); NULL for repeats.
    Column("search_text", ExactText),
    Column("overlap", String(8), nullable=False),
    Column("options", LongText),
    Column("payload", LongText),
    Column("fingerprint", String(32), nullable=False),
    Column("timing_fingerprint", String(32), nullable=False),
    Column("registered_at", Millis, nullable=False),
    Column("first_at", Millis, nullable=False),
    Column("active", Boolean, nullable=False, server_default=true()),
    Column("paused", Boolean, nullable=False, server_default=false()),
    Column("paused_at", Millis),
    # The next time to decide on; NULL when there is none.
    Column("next_at", Millis),
    # Every scheduled time up to here has its row; none of them is looked at again.
    Column("accounted_until", Millis, nullable=False),
    Column("last_run_at", Millis),
    Column("last_fired_at", Millis),
    Column("last_job_id", Key(160)),
    Column("last_run_id", Key(160)),
    Column("last_skipped_at", Millis),
    Column("n_overlap", Millis, nullable=False, server_default="0"),
    Column("n_delay", Millis, nullable=False, server_default="0"),
    Column("n_pause", Millis, nullable=False, server_default="0"),
    Column("n_failure", Millis, nullable=False, server_default="0"),
    Column("last_error", LongText),
    Column("last_error_at", Millis),
    # The stretch that the next occurrence not executed may lengthen.
    Column("stretch_first", Millis),
    Column("stretch_cause", String(12)),
    UniqueConstraint("namespace", "collection", "name", name="uq_tsumugi_schedule_name"),
    Index("ix_tsumugi_schedule_due", "namespace", "collection", "next_at"),
    **_OPTIONS,
)

occurrence = Table(
    "tsumugi_occurrence",
    metadata,
    Column("id", Key(160), primary_key=True),
    Column("schedule_id", RowId, nullable=False),
    Column("namespace", Key(64), nullable=False),
    Column("scheduled_at", Millis, nullable=False),
    # 0 for a regular one; n for the n-th started by hand in the same millisecond.
    Column("manual", Integer, nullable=False, server_default="0"),
    Column("kind", String(8), nullable=False),
    Column("state", String(12), nullable=False),
    Column("cause", String(12)),
    Column("target", Text, nullable=False),
    Column("task", Text),
    Column("binding", Key(255)),
    Column("concurrency_key", Key(255)),
    Column("guarantee", String(16), nullable=False),
    Column("options", LongText),
    Column("body", LongText),
    Column("claimed_by", Key(36)),
    Column("claimed_at", Millis),
    Column("fired_at", Millis),
    Column("queue", Text),
    # Why a SCHEDULED one waits: 'slot', 'binding', 'retry' (the ledger's), 'broker' (Celery's).
    Column("wait", String(12)),
    Column("due_at", Millis),
    # The number of the attempt that started last; 0 before the first.
    Column("attempt", Integer, nullable=False, server_default="0"),
    Column("max_attempts", Integer),
    Column("started_at", Millis),
    Column("ended_at", Millis),
    Column("expires_at", Millis),
    Column("worker", Text),
    Column("node_id", Key(36)),
    Column("pid", Integer),
    Column("error", LongText),
    Column("republished", Integer, nullable=False, server_default="0"),
    # True once no report can be hoped for: a worker without this package has it.
    Column("untracked", Boolean, nullable=False, server_default=false()),
    UniqueConstraint("schedule_id", "scheduled_at", "manual", name="uq_tsumugi_occurrence_time"),
    Index("ix_tsumugi_occurrence_state", "state", "schedule_id"),
    Index("ix_tsumugi_occurrence_ended", "namespace", "state", "ended_at"),
    **_OPTIONS,
)

attempt = Table(
    "tsumugi_attempt",
    metadata,
    Column("occurrence_id", Key(160), primary_key=True),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("state", String(12), nullable=False),
    Column("started_at", Millis),
    Column("ended_at", Millis),
    Column("worker", Text),
    Column("error", LongText),
    **_OPTIONS,
)

run_task = Table(
    "tsumugi_run_task",
    metadata,
    # The id alone finds a task whose process was lost: Celery then tells no more than that.
    Column("task_id", Key(255), primary_key=True),
    Column("run_id", Key(160), primary_key=True),
    # Order in the canvas; NULL for tasks that only showed up while the Run was under way.
    Column("position", Integer),
    Column("name", Text, nullable=False),
    Column("parent_id", Key(255)),
    # SCHEDULED: waits for the tasks before it; QUEUED: its message is sent.
    Column("state", String(12), nullable=False),
    # Celery's own helpers, such as celery.chord_unlock: waited for, but not shown.
    Column("internal", Boolean, nullable=False, server_default=false()),
    # Which message was sent last and which was started last; see flows/names.py.
    Column("sent", Millis, nullable=False, server_default="0"),
    Column("turn", Millis, nullable=False, server_default="0"),
    # Whether the broker delivers the message again when its worker is gone.
    Column("redelivers", Boolean, nullable=False, server_default=false()),
    Column("queue", Text),
    Column("queued_at", Millis),
    Column("due_at", Millis),
    Column("started_at", Millis),
    Column("ended_at", Millis),
    Column("worker", Text),
    Column("node_id", Key(36)),
    Column("pid", Integer),
    Column("error", LongText),
    Index("ix_tsumugi_run_task_run", "run_id", "state"),
    Index("ix_tsumugi_run_task_node", "state", "node_id"),
    **_OPTIONS,
)

stretch = Table(
    "tsumugi_stretch",
    metadata,
    Column("schedule_id", RowId, primary_key=True, autoincrement=False),
    Column("first_at", Millis, primary_key=True, autoincrement=False),
    Column("cause", String(12), primary_key=True),
    Column("last_at", Millis, nullable=False),
    Column("count", Millis, nullable=False),
    Column("recorded_at", Millis, nullable=False),
    Index("ix_tsumugi_stretch_recorded", "recorded_at"),
    **_OPTIONS,
)

node = Table(
    "tsumugi_node",
    metadata,
    Column("id", Key(36), primary_key=True),
    Column("namespace", Key(64), nullable=False),
    Column("role", String(8), nullable=False),
    Column("hostname", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started_at", Millis, nullable=False),
    # Counts the refreshes. Observers watch it change by a clock of their own.
    Column("beats", Millis, nullable=False, server_default="0"),
    Column("seen_at", Millis, nullable=False),
    Column("stopped_at", Millis),
    Column("info", LongText),
    **_OPTIONS,
)

binding = Table(
    "tsumugi_binding",
    metadata,
    Column("namespace", Key(64), primary_key=True),
    Column("name", Key(255), primary_key=True),
    Column("paused", Boolean, nullable=False, server_default=false()),
    Column("paused_at", Millis),
    **_OPTIONS,
)

lateness = Table(
    "tsumugi_lateness",
    metadata,
    Column("namespace", Key(64), primary_key=True),
    # The upper bound of the bucket, ms; BEYOND for what lies above the last bound.
    Column("bound_ms", Millis, primary_key=True, autoincrement=False),
    Column("count", Millis, nullable=False),
    Column("total_ms", Millis, nullable=False),
    **_OPTIONS,
)
