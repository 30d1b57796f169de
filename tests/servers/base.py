"""One private server process that a test may kill, freeze and restart."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from tests.leash import family, freeze_family, leash, signal_family, wait_gone
from tests.servers.ports import free_port

START_TIMEOUT = 60.0
STOP_TIMEOUT = 20.0


class Server(ABC):
    """A server on a loopback port of its own, with its data in a temporary folder of its own.

    The port and the data stay the same over stop, kill and restart, so `url` stays valid.
    """

    name = ""
    stop_signal = signal.SIGTERM
    # Programs that refuse to run as root are started as the first of these users that exists.
    users_instead_of_root: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"tsumugi-{self.name}-"))
        self.port = free_port()
        self.log = self.folder / "server.log"
        self.user = self._choose_user()
        self._process: subprocess.Popen[bytes] | None = None
        self._frozen = False
        self._prepared = False
        self._own(self.folder)

    @property
    @abstractmethod
    def url(self) -> str:
        """Where to connect to."""

    @abstractmethod
    def prepare(self) -> None:
        """Write what the server needs before its first start."""

    @abstractmethod
    def command(self) -> list[str]:
        """The server's command line; it must stay in the foreground."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether the server does real work for a client; may raise what a client raises."""

    def environment(self) -> dict[str, str]:
        """Variables beside those of the test process."""
        return {}

    @property
    def running(self) -> bool:
        """Whether the server's main process is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The id of the main process."""
        if self._process is None:
            raise RuntimeError(f"{self.name} is not running; call start() first")
        return self._process.pid

    def start(self) -> None:
        """Start the server and wait until it answers."""
        if self.running:
            raise RuntimeError(f"{self.name} is already running as process {self.pid}")
        self.kill()  # what a main process that died alone has left behind
        if not self._prepared:
            self.prepare()
            self._prepared = True
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env={**os.environ, **self.environment()},
                start_new_session=True,
                **self._as_user(),
            )
        leash.hold(self._process.pid)
        self._frozen = False
        self._wait_until_it_answers()

    def stop(self) -> None:
        """End the server in its orderly way; kill it when that takes too long."""
        if self._process is None:
            return
        self.thaw()
        members = family(self._process.pid)
        self._process.send_signal(self.stop_signal)
        try:
            self._process.wait(STOP_TIMEOUT)
            signal_family(self._process.pid, signal.SIGTERM)  # helpers it left behind
            wait_gone(members, STOP_TIMEOUT)
        except (subprocess.TimeoutExpired, TimeoutError):
            self.kill()
        self._forget()

    def kill(self) -> None:
        """Kill the server and all its children at once, as a power cut would."""
        if self._process is None:
            return
        members = signal_family(self._process.pid, signal.SIGKILL)
        self._process.wait()
        wait_gone(members)
        self._forget()

    def freeze(self) -> None:
        """Stop the server from doing anything, with its connections open (SIGSTOP)."""
        freeze_family(self.pid)
        self._frozen = True

    def thaw(self) -> None:
        """Let a frozen server go on."""
        if self._frozen:
            signal_family(self.pid, signal.SIGCONT)
        self._frozen = False

    def restart(self) -> None:
        """Stop and start again, with the same data and port."""
        self.stop()
        self.start()

    def ensure(self) -> None:
        """Have it running and thawed, whatever the test before did to it."""
        self.thaw()
        if not self.running:
            self.start()

    def close(self) -> None:
        """Kill the server and remove its data."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def tail(self, lines: int = 30) -> str:
        """The last lines the server wrote."""
        if not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def run(self, *command: str, timeout: float = START_TIMEOUT) -> str:
        """Run a helper program to its end, as the server's user and in its folder."""
        done: subprocess.CompletedProcess[str] = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env={**os.environ, **self.environment()},
            timeout=timeout,
            check=False,
            **self._as_user(),
        )
        if done.returncode:
            raise RuntimeError(
                f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}"
            )
        return done.stdout

    def _choose_user(self) -> pwd.struct_passwd | None:
        if os.geteuid() != 0:
            return None
        for name in self.users_instead_of_root:
            with contextlib.suppress(KeyError):
                return pwd.getpwnam(name)
        return None

    def _as_user(self) -> dict[str, Any]:
        if self.user is None:
            return {}
        return {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}

    def _own(self, path: Path) -> None:
        if self.user is not None:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        problem: Exception | None = None
        while time.monotonic() < deadline:
            if not self.running:
                self.kill()
                raise RuntimeError(f"{self.name} ended while it started:\n{self.tail()}")
            try:
                if self.answers():
                    return
            except Exception as error:  # noqa: BLE001 - each client library has its own errors
                problem = error
            time.sleep(0.05)
        self.kill()
        raise RuntimeError(f"{self.name} did not answer: {problem!r}\n{self.tail()}")

    def _forget(self) -> None:
        if self._process is not None:
            leash.release(self._process.pid)
        self._process = None
        self._frozen = False
