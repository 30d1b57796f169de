"""What a builder may return, and what is said of the rest; ids are the same for the same Run."""

from __future__ import annotations

import datetime as dt

import pytest
from celery import Celery, chain, chord, group

from tests.flows.running import small_app
from tsumugi_celery.core.errors import DefinitionError, DispatchError
from tsumugi_celery.definitions.read import read_definitions
from tsumugi_celery.flows.canvas import prepare, restore
from tsumugi_celery.flows.names import may_be_run, turn_of

RUN = "proj.nightly-1796072853318"


@pytest.fixture
def app() -> Celery:
    return small_app()


def s(app, *args, **options):
    return app.tasks["proj.add"].s(*args).set(**options)


def test_ids_are_derived_from_the_run_and_the_place(app):
    def build():
        return group(s(app, 1), chain(s(app, 2), s(app, 3))) | s(app)

    first, again = (prepare(app, "R", RUN, build()) for _ in range(2))
    assert first == again
    assert restore(first.text) == first
    ids = [each.task_id for each in first.planned]
    assert len(ids) == len(set(ids)) == 4
    other = prepare(app, "R", "proj.nightly-1796072853319", build())
    assert not {each.task_id for each in other.planned} & set(ids)


def test_ids_that_the_builder_chose_stay_unless_they_come_twice(app):
    chosen = s(app, 1, task_id="mine")
    canvas = prepare(app, "R", RUN, group([chosen, chosen]))
    first, second = (each.task_id for each in canvas.planned)
    assert first == "mine"
    assert second != "mine"


def test_the_builders_own_objects_are_not_changed(app):
    made = chord([s(app, 1), s(app, 2)], s(app))
    before = repr(dict(made))
    prepare(app, "R", RUN, made)
    assert repr(dict(made)) == before


def test_generators_are_run_and_values_survive(app):
    moment = dt.datetime(2026, 11, 30, tzinfo=dt.timezone.utc)
    canvas = prepare(app, "R", RUN, group(s(app, moment, n) for n in range(3)))
    assert [each.position for each in canvas.planned] == [0, 1, 2]
    tasks = canvas.signature(app).tasks
    assert [list(one.args) for one in tasks] == [[moment, n] for n in range(3)]


def test_arguments_that_only_pickle_can_write(app):
    app.conf.update(accept_content=["json", "pickle"])
    canvas = prepare(app, "R", RUN, s(app, {1, 2}, (3,), serializer="pickle"))
    assert tuple(canvas.signature(app).args) == ({1, 2}, (3,))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda _app: None, ["returned None", "without return"]),
        (lambda _app: 7, ["returned 7", "accepted: a Celery signature"]),
        (lambda _app: "proj.add", ["returned 'proj.add'"]),
        (lambda app: app.tasks["proj.add"], ["the task 'proj.add' itself", ".s("]),
        (lambda app: app.AsyncResult("x"), ["started itself", ".delay()"]),
        (lambda app: [s(app)], ["returned [", "accepted: a Celery signature"]),
        (lambda _app: object(), ["returned <object"]),
        (lambda app: app.signature("proj.ad"), ["'proj.ad'", "did you mean 'proj.add'"]),
        (lambda app: s(app) | app.signature("far.away"), ["'far.away'", "binding"]),
        (lambda app: s(app, link_error=app.signature("far.err")), ["'far.err'"]),
        (lambda app: s(app, object()), ["cannot be written by the serializer 'json'"]),
        (lambda app: chord([s(app)]), ["chord without a body"]),
    ],
)
def test_what_cannot_be_started_is_refused_with_a_remedy(app, make, told):
    with pytest.raises(DispatchError) as caught:
        prepare(app, "R", RUN, make(app))
    for words in ["'R'", *told]:
        assert words in str(caught.value)


def test_a_task_that_a_binding_declares_need_not_be_registered(app):
    canvas = prepare(app, "R", RUN, app.signature("far.away"), {"far.away"})
    assert [each.name for each in canvas.planned] == ["far.away"]


