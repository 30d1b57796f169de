"""`/metrics`: what Prometheus' own parser reads there is what the ledger holds."""

from prometheus_client.parser import text_string_to_metric_families

from tests.control.stage import MINUTE
from tests.web.site import Site, code
from tsumugi_celery.web import bearer_auth


def scrape(site: Site) -> dict[str, float]:
    """Return every sample by its name and labels."""
    answer = site.get("/metrics")
    assert answer.status_code == 200
    assert answer.mimetype == "text/plain"
    samples = {}
    for family in text_string_to_metric_families(answer.get_data(as_text=True)):
        for sample in family.samples:
            labels = ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()))
            samples[f"{sample.name}{{{labels}}}"] = sample.value
    return samples


def test_numbers_of_a_ledger(site):
    stage = site.stage
    stage.tsumugi.pause("nightly")
    beat = stage.beat()
    stage.clock.time += 2 * MINUTE + 40
    beat.claim_all()
    while len(beat.resolver):
        beat.woken.wait(5)
        beat.collect()
    beat.chores.keep_lateness()
    seen = scrape(site)
    assert seen["tsumugi_schedules{}"] == 2
    assert seen["tsumugi_schedules_paused{}"] == 1
    assert seen["tsumugi_not_executed_total{cause=failure}"] == 1
    assert seen["tsumugi_not_executed_total{cause=delay}"] == 1
    assert seen["tsumugi_occurrences{state=NOT_EXECUTED}"] == 1
    assert seen["tsumugi_lateness_seconds_count{}"] == 0


def test_lateness_is_a_cumulative_histogram(site):
    stage = site.stage
    stage.define({"often": {"binding": "proj.add", "payload": {"x": 1}, "everyMs": MINUTE}})
    site = Site(stage, auth=lambda _request: True)
    beat = stage.beat()
    for late in (3, 70, 700_000 - MINUTE):
        stage.clock.time += MINUTE + late
        beat.claim_all()
        beat.chores.keep_lateness()
        stage.finish()
    seen = scrape(site)
    assert seen["tsumugi_lateness_seconds_bucket{le=0.005}"] == 1
    assert seen["tsumugi_lateness_seconds_bucket{le=0.1}"] == 2
    assert seen["tsumugi_lateness_seconds_bucket{le=+Inf}"] == 3
    assert seen["tsumugi_lateness_seconds_count{}"] == 3


def test_a_schedule_that_no_beat_takes_is_overdue(site):
    site.stage.clock.time += 90_000
    assert scrape(site)["tsumugi_overdue_seconds{}"] == 30


def test_metrics_are_behind_the_auth(stage):
    stage.define({})
    stage.beat()
    closed = Site(stage, auth=bearer_auth("a-token"))
    assert code(closed.get("/metrics"))[0] == 401
    closed.headers["Authorization"] = "Bearer a-token"
    assert scrape(closed)["tsumugi_schedules{}"] == 0
