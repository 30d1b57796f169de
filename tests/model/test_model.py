"""The whole engine against the reference model (design, Tests)."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import Machine
from tests.model.world import make_template

SETTINGS = settings(
    max_examples=100,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=False,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    return make_template(tmp_path_factory.mktemp("model") / "template.sqlite3")


@pytest.mark.timeout(300)
def test_the_engine_does_what_the_model_says(template):
    Machine.template = template
    run_state_machine_as_test(Machine, settings=SETTINGS)