@pytest.mark.parametrize("backend", ["disabled://", "rpc://"])
def test_chords_need_a_result_backend_that_can_do_them(backend):
    app = small_app(backend=backend)
    for canvas in (
        chord([s(app)], s(app)),
        chain(s(app), group(s(app), s(app)), s(app)),
        group(chain(s(app), chord([s(app), s(app)], s(app)))),
    ):
        with pytest.raises(DispatchError, match=r"result_backend = 'redis://"):
            prepare(app, "R", RUN, canvas)
    for canvas in (s(app), chain(s(app), s(app)), group(s(app), s(app))):
        assert prepare(app, "R", RUN, canvas).planned


def test_messages_without_a_root_id_are_refused(app):
    app.conf.task_protocol = 1
    with pytest.raises(DispatchError, match="task_protocol = 2"):
        prepare(app, "R", RUN, s(app))


def test_tasks_that_run_here_and_now_cannot_be_followed(app):
    app.conf.task_always_eager = True
    with pytest.raises(DispatchError, match="start_worker"):
        prepare(app, "R", RUN, s(app))


@pytest.mark.parametrize(
    ("make", "repeatable"),
    [
        (lambda one: one(), True),
        (lambda one: chain(one(), group(one(), one()), one()), True),
        (lambda one: group(one(), chain(one(), one()), group(one(), one())), True),
        (lambda one: chord([one(), chain(one(), one())], one()), True),
        (lambda one: group(one(), chord([one(), one()], one())), False),
        (lambda one: chord([one(), chord([one(), one()], one())], one()), False),
    ],
)
def test_which_canvases_can_be_sent_twice(app, make, repeatable):
    canvas = make(app.tasks["proj.add"].si)
    assert prepare(app, "R", RUN, canvas).repeatable is repeatable


def read(app, **schedule):
    usual = {"flow": "R", "input": {}, "everyMs": 1000}
    schedules = {"nightly": {**usual, **schedule}}
    return read_definitions(app, schedules, flows={"R": lambda given: given})


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "1000", None, float("inf")])
def test_a_deadline_is_a_whole_number_of_milliseconds(app, value):
    with pytest.raises(DefinitionError, match="deadlineMs"):
        read(app, deadlineMs=value)


@pytest.mark.parametrize("build", [None, 7, "R", lambda: None, lambda _a, _b: None, dict])
def test_a_builder_is_a_function_of_one_argument(app, build):
    with pytest.raises(DefinitionError, match="flow 'R'"):
        read_definitions(app, {}, flows={"R": build})


def test_a_flow_is_no_binding_and_a_deadline_belongs_to_a_flow(app):
    flows, bindings = {"R": lambda given: given}, {"R": {"task": "proj.add"}}
    with pytest.raises(DefinitionError, match="also a binding"):
        read_definitions(app, {}, flows=flows, bindings=bindings)
    job = {"binding": "proj.add", "payload": {}, "everyMs": 1000, "deadlineMs": 5}
    with pytest.raises(DefinitionError, match="deadlineMs"):
        read_definitions(app, {"j": job})


def test_tasks_that_declared_bindings_name_are_known(app):
    definitions = read_definitions(
        app,
        {"nightly": {"flow": "R", "input": 1, "everyMs": 1000}},
        flows={"R": lambda given: given},
        bindings={"far": {"task": "far.away"}},
    )
    assert definitions.schedules["nightly"].remote_tasks == {"far.away"}


@pytest.mark.parametrize(
    ("root", "task", "expected"),
    [
        (None, "a", False),
        ("a", "a", False),
        (RUN, RUN, False),
        (RUN, "a", True),
        (f"{RUN}-1-manual", "a", True),
        ("proj.old-m5", "a", True),
        ("6f0cf3f0-6f2b-4c55-9d0a-7a1a5d3a0b52", "a", False),
        ("proj.task", "a", False),
    ],
)
def test_what_may_be_a_task_of_a_run(root, task, expected):
    assert may_be_run(root, task) is expected


def test_later_messages_of_one_id_outrank_earlier_ones():
    ranks = [turn_of(0, 0), turn_of(1, None), turn_of(50, 0), turn_of(0, 1), turn_of(3, 1)]
    assert ranks == sorted(set(ranks))
    assert turn_of(None, None) == 1
