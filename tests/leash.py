"""Ends processes by id, with all they started, even when the test run itself is killed.

Started as a program, this file is the leash: it is told process ids on standard input, and when
that closes, for whatever reason, it kills every family it was told of. So nothing outlives a
test run that crashed.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import psutil


def family(pid: int) -> list[psutil.Process]:
    """A process, its descendants, and all of its session (those whose parent is gone)."""
    found: dict[int, psutil.Process] = {}
    with contextlib.suppress(psutil.NoSuchProcess):
        leader = psutil.Process(pid)
        found = {one.pid: one for one in [leader, *leader.children(recursive=True)]}
    for one in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(one.pid) == pid:
                found.setdefault(one.pid, one)
    return [one for one in found.values() if alive(one)]


def alive(one: psutil.Process) -> bool:
    """Whether a process still does anything: a zombie nobody waits for does not."""
    try:
        return one.is_running() and one.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def signal_family(pid: int, number: int) -> list[psutil.Process]:
    """Send a signal to the whole family, parents first; returns whom it was sent to."""
    members = family(pid)
    for one in members:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.send_signal(number)
    return members


def freeze_family(pid: int, timeout: float = 10) -> None:
    """Stop the whole family (SIGSTOP) and wait until the kernel has done it.

    Raises:
        TimeoutError: some still run after `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    while moving := [one for one in family(pid) if one.status() != psutil.STATUS_STOPPED]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"not frozen after {timeout} s: {moving}")
        for one in moving:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.send_signal(signal.SIGSTOP)
        time.sleep(0.01)


def wait_gone(members: list[psutil.Process], timeout: float = 10) -> None:
    """Wait until none of these processes runs any more.

    Raises:
        TimeoutError: some are still there after `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    while left := [one for one in members if alive(one)]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"still running after {timeout} s: {left}")
        time.sleep(0.01)


def is_family_of(pid: int, started_at: float) -> bool:
    """Whether the id still means the process it was noted for, or only its orphans are left."""
    try:
        return abs(psutil.Process(pid).create_time() - started_at) < 1
    except psutil.NoSuchProcess:
        return True


class Leash:
    """The other end of the leash, in the test process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def hold(self, pid: int) -> None:
        """Have this family killed when the test process ends, however it ends."""
        self._say(f"hold {pid} {psutil.Process(pid).create_time()}")

    def release(self, pid: int) -> None:
        """Forget a family that has been ended: its id may soon mean another process."""
        self._say(f"release {pid} 0")

    def _say(self, line: str) -> None:
        with self._lock:
            if self._process is None:
                self._process = subprocess.Popen(
                    [sys.executable, __file__],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    start_new_session=True,
                    text=True,
                )
            assert self._process.stdin is not None
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()


leash = Leash()


def main() -> None:
    """Read ids until standard input closes, then kill what is still held."""
    held: dict[int, float] = {}
    for line in sys.stdin:
        word, pid, started_at = line.split()
        if word == "hold":
            held[int(pid)] = float(started_at)
        else:
            held.pop(int(pid), None)
    for pid, started_at in held.items():
        if is_family_of(pid, started_at):
            signal_family(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
