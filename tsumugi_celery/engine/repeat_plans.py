"""The plans of repeats: what a collection has in common, and one made for each row that is due."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tsumugi_celery.definitions.payload import Payload, spread
from tsumugi_celery.engine import message
from tsumugi_celery.engine.plan import Plan, make_plan, serializer_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from celery import Celery
    from sqlalchemy import Row

    from tsumugi_celery.definitions.model import Definition
    from tsumugi_celery.engine.settings import Settings


class RepeatPlans(dict[str, Plan]):
    """Name of a collection -> the plan that its rows fill in.

    Args:
        app: the Celery app.
        settings: the settings.
        definitions: what the repeats of each collection have in common, by its name.
    """

    def __init__(
        self, app: Celery, settings: Settings, definitions: Mapping[str, Definition]
    ) -> None:
        """Make every collection ready."""
        super().__init__(
            (name, make_plan(app, settings, each)) for name, each in definitions.items()
        )
        self._app = app
        self._settings = settings

    def of(self, row: Row[Any]) -> Plan:
        """Return how the repeat of a row is sent.

        Raises:
            KeyError: its collection is not known here.
            ValueError: its payload is damaged.
        """
        base = self[row.collection]
        args, kwargs = spread(json.loads(row.payload))
        definition = replace(base.definition, name=row.name, payload=Payload(args, kwargs))
        binding = definition.binding
        if binding is not None and binding.shards > 1 and not definition.options.partition_key:
            # Each id is its own partition: its runs go to one shard.
            own = replace(definition.options, partition_key=row.name)
            return make_plan(self._app, self._settings, replace(definition, options=own))
        body = message.pack(args, kwargs, serializer_of(self._app, definition))
        return replace(base, definition=definition, body=body)
