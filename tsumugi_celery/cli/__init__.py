"""The command line: `celery -A <app> tsumugi …`.

Exit codes: 0 all is well; 1 problems were found, or the call failed; 2 the command was not
understood; 3 nothing has this name.
"""

from __future__ import annotations

import click

from tsumugi_celery.cli.diff import diff
from tsumugi_celery.cli.import_command import import_command
from tsumugi_celery.cli.inspect import history, list_command, next_command, show, why
from tsumugi_celery.cli.repeats import repeats
from tsumugi_celery.cli.run import run
from tsumugi_celery.cli.serve import web
from tsumugi_celery.cli.setup import check, migrate
from tsumugi_celery.cli.steer import bindings, cancel, pause, resume, trigger


@click.group(help="Look at the schedules of an app and steer them.")
def tsumugi() -> None:
    """Hold the commands together."""


for _command in (
    list_command,
    show,
    next_command,
    history,
    run,
    why,
    pause,
    resume,
    trigger,
    cancel,
    bindings,
    repeats,
    diff,
    import_command,
    check,
    migrate,
    web,
):
    tsumugi.add_command(_command)
