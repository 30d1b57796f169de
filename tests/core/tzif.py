"""Zone files: read apart from `zoneinfo`, and written for zones that no country has."""

from __future__ import annotations

import struct
from io import BytesIO
from typing import NamedTuple
from zoneinfo import ZoneInfo

HEADER = ">6l"


class Change(NamedTuple):
    second: int
    before: int
    after: int


def changes(data: bytes) -> list[Change]:
    """Return the changes of the offset that a zone file lists one by one."""
    # A first block for readers of 32 bits lies in front of the one wanted.
    isut, isstd, leap, times, types, chars = struct.unpack(HEADER, data[20:44])
    second = 44 + times * 5 + types * 6 + chars + leap * 8 + isstd + isut
    *_, times, types, _ = struct.unpack(HEADER, data[second + 20 : second + 44])
    start = second + 44
    moments = struct.unpack(f">{times}q", data[start : start + 8 * times])
    start += 8 * times
    kinds = data[start : start + times]
    start += times
    offsets = [
        struct.unpack(">l", data[start + 6 * n : start + 6 * n + 4])[0] for n in range(types)
    ]
    before = offsets[0]
    found = []
    for moment, kind in zip(moments, kinds, strict=True):
        if offsets[kind] != before:
            found.append(Change(moment, before, offsets[kind]))
        before = offsets[kind]
    return found


def zone(*shifts: tuple[int, int], start: int = 0) -> ZoneInfo:
    """Return a zone that begins at an offset and changes at epoch seconds to further offsets."""
    offsets = [start, *(offset for _, offset in shifts)]
    moments = [moment for moment, _ in shifts]
    types = b"".join(struct.pack(">lbb", offset, 0, 0) for offset in offsets)

    def block(code: str) -> bytes:
        head = struct.pack(HEADER, 0, 0, 0, len(shifts), len(offsets), 4)
        body = struct.pack(f">{len(shifts)}{code}", *moments) + bytes(range(1, len(offsets)))
        return b"TZif2" + bytes(15) + head + body + types + b"XXX\x00"

    return ZoneInfo.from_file(BytesIO(block("l") + block("q") + b"\n\n"), key="Test/Zone")
