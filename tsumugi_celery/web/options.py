"""What a blueprint was made with, for all its parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tsumugi_celery.control.service import Control

#: Gets Flask's request; true lets it in, false answers 401, and a response is sent as it is.
Auth = Callable[[Any], Any]


@dataclass(frozen=True)
class Options:
    """What `create_blueprint` was given.

    Attributes:
        control: the service behind the handle.
        auth: who may come in; None keeps everything closed.
        show_payloads: whether the arguments of jobs are shown.
        flower_url: where Flower is, without a slash at the end; None where there is none.
    """

    control: Control
    auth: Auth | None
    show_payloads: bool
    flower_url: str | None
