"""Real celery processes on a small project in a temporary folder."""

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.leash import freeze_family, leash, signal_family, wait_gone
from tests.waiting import wait_for

__all__ = ["Process", "Project", "wait_for"]

REPOSITORY = Path(__file__).parents[1]


class Process:
    """A process in a session of its own, with what it prints in a file.

    Attributes:
        name: for messages, such as "beat-1".
        log: the file with its output and errors.
        pid: its id; of a prefork worker the main process's.
    """

    def __init__(self, name: str, command: list[str], folder: Path, env: dict[str, str]) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=env,
                start_new_session=True,
            )
        self.pid = self._process.pid
        leash.hold(self.pid)

    @property
    def running(self) -> bool:
        """Whether the main process is there."""
        return self._process.poll() is None

    def text(self) -> str:
        """All it has printed so far."""
        return self.log.read_text(errors="replace")

    def tail(self, lines: int = 40) -> str:
        """The last lines it printed."""
        return "\n".join(self.text().splitlines()[-lines:])

    def wait_log(self, text: str, timeout: float = 30, *, count: int = 1) -> None:
        """Wait until it has printed a text (`count` times); fails at once when the process ends."""

        def printed() -> bool:
            ended = not self.running  # looked at first: what it printed last must not be missed
            if self.text().count(text) >= count:
                return True
            if ended:
                code = self._process.returncode
                raise AssertionError(f"{self.name} ended with {code}\n{self.tail()}")
            return False

        wait_for(printed, timeout, what=f"{text!r} in the log", logs=[self])

    def children(self) -> list[psutil.Process]:
        """Its child processes: the pool of a prefork worker."""
        return psutil.Process(self.pid).children(recursive=True)

    def send(self, number: int) -> None:
        """Send a signal to the main process alone."""
        self._process.send_signal(number)

    def freeze(self) -> None:
        """Stop it and its children from doing anything (SIGSTOP)."""
        freeze_family(self.pid)

    def thaw(self) -> None:
        """Let them go on."""
        signal_family(self.pid, signal.SIGCONT)

    def wait(self, timeout: float = 30) -> int:
        """Wait for its end; returns the exit code (negative: the signal that ended it)."""
        wait_for(lambda: not self.running, timeout, what=f"the end of {self.name}", logs=[self])
        return self._process.returncode

    def terminate(self, timeout: float = 30) -> int:
        """End it in its orderly way (SIGTERM) and return the exit code."""
        self.send(signal.SIGTERM)
        return self.wait(timeout)

    def kill(self) -> None:
        """Kill it and all its children at once, as a power cut would."""
        members = signal_family(self.pid, signal.SIGKILL)
        self._process.wait()
        wait_gone(members)
        leash.release(self.pid)


class Project:
    """A folder with a small Celery project, and the commands a user would give there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.module = "proj"
        self.env = {
            **os.environ,
            "PYTHONPATH": f"{folder}{os.pathsep}{REPOSITORY}",
            "PYTHONUNBUFFERED": "1",
            "PYTHONFAULTHANDLER": "1",
            "PYTHONDONTWRITEBYTECODE": "1",  # a module rewritten within a second is read anew
        }
        self.processes: list[Process] = []
        self._numbers = itertools.count(1)

    def write(self, source: str, module: str = "proj") -> Path:
        """Write a module of the project; indentation common to all lines is removed."""
        path = self.folder / f"{module}.py"
        path.write_text(textwrap.dedent(source).lstrip("\n"))
        return path

    def beat(self, *args: str, scheduler: str | None = "tsumugi_celery.Scheduler") -> Process:
        """Start a `celery beat`; several may run at once. `scheduler=None`: as configured."""
        chosen = ("-S", scheduler) if scheduler else ()
        options = ("-l", "INFO", "--pidfile=", *chosen, *args)
        return self.start("beat", *self.command("beat", *options))

    def worker(self, *args: str, wait: bool = True) -> Process:
        """Start a `celery worker` with two pool processes and wait until it is ready."""
        number = next(self._numbers)
        options = ("-l", "INFO", "-c", "2", "-n", f"worker{number}@localhost", *args)
        worker = self.start("worker", *self.command("worker", *options))
        if wait:
            worker.wait_log(" ready.")
        return worker

    def celery(self, *args: str, timeout: float = 60) -> "subprocess.CompletedProcess[str]":
        """Run a celery command of the project to its end, whatever its exit code."""
        return self.run(*self.command(*args), timeout=timeout)

    def python(self, source: str, timeout: float = 60) -> str:
        """Run some Python in the project and return what it printed; fails on a non-zero exit."""
        done = self.run(sys.executable, "-c", textwrap.dedent(source), timeout=timeout)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def command(self, *args: str) -> list[str]:
        """The command line of `celery -A <module> ...`."""
        return [sys.executable, "-m", "celery", "-A", self.module, *args]

    def start(self, name: str, *command: str) -> Process:
        """Start any program in the project's folder; it is killed when the test ends."""
        process = Process(f"{name}-{next(self._numbers)}", list(command), self.folder, self.env)
        self.processes.append(process)
        return process

    def run(self, *command: str, timeout: float = 60) -> "subprocess.CompletedProcess[str]":
        """Run any program in the project's folder to its end, whatever its exit code."""
        started = self.start("run", *command)
        code = started.wait(timeout)
        return subprocess.CompletedProcess(command, code, started.text(), "")

    def wait_for(
        self, predicate: Callable[[], object], timeout: float = 30, *, what: str = ""
    ) -> None:
        """As `tests.waiting.wait_for`, with the logs of all processes in the error."""
        wait_for(predicate, timeout, what=what, logs=self.processes)

    def close(self) -> None:
        """Kill all that was started."""
        for process in reversed(self.processes):
            process.kill()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """An empty project: `write` its module, then start `beat`, `worker`, `celery`."""
    folder = tmp_path / "project"
    folder.mkdir()
    made = Project(folder)
    with contextlib.closing(made):
        yield made
