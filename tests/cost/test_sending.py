"""Many messages leave in parts; a broker that is away costs its wait once."""

import pytest
from celery import Celery

from tsumugi_celery.engine.broker import FLUSH, Sender
from tsumugi_celery.engine.message import Outgoing

NUMBER = 2 * FLUSH + FLUSH // 2


def outgoing(number: int) -> Outgoing:
    return Outgoing(f"proj.s-{number}", 1, number, "job", "proj.work", (), {})


@pytest.fixture
def app():
    return Celery("proj", broker="memory://", set_as_current=False)


def test_a_part_that_breaks_takes_the_rest_along_and_leaves_what_went_before(app):
    tried: list[int] = []

    def send(each: Outgoing, _producer: object) -> None:
        tried.append(each.scheduled_at)
        if each.scheduled_at == FLUSH + 5:
            raise ConnectionError("gone")

    sender = Sender(app, 4.0, send)
    outcomes = sender.send([outgoing(number) for number in range(NUMBER)])
    sender.close()
    assert outcomes[:FLUSH] == [None] * FLUSH
    assert len(outcomes) == NUMBER
    assert all(isinstance(each, ConnectionError) for each in outcomes[FLUSH:])
    # The first part once, the second twice up to where it broke, the third not at all.
    assert tried == [*range(FLUSH), *range(FLUSH, FLUSH + 6), *range(FLUSH, FLUSH + 6)]


def test_a_connection_that_is_replaced_sends_its_part_again(app):
    tried: list[int] = []

    def send(each: Outgoing, _producer: object) -> None:
        tried.append(each.scheduled_at)
        if each.scheduled_at == FLUSH + 5 and tried.count(FLUSH + 5) == 1:
            raise ConnectionError("gone")

    sender = Sender(app, 4.0, send)
    assert sender.send([outgoing(number) for number in range(NUMBER)]) == [None] * NUMBER
    sender.close()
    assert tried.count(0) == 1
    assert tried.count(NUMBER - 1) == 1


def test_a_queue_is_declared_once_a_connection(app):
    declared: list[str] = []
    queue = app.amqp.queues["celery"]

    class Watched(type(queue)):  # type: ignore[misc] # the class is Celery's choice
        def bind(self, channel: object) -> object:
            declared.append(self.name)
            return super().bind(channel)

    watched = Watched(queue.name, queue.exchange, queue.routing_key)

    def send(_each: Outgoing, producer: object) -> None:
        producer.publish({}, routing_key="celery", declare=[watched])  # type: ignore[attr-defined] # kombu's

    sender = Sender(app, 4.0, send)
    assert sender.send([outgoing(number) for number in range(NUMBER)]) == [None] * NUMBER
    sender.close()
    assert declared == ["celery"]
