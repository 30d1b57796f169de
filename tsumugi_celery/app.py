"""What belongs to one Celery app: its definitions, its ledger, and the handle to both."""

from __future__ import annotations

import re
import weakref
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core.errors import DefinitionError, Problem
from tsumugi_celery.core.wording import shown
from tsumugi_celery.definitions.defaults import default_entries
from tsumugi_celery.definitions.read import read_definitions
from tsumugi_celery.definitions.registry_check import check_registry
from tsumugi_celery.engine.clock import Clock
from tsumugi_celery.engine.settings import read_settings
from tsumugi_celery.ledger.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from celery import Celery

    from tsumugi_celery.definitions.model import Definition, Definitions
    from tsumugi_celery.definitions.repeat_form import HandlerEntry, RepeatsEntry
    from tsumugi_celery.engine.settings import Settings

DEFAULT_URL = "sqlite:///tsumugi.sqlite3"
DEFAULT_NAMESPACE = "celery"
_NAMESPACE = re.compile(r"[A-Za-z0-9_.-]{1,40}")


class AppState:
    """What was given to `define_tsumugi` for an app, joined with the app's settings.

    Args:
        app: the Celery app.
        schedules: definitions beside those in `beat_schedule`.
        bindings: declared bindings, beside `tsumugi_bindings`.
        flows: declared flows, beside `tsumugi_flows`.
        database_url: in place of `tsumugi_database_url`.
    """

    def __init__(
        self,
        app: Celery,
        schedules: Mapping[str, Any] | None = None,
        bindings: Mapping[str, Any] | None = None,
        flows: Mapping[str, Callable[[Any], Any]] | None = None,
        database_url: str | None = None,
    ) -> None:
        """Remember what was given; nothing is read yet."""
        # The registry is keyed weakly by the app, so the state must not keep the app alive.
        self._app = weakref.ref(app)
        self._schedules = schedules or {}
        self._bindings = bindings or {}
        self._flows = flows or {}
        self._database_url = database_url
        self._ledger: Ledger | None = None
        self._handlers: dict[str, HandlerEntry] = {}
        self._repeats: dict[str, RepeatsEntry] = {}
        #: Names of handlers that this process leaves to others.
        self.stopped: set[str] = set()
        self.clock = Clock()

    @property
    def app(self) -> Celery:
        """The Celery app.

        Raises:
            ReferenceError: the app no longer exists.
        """
        app = self._app()
        if app is None:
            msg = "the Celery app of this handle no longer exists"
            raise ReferenceError(msg)
        return app

    @property
    def settings(self) -> Settings:
        """The settings, read anew.

        Raises:
            DefinitionError: a setting is unknown or out of range.
        """
        return read_settings(self.app)

    @property
    def namespace(self) -> str:
        """The setting `tsumugi_namespace`; by default the app's `main` name.

        Raises:
            DefinitionError: not a text of 1 to 40 letters, digits, `_`, `.` and `-`.
        """
        given = self.app.conf.get("tsumugi_namespace")
        if given is None:
            return re.sub(r"[^A-Za-z0-9_.-]", "_", self.app.main or DEFAULT_NAMESPACE)[:40]
        if not isinstance(given, str) or not _NAMESPACE.fullmatch(given):
            accepted = "a text of 1 to 40 letters, digits, '_', '.' and '-'"
            raise DefinitionError(
                [Problem("settings", "tsumugi_namespace", shown(given), accepted)]
            )
        return given

    @property
    def ledger(self) -> Ledger:
        """The ledger; nothing is connected before it is used.

        Raises:
            LedgerError: the URL cannot be read.
        """
        if self._ledger is None:
            given = self._database_url
            self._ledger = Ledger(
                given
                if given is not None
                else self.app.conf.get("tsumugi_database_url", DEFAULT_URL)
            )
        return self._ledger

    def add_handler(self, name: str, entry: HandlerEntry) -> None:
        """Take a schedule that was defined by a decorator, at any time before beat reads.

        A module that is imported again replaces its own handlers.

        Raises:
            DefinitionError: it is wrong, or another schedule has this name.
        """
        before = self._handlers.get(name)
        same = before is not None and before.task == entry.task
        if name in self._schedules or not (before is None or same):
            raise DefinitionError([_doubled(name, "it stands elsewhere too")])
        self._handlers[name] = entry
        self._checked(self._handlers, name, before)

    def add_repeats(self, name: str, entry: RepeatsEntry) -> Definition:
        """Take a collection of repeats; the same one may be given again.

        Raises:
            DefinitionError: it is wrong, or this name has another binding or other options.
        """
        before = self._repeats.get(name)
        if before is not None and before != entry:
            problem = Problem(
                f"repeats {name!r}",
                "name",
                "defined twice, with another binding or other options",
                "one definition",
                "make it once, in a module, and import it",
            )
            raise DefinitionError([problem])
        self._repeats[name] = entry
        return self._checked(self._repeats, name, before).repeats[name]

    def _checked(self, where: dict[str, Any], name: str, before: Any) -> Definitions:
        """Read what was added, alone; what is wrong goes again."""
        try:
            return read_definitions(
                self.app,
                {name: where[name]} if where is self._handlers else {},
                bindings={**(self.app.conf.get("tsumugi_bindings") or {}), **self._bindings},
                repeats={name: where[name]} if where is self._repeats else {},
            )
        except DefinitionError:
            del where[name]
            if before is not None:
                where[name] = before
            raise

    def read(self, *, complete: bool = False) -> Definitions:
        """Read all definitions of the app.

        Args:
            complete: all tasks are registered by now, so that an unknown one is a problem.

        Raises:
            DefinitionError: naming every problem.
        """
        conf = self.app.conf
        own: Mapping[str, Any] = conf.beat_schedule or {}
        doubled = [
            _doubled(name, "it stands in beat_schedule too")
            for name in (*self._schedules, *self._handlers)
            if name in own
        ]
        if doubled:
            raise DefinitionError(doubled)
        return read_definitions(
            self.app,
            {**default_entries(self.app, own), **own, **self._schedules, **self._handlers},
            bindings={**(conf.get("tsumugi_bindings") or {}), **self._bindings},
            flows={**(conf.get("tsumugi_flows") or {}), **self._flows},
            repeats=self._repeats,
            default_overlap=conf.get("tsumugi_default_overlap", "skip"),
            complete=complete,
        )

    def check(self) -> Definitions:
        """Read all definitions and check them against the tasks, which are imported for it.

        Raises:
            DefinitionError: naming every problem.
        """
        app = self.app
        app.loader.import_default_modules()
        app.finalize()
        read_settings(app)
        definitions = self.read(complete=True)
        problems = check_registry(app, definitions)
        if problems:
            raise DefinitionError(problems)
        return definitions


def _doubled(name: str, hint: str) -> Problem:
    return Problem(f"schedule {name!r}", "name", "defined twice", "one definition", hint)


_states: weakref.WeakKeyDictionary[Celery, AppState] = weakref.WeakKeyDictionary()


def state_of(app: Celery) -> AppState:
    """Return the state of an app; made from its settings where nothing was defined."""
    app = _real(app)
    if app not in _states:
        _states[app] = AppState(app)
    return _states[app]


def set_state(app: Celery, state: AppState) -> None:
    """Make `state` the state of an app."""
    _states[_real(app)] = state


def is_defined(app: Celery) -> bool:
    """Return whether the app has a state already."""
    return _real(app) in _states


def _real(app: Celery) -> Celery:
    # current_app and shared apps are proxies, which cannot be compared with what they stand for.
    get = getattr(app, "_get_current_object", None)
    return get() if get is not None else app
