"""The handle that `define_tsumugi` returns."""

import gc

from celery import Celery

from tsumugi_celery import define_tsumugi


def test_who_holds_the_handle_or_a_collection_holds_the_app():
    tsumugi = define_tsumugi(Celery("kept", set_as_current=False))
    probes = tsumugi.repeats("probes", binding="kept.probe")
    gc.collect()
    assert tsumugi.app.main == "kept"
    del tsumugi
    gc.collect()
    assert probes._state.app.main == "kept"
