"""The errors a user of this package may meet, each with a message that says the next step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tsumugi_celery.core.wording import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class TsumugiError(Exception):
    """The base of every error raised by this package."""


@dataclass(frozen=True)
class Problem:
    """One fault of one definition.

    Attributes:
        where: What is at fault, for example ``"schedule 'nightly'"``.
        key: The key of the definition, as the user wrote it.
        got: The value found, as a short ``repr``.
        accepted: What would have been right.
        hint: The next step, where there is a good guess.
    """

    where: str
    key: str
    got: str
    accepted: str
    hint: str = ""

    def __str__(self) -> str:
        line = f"{self.where}: {self.key}: got {self.got}; accepted: {self.accepted}"
        return f"{line} ({self.hint})" if self.hint else line


class DefinitionError(TsumugiError, ValueError):
    """Schedules, bindings or flows are not defined as they must be.

    Attributes:
        problems: All problems found, not only the first.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        # The arguments are what pickle calls the class with again.
        super().__init__(self.problems)

    def __str__(self) -> str:
        count = len(self.problems)
        head = f"{count} problem{'' if count == 1 else 's'} in the definitions:"
        return "\n".join([head, *(f"  - {problem}" for problem in self.problems)])


class UnknownSchedule(TsumugiError, KeyError):  # noqa: N818 - a public name, fixed
    """No schedule has this name.

    Attributes:
        name: The name asked for.
        near: Names that exist and are spelled alike.
    """

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        self.name = name
        self.near = nearest(name, known)
        super().__init__(name, self.near)

    def __str__(self) -> str:
        # KeyError would show the repr of its argument; a reader wants a sentence.
        guess = did_you_mean(self.near) or "list() shows the names that exist"
        return f"no schedule is named {self.name!r} ({guess})"


class RemovedSchedule(UnknownSchedule):
    """The schedule is in the ledger, but the beat that was started last does not define it."""

    def __str__(self) -> str:
        return (
            f"the schedule {self.name!r} was removed: the beat that was started last does not "
            "define it (define it and restart beat)"
        )


class UnknownCollection(UnknownSchedule):
    """No repeats are kept under this name."""

    def __str__(self) -> str:
        guess = did_you_mean(self.near) or "tsumugi.repeats(name, binding=…) makes a collection"
        return f"no repeats are named {self.name!r} ({guess})"


class UnknownRepeat(TsumugiError, KeyError):  # noqa: N818 - in line with UnknownSchedule
    """No repeat of a collection has this id, or it was cancelled.

    Attributes:
        collection: The name of the repeats.
        id: The id asked for.
    """

    def __init__(self, collection: str, id: str) -> None:  # noqa: A002 - the word that users know it by
        self.collection = collection
        self.id = id
        super().__init__(collection, id)

    def __str__(self) -> str:
        return f"no repeat of {self.collection!r} has the id {self.id!r} (list() shows those set)"


class DispatchError(TsumugiError):
    """A job or Run could not be handed to the broker; the message holds the reason."""


class LedgerError(TsumugiError):
    """The ledger cannot be used: not reachable at start, not ours, or of another schema version."""


class LedgerAway(LedgerError):  # noqa: N818 - the name says what happened
    """The ledger was asked and did not answer; asking again later may help."""


class UnknownOccurrence(TsumugiError, KeyError):  # noqa: N818 - in line with UnknownSchedule
    """No occurrence has this id in the namespace of the app.

    Attributes:
        id: The id asked for.
    """

    def __init__(self, id: str) -> None:  # noqa: A002 - the word that users know it by
        self.id = id
        super().__init__(id)

    def __str__(self) -> str:
        return f"no occurrence has the id {self.id!r} (occurrences() of its schedule shows them)"


class UnknownBinding(TsumugiError, KeyError):  # noqa: N818 - in line with UnknownSchedule
    """No binding has this name.

    Attributes:
        name: The name asked for.
        near: Names that exist and are spelled alike.
    """

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        self.name = name
        self.near = nearest(name, known)
        super().__init__(name, self.near)

    def __str__(self) -> str:
        guess = did_you_mean(self.near) or "bindings() shows the names that exist"
        return f"no binding is named {self.name!r} ({guess})"


class NotDefinedHere(TsumugiError):  # noqa: N818 - the name says what is wrong
    """The ledger has the schedule, but the code of this process does not define it."""


class AlreadyFinished(TsumugiError):  # noqa: N818 - the name says what is wrong
    """The occurrence has come to its end; there is nothing left to cancel."""
