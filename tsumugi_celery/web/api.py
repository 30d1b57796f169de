"""The routes of the REST interface. They translate; all rules are the service's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tsumugi_celery.core import states
from tsumugi_celery.core.errors import UnknownCollection, UnknownOccurrence, UnknownSchedule
from tsumugi_celery.web.answers import answer, polled
from tsumugi_celery.web.errors import BadRequest, MethodNotAllowed
from tsumugi_celery.web.params import Params

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flask import Blueprint, Response

    from tsumugi_celery.web.options import Options

KINDS = ("job", "flow")
#: How many schedules a page has by default, and at the most.
PAGE, LARGEST_PAGE = 200, 1000
#: The same for occurrences.
HISTORY, LARGEST_HISTORY = 50, 500
MOST_RECENT = 50
MOST_OFFSET = 10_000_000
ACTIONS = ("pause", "resume", "trigger")
REPEAT_ACTIONS = ("pause", "resume", "cancel")


def add_api(blueprint: Blueprint, options: Options) -> None:
    """Add the routes to a blueprint."""
    api = _Api(options)
    name = "/api/schedules/<tsumugi_name:name>"
    repeats = "/api/repeats/<tsumugi_name:collection>"
    for rule, method, view in (
        ("/api/schedules", "GET", api.schedules),
        (name, "GET", api.schedule),
        (f"{name}/occurrences", "GET", api.history),
        (f"{name}/upcoming", "GET", api.upcoming),
        (f"{name}/why", "GET", api.why),
        (f"{name}/pause", "POST", api.pause),
        (f"{name}/resume", "POST", api.resume),
        (f"{name}/trigger", "POST", api.trigger),
        ("/api/occurrences/<tsumugi_name:occurrence_id>", "GET", api.occurrence),
        ("/api/occurrences/<tsumugi_name:occurrence_id>/cancel", "POST", api.cancel),
        ("/api/runs/<tsumugi_name:run_id>", "GET", api.run),
        ("/api/repeats", "GET", api.collections),
        (repeats, "GET", api.repeats),
        # The id is a parameter, not a part of the address (decision 0111).
        (f"{repeats}/pause", "POST", api.pause_repeat),
        (f"{repeats}/resume", "POST", api.resume_repeat),
        (f"{repeats}/cancel", "POST", api.cancel_repeat),
        ("/api/bindings", "GET", api.bindings),
        ("/api/bindings/<tsumugi_name:name>/pause", "POST", api.pause_binding),
        ("/api/bindings/<tsumugi_name:name>/resume", "POST", api.resume_binding),
    ):
        blueprint.add_url_rule(
            rule,
            endpoint=f"api_{view.__name__}",
            view_func=view,
            methods=[method],
            # Two slashes in a row are part of a name.
            merge_slashes=False,
        )


class _Api:
    def __init__(self, options: Options) -> None:
        self._control = options.control
        self._show_payloads = options.show_payloads

    def schedules(self) -> Response:
        """Return a part of the list."""
        given = Params("search", "paused", "kind", "failing", "limit", "offset", "recent")
        page = self._control.list(
            search=given.text("search"),
            paused=given.flag("paused"),
            kind=given.choice("kind", KINDS),
            failing=given.flag("failing"),
            limit=given.number("limit", PAGE, 1, LARGEST_PAGE),
            offset=given.number("offset", 0, 0, MOST_OFFSET),
            recent=given.number("recent", 0, 0, MOST_RECENT),
        )
        return polled(page.to_dict())

    def schedule(self, name: str) -> Response:
        """Return one schedule."""
        given = Params("recent")
        recent = given.number("recent", 0, 0, MOST_RECENT)
        try:
            return polled(self._control.get(name, recent=recent).to_dict())
        except UnknownSchedule:
            _demand_post(name, ACTIONS)
            raise

    def history(self, name: str) -> Response:
        """Return a part of the history of a schedule."""
        given = Params("state", "cause", "since", "until", "limit", "cursor")
        cursor = given.text("cursor")
        try:
            page = self._control.occurrences(
                name,
                states=given.choices("state", states.STATES),
                causes=given.choices("cause", states.CAUSES),
                since=given.moment("since"),
                until=given.moment("until"),
                limit=given.number("limit", HISTORY, 1, LARGEST_HISTORY),
                cursor=cursor,
            )
        except UnknownSchedule:
            return self._named(f"{name}/occurrences")
        except ValueError as exc:
            raise BadRequest(str(exc)) from exc
        return polled(page.to_dict())

    def upcoming(self, name: str) -> Response:
        """Return the times to come."""
        given = Params("count", "after")
        try:
            times = self._control.upcoming(
                name, given.number("count", 10, 1, 500), after=given.moment("after")
            )
        except UnknownSchedule:
            return self._named(f"{name}/upcoming")
        return answer({"upcoming": [each.to_dict() for each in times]})

    def why(self, name: str) -> Response:
        """Say what became of one time."""
        at = Params("at").moment("at")
        if at is None:
            raise BadRequest("at: missing; accepted: epoch ms")
        try:
            return answer(self._control.why(name, at).to_dict())
        except UnknownSchedule:
            return self._named(f"{name}/why")

    def pause(self, name: str) -> Response:
        """Pause a schedule."""
        Params()
        return answer(self._control.pause(name).to_dict())

    def resume(self, name: str) -> Response:
        """Resume a schedule."""
        Params()
        return answer(self._control.resume(name).to_dict())

    def trigger(self, name: str) -> Response:
        """Run a schedule once now."""
        Params()
        return answer({"id": self._control.trigger(name)}, 201)

    def occurrence(self, occurrence_id: str) -> Response:
        """Return one occurrence."""
        Params()
        try:
            found = self._control.occurrence(occurrence_id, payload=self._show_payloads)
        except UnknownOccurrence:
            _demand_post(occurrence_id, ("cancel",))
            raise
        return polled(found.to_dict())

    def cancel(self, occurrence_id: str) -> Response:
        """Cancel one occurrence."""
        Params()
        return answer(self._control.cancel(occurrence_id).to_dict())

    def run(self, run_id: str) -> Response:
        """Return one Run with its tasks."""
        Params()
        return polled(self._control.run(run_id).to_dict())

    def collections(self) -> Response:
        """Return the collections of repeats."""
        Params()
        listed = [each.to_dict() for each in self._control.collections()]
        return polled({"collections": listed})

    def repeats(self, collection: str) -> Response:
        """Return repeats that the data owns."""
        given = Params("prefix", "after", "limit")
        try:
            page = self._control.repeats(
                collection,
                prefix=given.part_of_id("prefix"),
                after=given.part_of_id("after") or None,
                limit=given.number("limit", PAGE, 1, LARGEST_PAGE),
                payload=self._show_payloads,
            )
        except UnknownCollection:
            _demand_post(collection, REPEAT_ACTIONS)
            raise
        return polled(page.to_dict())

    def pause_repeat(self, collection: str) -> Response:
        """Pause one repeat."""
        return answer(self._control.pause_repeat(collection, Params("id").id("id")).to_dict())

    def resume_repeat(self, collection: str) -> Response:
        """Resume one repeat."""
        return answer(self._control.resume_repeat(collection, Params("id").id("id")).to_dict())

    def cancel_repeat(self, collection: str) -> Response:
        """Cancel one repeat."""
        return answer(self._control.cancel_repeat(collection, Params("id").id("id")).to_dict())

    def bindings(self) -> Response:
        """Return the bindings."""
        Params()
        return polled({"bindings": [each.to_dict() for each in self._control.bindings()]})

    def pause_binding(self, name: str) -> Response:
        """Pause a binding."""
        Params()
        return answer(self._control.pause_binding(name).to_dict())

    def resume_binding(self, name: str) -> Response:
        """Resume a binding."""
        Params()
        return answer(self._control.resume_binding(name).to_dict())

    def _named(self, name: str) -> Response:
        """Return the schedule that has the end of the address in its own name."""
        try:
            return polled(self._control.get(name).to_dict())
        except UnknownSchedule:
            raise UnknownSchedule(name.rpartition("/")[0]) from None


def _demand_post(name: str, actions: Sequence[str]) -> None:
    """Tell an unknown name from the address of an action: `x/pause` wants another method.

    Raises:
        MethodNotAllowed: it is the address of an action.
    """
    before, _, action = name.rpartition("/")
    if before and action in actions:
        raise MethodNotAllowed(headers={"Allow": "POST, OPTIONS"})
