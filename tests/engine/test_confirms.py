"""RabbitMQ confirms many messages together; what it refuses, it refuses alone."""

from collections.abc import Iterator
from typing import Any

import pytest
from amqp.exceptions import MessageNacked, NotFound
from celery import Celery
from kombu import Exchange, Queue

from tests.servers import Broker
from tsumugi_celery.engine.broker import FLUSH, Sender
from tsumugi_celery.engine.message import Outgoing

NUMBER = 2 * FLUSH + FLUSH // 2


@pytest.fixture(params=[{}, {"confirm_publish": True}, {"confirm_publish": False}], ids=str)
def app(request: pytest.FixtureRequest, rabbitmq_broker: Broker):
    made = Celery("proj", broker=rabbitmq_broker.url, set_as_current=False)
    made.conf.broker_transport_options = request.param

    @made.task(name="proj.work", shared=False)
    def work(number: int) -> None:
        """Never run here."""

    yield made
    made.close()


@pytest.fixture
def sender(app) -> Iterator[Sender]:
    def send(each: Outgoing, producer: Any) -> None:
        app.tasks["proj.work"].apply_async(
            args=list(each.args), producer=producer, retry=False, **each.options
        )

    made = Sender(app, 4.0, send)
    yield made
    made.close()


def outgoing(number: int, **options: object) -> Outgoing:
    return Outgoing(
        f"proj.s-{number}", 1, number, "job", "proj.work", (number,), {}, options=options
    )


def found(app: Celery, queue: str = "celery") -> list[int]:
    numbers = []
    with app.connection_for_read() as connection:
        bound = Queue(queue)(connection.default_channel)
        while (message := bound.get(no_ack=True)) is not None:
            numbers.append(message.payload[0][0])
    return numbers


def test_all_arrive_in_their_order(app, sender):
    assert sender.send([outgoing(number) for number in range(NUMBER)]) == [None] * NUMBER
    # Without a wait: what is confirmed is in the queue.
    assert found(app) == list(range(NUMBER))


def test_a_message_alone_is_confirmed_too(app, sender):
    for number in range(3):
        assert sender.send([outgoing(number)]) == [None]
    assert found(app) == [0, 1, 2]


def test_a_queue_that_is_full_refuses_what_is_too_much(app, sender):
    full = Queue(
        "full",
        Exchange("full"),
        routing_key="full",
        queue_arguments={"x-max-length": 5, "x-overflow": "reject-publish"},
    )
    app.conf.task_queues = [full, Queue("celery")]
    messages = [
        outgoing(number, queue="full" if number % 2 else "celery") for number in range(FLUSH)
    ]
    outcomes = sender.send(messages)
    refused = [number for number, each in enumerate(outcomes) if each is not None]
    assert refused
    assert all(number % 2 for number in refused)
    assert all(isinstance(outcomes[number], MessageNacked) for number in refused)
    assert "refused" in str(outcomes[refused[0]])
    taken = sorted({number for number in range(FLUSH) if number % 2} - set(refused))
    assert found(app, "full") == taken
    assert found(app) == list(range(0, FLUSH, 2))


def test_an_exchange_that_does_not_exist_fails_its_message_alone(app, sender):
    messages = [outgoing(number) for number in range(9)]
    messages[4] = outgoing(4, exchange="nowhere", routing_key="nowhere", queue=None)
    for _ in range(2):
        outcomes = sender.send(messages)
        assert isinstance(outcomes[4], NotFound)
        assert [each for number, each in enumerate(outcomes) if number != 4] == [None] * 8
    # Sent again after the channel was closed: a message that comes twice is executed once.
    assert set(found(app)) == set(range(9)) - {4}


def test_a_connection_that_the_broker_closed_is_replaced(app, sender):
    assert sender.send([outgoing(0)]) == [None]
    sender._connection.transport.close_connection(sender._connection.connection)
    assert sender.send([outgoing(number) for number in range(1, 9)]) == [None] * 8
    assert found(app) == list(range(9))
