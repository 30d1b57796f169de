"""The demo's processes: started here, ended here by their ids, also when something fails."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

#: Seconds a process gets to end by itself.
PATIENCE = 15


def free_port() -> int:
    """Return a port of the loopback address that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Processes:
    """Celery processes of the demo project, each with its output in a file."""

    def __init__(self, folder: Path) -> None:
        """Start without any."""
        self.folder = folder
        self._started: list[tuple[str, subprocess.Popen[bytes]]] = []

    def celery(self, name: str, *args: str) -> Path:
        """Start `celery -A proj ...`; return the file with its output."""
        log = self.folder / f"{name}.log"
        command = [sys.executable, "-m", "celery", "-A", "proj", *args]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                start_new_session=True,
            )
        self._started.append((name, process))
        return log

    def wait_for(self, log: Path, words: str, seconds: float = 60) -> None:
        """Wait until a process has said something.

        Raises:
            RuntimeError: it ended, or did not say it in time.
        """
        deadline = time.monotonic() + seconds
        while words not in log.read_text(errors="replace"):
            self.check()
            if time.monotonic() > deadline:
                message = f"{log.stem} did not say {words!r} within {seconds:g} s: see {log}"
                raise RuntimeError(message)
            time.sleep(0.1)

    def check(self) -> None:
        """Look whether all are still there.

        Raises:
            RuntimeError: one has ended.
        """
        for name, process in self._started:
            if process.poll() is not None:
                log = (self.folder / f"{name}.log").read_text(errors="replace")
                message = f"{name} ended with exit code {process.returncode}:\n{log[-3000:]}"
                raise RuntimeError(message)

    def stop(self) -> None:
        """End all, the last one first; what does not end in time is killed."""
        while self._started:
            _, process = self._started.pop()
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                pass
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
