"""The table, the plot, and what each bar of the design came to."""

import statistics
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

PARTS = {
    "burst": "Entries due at one second: first and last message on the broker",
    "late": "Lateness of schedules of one second, ms",
    "idle": "A beat with nothing to do (SQLite)",
    "worker": "No-op jobs through a worker of two processes",
    "queries": "Lists and histories, ms",
    "times": "One next time, microseconds",
}


def bars(results: dict[str, Any]) -> list[dict[str, Any]]:
    """What was wanted and what was reached; parts that were not measured are left out."""
    found: list[dict[str, Any]] = []

    def bar(what: str, wanted: str, reached: object) -> None:
        if reached is not None:
            found.append({"bar": what, "wanted": wanted, "reached": reached})

    many = max((row["n"] for row in results.get("burst", []) if row["n"] <= 10_000), default=0)
    ours = _median(_of(results, "burst", what="tsumugi", n=many, broker="redis", ledger="sqlite"))
    bare = _median(_of(results, "burst", what="bare", n=many, broker="redis"))
    bar(f"burst of {many}: rate, of the bare loop", ">= 1.4", _ratio(ours, bare))
    rows = _of(results, "burst", what="tsumugi", n=many, broker="redis", ledger="sqlite")
    firsts = [row["first_ms"] for row in rows if row["first_ms"] is not None]
    bar("burst: first message after the second, ms", "<= 100", max(firsts, default=None))
    one = _median(
        _of(results, "burst", what="tsumugi", n=many, broker="redis", ledger="postgresql")
    )
    two = _median(_of(results, "burst", what="tsumugi, 2 processes", n=many))
    bar("two beats, of one (PostgreSQL)", ">= 1.5", _ratio(two, one))
    for row in _of(results, "late", what="tsumugi", schedules=1):
        bar("lateness of one schedule, p99, ms", "<= 10", row["p99_ms"])
    for row in results.get("idle", [])[-1:]:
        bar(f"idle with {row['repeats']} repeats: processor, %", "< 1", row["cpu_percent"])
        bar("the same: memory, MB", "< 150", row["memory_mb"])
        bar("the same: start, s", "< 2", row["start_s"])
    for ledger in ("sqlite", "postgresql"):
        for row, other in pairwise(results.get("worker", [])):
            if row["what"] == "tracked" and row["ledger"] == ledger:
                share = _ratio(row["rate"], other["rate"])
                bar(f"worker: tracked, of untracked ({ledger})", ">= 0.7", share)
    bar("worker: others' tasks, of without (processor)", ">= 0.98", _others(results))
    slowest = max(results.get("queries", []), key=lambda row: row["median_ms"], default=None)
    if slowest is not None:
        bar(
            f"slowest query: {slowest['what']}, {slowest['ledger']}, ms",
            "< 50",
            slowest["median_ms"],
        )
    return found


def table(results: dict[str, Any]) -> str:
    """All results as text."""
    machine = results["machine"]
    where = f"{machine['cores']} cores of {machine['processor']}, Python {machine['python']}"
    lines = [f"{where}, Celery {machine['celery']}, load before {machine['load_before']}"]
    for name, title in PARTS.items():
        if results.get(name):
            lines += ["", title, *_lines(results[name])]
    parts = ", ".join(f"{name} {passed}" for name, passed in results["seconds_of"].items())
    lines += ["", "Bars", *_lines(results["bars"]), "", f"{results['seconds']} s in all ({parts})"]
    return "\n".join(lines) + "\n"


def plot(results: dict[str, Any], path: Path) -> None:
    """Draw the rates of the bursts."""
    rows = [row for row in results.get("burst", []) if row["rate"]]
    if not rows:
        return
    import matplotlib as mpl  # noqa: PLC0415 - slow to import, and for this alone

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    grouped: dict[str, list[float]] = {}
    for row in rows:
        where = "" if row["broker"] == "redis" else f", {row['broker']}"
        ledger = f" ({row['ledger']})" if row["ledger"] else ""
        confirm = ", confirmed" if row.get("confirm") else ""
        name = f"{row['what']}{ledger}{where}{confirm}, {row['n']}"
        grouped.setdefault(name, []).append(row["rate"])
    pairs = sorted((statistics.median(rates), name) for name, rates in grouped.items())
    figure, axes = plt.subplots(figsize=(9, 0.34 * len(pairs) + 1))
    colours = ["#2a7" if name.startswith("tsumugi") else "#999" for _, name in pairs]
    axes.barh([name for _, name in pairs], [rate for rate, _ in pairs], color=colours)
    axes.set_xlabel("messages a second, from the second on which all are due")
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def _of(results: dict[str, Any], part: str, **wanted: object) -> list[dict[str, Any]]:
    return [
        row
        for row in results.get(part, [])
        if not row.get("confirm") and all(row[key] == value for key, value in wanted.items())
    ]


def _others(results: dict[str, Any]) -> float | None:
    """What a worker does of others' tasks with the package, by what it costs them more.

    The rates of two workers differ by more than that from one minute to the next.
    """
    whole = _of(results, "worker", what="without the package")
    alone = [
        _of(results, "worker", what=f"{kind}: the task alone")
        for kind in ("not ours", "without the package")
    ]
    if not whole or not all(alone):
        return None
    more = alone[0][0]["cpu_us_each"] - alone[1][0]["cpu_us_each"]
    each = whole[0]["cpu_us_each"]
    return round(float(each / (each + more)), 3)


def _median(rows: Iterable[dict[str, Any]]) -> float | None:
    rates = [row["rate"] for row in rows if row["rate"]]
    return statistics.median(rates) if rates else None


def _ratio(part: float | None, whole: float | None) -> float | None:
    return round(part / whole, 2) if part and whole else None


def _lines(rows: list[dict[str, Any]]) -> list[str]:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    cells = [keys, *([_cell(row.get(key)) for key in keys] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(keys))]
    return ["  " + "  ".join(map(str.ljust, line, widths)).rstrip() for line in cells]


def _cell(value: object) -> str:
    return "-" if value is None else str(value)
