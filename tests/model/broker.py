"""A broker whose messages are delivered, doubled, delayed and lost when the test says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tsumugi_celery.engine.message import HEADER, Outgoing


@dataclass(frozen=True)
class Message:
    """What a worker would get."""

    id: str
    header: Mapping[str, Any]
    retries: int = 0

    def again(self) -> Message:
        """The message by which Celery retries a task."""
        return replace(self, retries=self.retries + 1)


class SimBroker:
    """Messages that wait, in the order in which they were sent."""

    def __init__(self) -> None:
        self.waiting: list[Message] = []
        #: What the next sends meet: 'sent', 'failed' (nothing arrives) or 'unsure' (it arrives,
        #: but the sender is told that it failed).
        self.mood = "sent"

    def send(self, messages: Sequence[Outgoing]) -> list[Exception | None]:
        """Take messages, in place of `engine.broker.Sender.send`."""
        if self.mood != "failed":
            for each in messages:
                header = each.options["headers"][HEADER]
                self.waiting.append(Message(each.occurrence_id, header))
        if self.mood == "sent":
            return [None] * len(messages)
        return [ConnectionError("the broker is away")] * len(messages)

    def close(self) -> None:
        """Nothing to close."""
