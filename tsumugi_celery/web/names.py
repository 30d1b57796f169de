"""Names in addresses. A name in Celery's form may hold anything, slashes too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from werkzeug.routing import BaseConverter

if TYPE_CHECKING:
    from flask.blueprints import BlueprintSetupState

#: The converter's name in rules, such as `/api/schedules/<tsumugi_name:name>`.
NAME = "tsumugi_name"


class NameConverter(BaseConverter):
    """Any text. Werkzeug's `path` refuses a slash at the beginning, and line breaks."""

    part_isolating = False
    regex = "(?s:.+?)"


def add_converter(state: BlueprintSetupState) -> None:
    """Make the converter known to an app; the name is ours, so nobody else's rule changes."""
    state.app.url_map.converters.setdefault(NAME, NameConverter)
