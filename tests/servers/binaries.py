"""Finding installed programs, and what happens where one is missing."""

import os
import shutil
from pathlib import Path

import pytest


def require_binary(*names: str, places: tuple[str, ...] = ()) -> str:
    """The path of the first installed program of these names.

    Skips the test, naming the program, where none is installed. With TSUMUGI_REQUIRE_SERVERS=1, as
    in continuous integration, it fails the test instead: a skip there would hide a hole.

    Args:
        names: program names, tried in order.
        places: folders or patterns of folders looked through first; of several matches the highest.
    """
    for name in names:
        for place in places:
            if found := sorted(Path("/").glob(f"{place}/{name}".lstrip("/")), key=_by_number):
                return str(found[-1])
        if path := shutil.which(name):
            return path
    message = f"{' or '.join(names)} is not installed"
    if os.environ.get("TSUMUGI_REQUIRE_SERVERS") == "1":
        pytest.fail(f"{message}, and TSUMUGI_REQUIRE_SERVERS=1 asks for it", pytrace=False)
    pytest.skip(message)


def _by_number(path: Path) -> tuple[int, ...]:
    """Sort PostgreSQL 9 before 15: by the numbers in the path."""
    return tuple(int(part) for part in path.parts if part.isdigit())
