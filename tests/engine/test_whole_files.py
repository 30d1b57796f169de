"""A reader of a folder never finds a message that is not written yet (decision 0024)."""

import threading
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from celery import Celery
from kombu.transport.filesystem import Channel

from tsumugi_celery.engine.whole_files import write_whole_files


@pytest.fixture
def app(tmp_path: Path) -> Celery:
    made = Celery("proj", broker="filesystem://", set_as_current=False)
    for name in ("messages", "control"):
        (tmp_path / name).mkdir()
    made.conf.broker_transport_options = {
        "data_folder_in": str(tmp_path / "messages"),
        "data_folder_out": str(tmp_path / "messages"),
        "control_folder": str(tmp_path / "control"),
    }
    return made


def test_a_busy_reader_gets_every_message_once(app: Celery):
    write_whole_files(app)
    write_whole_files(app)
    sent = 400
    got: list[Any] = []
    failures: list[Exception] = []
    done = threading.Event()

    def read() -> None:
        with app.connection() as connection:
            channel = connection.default_channel
            while not (done.is_set() and len(got) >= sent):
                try:
                    got.append(channel._get("q")["n"])
                except Empty:
                    if done.is_set():
                        return
                except Exception as exc:  # noqa: BLE001 - whatever it is, the reader has failed
                    failures.append(exc)
                    return

    reader = threading.Thread(target=read)
    reader.start()
    with app.connection() as connection:
        for n in range(sent):
            connection.default_channel._put("q", {"n": n})
    done.set()
    reader.join(60)
    assert failures == []
    assert sorted(got) == list(range(sent))


def test_other_brokers_are_left_alone(monkeypatch: pytest.MonkeyPatch):
    original = object()
    monkeypatch.setattr(Channel, "_put", original)
    write_whole_files(Celery("proj", broker="redis://", set_as_current=False))
    assert Channel._put is original


def test_a_folder_that_is_gone_is_a_channel_error(app: Celery, tmp_path: Path):
    write_whole_files(app)
    with app.connection() as connection:
        channel = connection.default_channel
        channel.data_folder_out = str(tmp_path / "gone")
        with pytest.raises(connection.channel_errors, match="gone"):
            channel._put("q", {})
