"""What all commands share: the handle, the option --json, errors and exit codes."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import click
from sqlalchemy.exc import SQLAlchemyError

from tsumugi_celery.app import state_of
from tsumugi_celery.control.service import Control
from tsumugi_celery.core.errors import TsumugiError
from tsumugi_celery.core.reasons import reason

FAILED = 1
UNKNOWN = 3

json_option = click.option("--json", "as_json", is_flag=True, help="Print data as JSON.")


def answering(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the app's control service, and its errors an exit code.

    What is wrong is printed to standard error as one message, without a traceback.
    """

    @click.pass_context
    @functools.wraps(command)
    def run(context: click.Context, *args: Any, **kwargs: Any) -> None:
        control = Control(state_of(context.obj.app))
        try:
            command(control, *args, **kwargs)
        except KeyError as exc:
            raise _Unknown(str(exc)) from exc
        except (TsumugiError, ValueError) as exc:
            raise _Failure(str(exc)) from exc
        except SQLAlchemyError as exc:
            raise _Failure(f"the ledger does not answer: {reason(exc)}") from exc

    return run


def print_json(value: object) -> None:
    """Print a value as JSON, indented; text keeps its own letters."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


class _Failure(click.ClickException):
    """Printed as `Error: …` by click; ends the command with its exit code."""


class _Unknown(_Failure):
    exit_code = UNKNOWN
