"""(g) What lists and histories ask the ledger, with a million occurrences in it."""

import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from celery import Celery

from benchmarks.stage import Stage
from tsumugi_celery import define_tsumugi
from tsumugi_celery.app import state_of
from tsumugi_celery.engine.cycle import Cycle
from tsumugi_celery.ledger.schema import occurrence as o
from tsumugi_celery.ledger.schema import schedule

SCHEDULES = 1000
MINUTE = 60_000


def measure(stage: Stage, kind: str, number: int, rounds: int = 7) -> list[dict[str, Any]]:
    """Milliseconds of each, the median of some rounds and the worst of them."""
    app = Celery("proj", broker="memory://", set_as_current=False)

    @app.task(name="proj.noop", shared=False)
    def noop() -> None:
        """Nothing."""

    schedules = {
        f"s{i:04}": {"binding": "proj.noop", "payload": {}, "everyMs": MINUTE}
        for i in range(SCHEDULES)
    }
    handle = define_tsumugi(app, schedules=schedules, database_url=stage.database(kind))
    state = state_of(app)
    cycle = Cycle(
        app, state.ledger, state.check().schedules, state.namespace, state.settings, state.clock
    )
    state.ledger.open()
    cycle.register()
    begin = state.clock.now() // MINUTE * MINUTE - number // SCHEDULES * MINUTE
    with state.ledger.begin() as connection:
        first = connection.execute(sa.select(sa.func.min(schedule.c.id))).scalar_one()
    engine = state.ledger.engine
    # Each row beside each is what is wanted here.
    warnings.filterwarnings("ignore", "SELECT statement has a cartesian product")
    for part in range(0, number // SCHEDULES, 100):
        with engine.begin() as connection:
            connection.execute(_insert(first, begin, part, min(100, number // SCHEDULES - part)))
    if kind != "sqlite":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            words = "ANALYZE TABLE" if kind == "mariadb" else "ANALYZE"
            connection.exec_driver_sql(f"{words} tsumugi_occurrence")
    control = handle.control
    middle = begin + number // SCHEDULES // 2 * MINUTE
    name, identifier = "s0500", f"proj.s0500-{middle}"
    deep = f"{middle}~1~0"
    asked: dict[str, Callable[[], Any]] = {
        "list, 50 of 1000 with 10 outcomes each": lambda: control.list(limit=50, recent=10),
        "list, searched": lambda: control.list(search="s07", limit=50),
        "one schedule": lambda: control.get(name, recent=10),
        "history, first page": lambda: control.occurrences(name),
        "history, a page in the middle": lambda: control.occurrences(name, cursor=deep),
        "history, a range of time": lambda: control.occurrences(
            name, since=middle - 90 * MINUTE, until=middle
        ),
        "history, failed only": lambda: control.occurrences(name, states=["FAILED"]),
        "one occurrence": lambda: control.occurrence(identifier),
        "why a time": lambda: control.why(name, middle),
        "what is due (each tick of beat)": cycle.next_due,
    }
    rows = []
    for what, ask in asked.items():
        ask()
        taken = []
        for _ in range(rounds):
            at = time.perf_counter()
            ask()
            taken.append(1000 * (time.perf_counter() - at))
        rows.append(
            {
                "what": what,
                "ledger": kind,
                "occurrences": number,
                "median_ms": round(statistics.median(taken), 1),
                "max_ms": round(max(taken), 1),
            }
        )
    state.ledger.close()
    return rows


def _insert(first: int, begin: int, part: int, minutes: int) -> Any:
    """A statement that makes the occurrences of some minutes, in the database itself."""
    digits = [
        sa.union_all(*(sa.select(sa.literal(i).label("d")) for i in range(10))).subquery()
        for _ in range(2)
    ]
    # Numbers in the text: they come from this file, and psycopg cannot guess their types.
    minute = (digits[0].c.d + sa.literal_column("10") * digits[1].c.d).label("m")
    at = sa.literal_column(str(begin)) + (
        sa.literal_column(str(part)) + minute
    ) * sa.literal_column(str(MINUTE))
    number = schedule.c.id - sa.literal_column(str(first))
    failed = (minute + number) % sa.literal_column("33") == 0
    chosen: dict[str, Any] = {
        "id": sa.literal("proj.") + schedule.c.name + sa.literal("-") + sa.cast(at, sa.String(20)),
        "schedule_id": schedule.c.id,
        "namespace": schedule.c.namespace,
        "scheduled_at": at,
        "kind": schedule.c.kind,
        "state": sa.case((failed, sa.literal("FAILED")), else_=sa.literal("COMPLETED")),
        "target": schedule.c.target,
        "task": schedule.c.target,
        "guarantee": sa.literal("at-least-once"),
        "fired_at": at,
        "attempt": sa.literal_column("1"),
        "started_at": at,
        "ended_at": at,
    }
    query = (
        sa.select(*(value.label(key) for key, value in chosen.items()))
        .select_from(schedule.join(digits[0], sa.true()).join(digits[1], sa.true()))
        .where(minute < minutes, schedule.c.every_ms == MINUTE)
    )
    return sa.insert(o).from_select(list(chosen), query)
