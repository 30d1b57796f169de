"""Run a beat, a worker, the dashboard and Flower for a while, and print what happens.

Everything is kept in a temporary folder; all processes are ended when the time is over.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from processes import Processes, free_port
from show import Reporter

HERE = Path(__file__).parent


def main() -> int:
    """Run the demo; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=30, help="how long; 0: until Ctrl-C (default: 30)"
    )
    seconds = parser.parse_args().seconds
    folder = Path(tempfile.mkdtemp(prefix="tsumugi-demo-"))
    os.environ["DEMO_FOLDER"] = str(folder)
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    # Ended from outside, the demo ends its processes too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    processes = Processes(folder)
    try:
        return show(processes, seconds)
    except KeyboardInterrupt:
        print("\nStopped.")
        return 0
    except RuntimeError as error:
        print(f"\nThe demo failed: {error}", file=sys.stderr)
        return 1
    finally:
        processes.stop()
        shutil.rmtree(folder, ignore_errors=True)


def show(processes: Processes, seconds: float) -> int:
    """Start everything, print what happens, end with a summary."""
    flower, web, token = free_port(), free_port(), secrets.token_urlsafe(16)
    print("Starting a worker, Flower, the dashboard and beat ...", flush=True)
    worker = processes.celery("worker", "worker", "--loglevel", "INFO", "--concurrency", "4", "-E")
    processes.wait_for(worker, " ready.")
    processes.celery("flower", "flower", "--address=127.0.0.1", f"--port={flower}")
    os.environ["TSUMUGI_TOKEN"] = token
    dashboard = processes.celery(
        "web", "tsumugi", "web", f"--port={web}", f"--flower-url=http://127.0.0.1:{flower}"
    )
    processes.wait_for(dashboard, "http://")
    beat = processes.celery(
        "beat", "beat", "-S", "tsumugi_celery.Scheduler", "--loglevel", "INFO", "--pidfile="
    )
    processes.wait_for(beat, "beat: Starting")
    print(f"Dashboard: http://127.0.0.1:{web}/   token: {token}")
    print(f"Flower:    http://127.0.0.1:{flower}/")
    print(f"Files:     {processes.folder}\n", flush=True)

    from proj import tsumugi  # noqa: PLC0415 - it reads DEMO_FOLDER when it is imported

    reporter = Reporter(tsumugi)
    deadline = time.monotonic() + seconds
    try:
        while seconds == 0 or time.monotonic() < deadline:
            processes.check()
            reporter.look()
            time.sleep(0.3)
    except KeyboardInterrupt:
        print("\nStopping ...")
    processes.stop()
    reporter.look()
    completed = reporter.summary()
    if not completed and seconds != 0:
        print("No execution was completed within the time.", file=sys.stderr)
        return 1
    print(f"\n{completed} executions completed. All processes have ended.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
