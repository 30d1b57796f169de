"""Messages in a folder appear whole (decision 0024).

kombu's `filesystem://` transport makes a message's file first and writes it afterwards. A worker
that looks in between takes an empty message, and ends. Here the file gets its name when it is
written. Messages that processes without this package send are written as before.
"""

from __future__ import annotations

import os
import uuid
from time import monotonic
from typing import Any

from kombu.exceptions import ChannelError
from kombu.utils.json import dumps

from tsumugi_celery.engine.routing import transport_name

_MARK = "_tsumugi_whole"


def write_whole_files(app: Any) -> None:
    """Have this process write messages whole, if the app's broker is a folder."""
    if transport_name(app) != "filesystem":
        return
    from kombu.transport.filesystem import Channel  # noqa: PLC0415 - for this broker alone

    if not getattr(Channel._put, _MARK, False):  # noqa: SLF001 - kombu offers no other door
        Channel._put = _put  # noqa: SLF001 - as above


def _put(channel: Any, queue: str, payload: Any, **_kwargs: object) -> None:
    """Put a message onto a queue, under the name that kombu would give its file."""
    name = f"{round(monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
    final = os.path.join(channel.data_folder_out, name)  # noqa: PTH118 - kombu's own kind of path
    # The ending keeps readers from taking it for a message.
    unfinished = f"{final}.tmp"
    try:
        with open(unfinished, "wb") as file:  # noqa: PTH123 - as above
            file.write(dumps(payload).encode())
        os.replace(unfinished, final)  # noqa: PTH105 - as above
    except OSError as exc:
        msg = f"Cannot add file {final!r} to directory: {exc.strerror or exc}"
        raise ChannelError(msg) from exc


setattr(_put, _MARK, True)
