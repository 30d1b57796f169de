"""Publisher confirms of RabbitMQ, awaited for many messages together (decision 0093).

py-amqp waits for the confirm of a message before it publishes the next one: a round trip and a
write to the broker's disk for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amqp.exceptions import MessageNacked

if TYPE_CHECKING:
    from kombu import Connection

REFUSED = "the broker refused it (basic.nack); its queue may be full and say 'reject-publish'"


class Confirms:
    """What was published on one channel and is not confirmed yet.

    Args:
        channel: of py-amqp, on a connection without `confirm_publish`; used by this process alone.
        timeout: how long the broker may be silent, in seconds.
    """

    def __init__(self, channel: Any, timeout: float) -> None:
        """Have the broker confirm whatever is published on the channel from now on."""
        self._connection = channel.connection
        self._timeout = timeout
        self._publish = channel.basic_publish
        self._tag = 0
        self._open: dict[int, int] = {}
        self._refused: set[int] = set()
        #: The number of the message that is being published.
        self.current = 0
        channel.confirm_select()
        channel.events["basic_ack"].add(self._on_ack)
        channel.events["basic_nack"].add(self._on_nack)
        channel.basic_publish = self._on_publish

    def settle(self) -> dict[int, Exception]:
        """Wait until the broker has answered for all that was published.

        Returns:
            The numbers of the messages that it refused.

        Raises:
            OSError: it was silent for too long.
        """
        while self._open:
            self._connection.drain_events(timeout=self._timeout)
        refused, self._refused = self._refused, set()
        return {number: MessageNacked(REFUSED) for number in refused}

    def _on_publish(self, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("confirm_timeout", None)
        result = self._publish(*args, **kwargs)
        # The broker counts what it gets on a channel; its answers name these counts.
        self._tag += 1
        self._open[self._tag] = self.current
        return result

    def _on_ack(self, tag: int, multiple: bool) -> None:  # noqa: FBT001 - as py-amqp calls it
        self._answered(tag, multiple=multiple)

    def _on_nack(self, tag: int, multiple: bool) -> None:  # noqa: FBT001 - as py-amqp calls it
        self._refused |= self._answered(tag, multiple=multiple)

    def _answered(self, tag: int, *, multiple: bool) -> set[int]:
        tags = [each for each in self._open if each <= tag] if multiple else [tag]
        return {self._open.pop(each) for each in tags if each in self._open}


def can_confirm(connection: Connection) -> bool:
    """Return whether a connection is one of py-amqp, which leads to RabbitMQ."""
    return bool(connection.transport.driver_name == "py-amqp")
