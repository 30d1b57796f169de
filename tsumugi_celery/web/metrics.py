"""`/metrics` in Prometheus' text format, behind the blueprint's auth (extra `prometheus`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Response

from tsumugi_celery.control.metrics import measure
from tsumugi_celery.ledger.lateness import BEYOND, BOUNDS
from tsumugi_celery.web.errors import NotInstalled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from flask import Blueprint
    from prometheus_client import Metric

    from tsumugi_celery.control.metrics import Metrics
    from tsumugi_celery.web.options import Options


def add_metrics(blueprint: Blueprint, options: Options) -> None:
    """Add the route."""

    def metrics() -> Response:
        """Return the numbers of the ledger."""
        try:
            from prometheus_client import (  # noqa: PLC0415 - an extra, needed here alone
                CONTENT_TYPE_LATEST,
                CollectorRegistry,
                generate_latest,
            )
        except ModuleNotFoundError as exc:
            what = "metrics need prometheus-client: pip install 'tsumugi-celery[prometheus]'"
            raise NotInstalled(what) from exc
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collected(measure(options.control.source)))
        return Response(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)

    blueprint.add_url_rule("/metrics", "metrics", metrics, methods=["GET"])


class _Collected:
    """A collector of numbers that were read already."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return families(self._metrics)


def families(metrics: Metrics) -> Iterator[Metric]:
    """Yield the metrics, each with its samples."""
    from prometheus_client.core import (  # noqa: PLC0415 - an extra, needed here alone
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
    )

    yield GaugeMetricFamily("tsumugi_schedules", "Schedules defined.", metrics.schedules)
    yield GaugeMetricFamily("tsumugi_schedules_paused", "Schedules paused.", metrics.paused)
    kept = GaugeMetricFamily(
        "tsumugi_occurrences", "Occurrences in the ledger, by state.", labels=["state"]
    )
    for state, count in metrics.occurrences.items():
        kept.add_metric([state], count)
    yield kept
    missed = CounterMetricFamily(
        "tsumugi_not_executed", "Scheduled times not executed, by cause.", labels=["cause"]
    )
    for cause, count in metrics.not_executed.items():
        missed.add_metric([cause], count)
    yield missed
    yield HistogramMetricFamily(
        "tsumugi_lateness_seconds",
        "How long after its scheduled time an occurrence was sent.",
        buckets=_cumulative(metrics),
        sum_value=metrics.lateness_ms / 1000,
    )
    yield GaugeMetricFamily(
        "tsumugi_overdue_seconds",
        "For how long the longest waiting schedule has been due; grows when no beat runs.",
        metrics.overdue_ms / 1000,
    )
    ages = GaugeMetricFamily(
        "tsumugi_heartbeat_age_seconds",
        "How old the last heartbeat of a beat or worker is.",
        labels=["role", "hostname"],
    )
    youngest: dict[tuple[str, str], float] = {}
    for node in metrics.nodes:
        key = (node.role, node.hostname)
        youngest[key] = min(node.seconds, youngest.get(key, node.seconds))
    for key, seconds in sorted(youngest.items()):
        ages.add_metric(list(key), seconds)
    yield ages


def _cumulative(metrics: Metrics) -> list[tuple[str, float]]:
    total = 0
    buckets = []
    for bound in BOUNDS:
        total += metrics.lateness.get(bound, 0)
        buckets.append((str(bound / 1000), float(total)))
    return [*buckets, ("+Inf", float(total + metrics.lateness.get(BEYOND, 0)))]
