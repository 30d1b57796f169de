"""The command line: `celery -A <app> tsumugi …`."""

from __future__ import annotations

import click


@click.group()
def tsumugi() -> None:
    """Look at and steer the schedules of an app."""
