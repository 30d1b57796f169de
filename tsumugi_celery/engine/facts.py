"""The one place that words what the engine did; tests look at `action`, never at the words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tsumugi_celery.core.wording import printable

if TYPE_CHECKING:
    import logging
    from collections.abc import Sequence

    from tsumugi_celery.engine.claim import Claim, Claimed
    from tsumugi_celery.engine.dispatch import Outcome
    from tsumugi_celery.engine.register import Registered

#: How many names one line lists.
_SHOWN = 5


def registered(log: logging.Logger, result: Registered) -> None:
    """Say what registering the definitions changed."""
    for words, names in (
        ("New schedules", result.added),
        ("Schedules with other times", result.changed),
        ("Schedules defined again", result.returned),
        ("Schedules no longer defined", result.removed),
    ):
        if names:
            log.info("%s: %s", words, _listed(names), extra={"action": "schedules.registered"})
    for name, why in result.uncounted:
        log.error(
            "What the former times of %r still owed cannot be counted, its row is damaged: %s",
            name,
            why,
            extra={"action": "schedule.uncounted"},
        )
    for name, why in result.failed:
        log.error(
            "The next time of %r cannot be computed: %s",
            name,
            why,
            extra={"action": "schedule.failed"},
        )


def restored(log: logging.Logger, result: Registered) -> None:
    """Say whose rows had vanished."""
    if result.added:
        log.warning(
            "Rows of schedules had vanished from the ledger; registered anew: %s",
            _listed(result.added),
            extra={"action": "schedules.restored"},
        )


def priorities(log: logging.Logger, warnings: Sequence[str]) -> None:
    """Say which priorities have no effect, and what to change."""
    for words in warnings:
        log.warning("%s", words, extra={"action": "priority.no_effect"})


def claimed(log: logging.Logger, result: Claimed) -> None:
    """Say what was not executed, and why."""
    for name, skipped in result.skipped:
        log.info(
            "%s: %d not executed (%s)",
            printable(name),
            skipped.count,
            skipped.cause,
            extra={"action": "occurrence.skipped"},
        )
    for name, why in result.failed:
        log.error(
            "The next time of %r cannot be computed: %s",
            name,
            why,
            extra={"action": "schedule.failed"},
        )


def sent(log: logging.Logger, outcomes: Sequence[Outcome]) -> None:
    """Say what was sent and what was not."""
    for each in outcomes:
        claim = each.claim
        if each.error is None:
            log.info(
                "%s: sent %s",
                printable(claim.definition.name),
                claim.occurrence_id,
                extra={"action": "occurrence.sent"},
            )
        else:
            log.error(
                "%s: %s not executed (failure): %s",
                printable(claim.definition.name),
                claim.occurrence_id,
                each.error,
                extra={"action": "occurrence.failed"},
            )


def recovered(log: logging.Logger, claims: Sequence[Claim]) -> None:
    """Say whose claims were taken over."""
    for claim in claims:
        log.warning(
            "%s: its beat is gone; %s is sent by this one",
            printable(claim.definition.name),
            claim.occurrence_id,
            extra={"action": "occurrence.recovered"},
        )


def reaped(log: logging.Logger, settled: Sequence[tuple[str, str]]) -> None:
    """Say what became of the jobs of workers that are gone."""
    for identifier, state in settled:
        log.warning(
            "%s: its worker is gone; now %s",
            identifier,
            state,
            extra={"action": "occurrence.reaped"},
        )


def mended(log: logging.Logger, corrections: Sequence[tuple[str, str]]) -> None:
    """Say which next times were corrected."""
    for name, words in corrections:
        log.warning("%s: %s", printable(name), words, extra={"action": "schedule.mended"})


def lost(log: logging.Logger, identifiers: Sequence[str]) -> None:
    """Say which messages are sent again."""
    for identifier in identifiers:
        log.warning(
            "%s: its message is gone from the broker; sent again",
            identifier,
            extra={"action": "occurrence.lost"},
        )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(printable, names[:_SHOWN]))
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
