"""The translated schedules as one Python file, whose comments tell what changed."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from tsumugi_celery.control.times import readable, zone_of
from tsumugi_celery.importing.literal import HELPER, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tsumugi_celery.importing.literal import Source
    from tsumugi_celery.importing.translate import Translated

WIDTH = 99

#: What holds for every schedule, whatever it was.
GENERAL = (
    'An unfinished run suppresses the next one; write "overlap": "overlap" where it should not.',
    "Of several missed times the oldest runs once; the rest are counted.",
    "Pauses, last runs and counts of the other beat are not taken over.",
    "django-celery-beat's header periodic_task_name is not sent.",
    "Stop the other beat before this one starts: they know nothing of each other.",
)


def render(translated: Sequence[Translated], source: Source, title: str) -> str:
    """Return the whole file: imports, definitions, and each change above its definition.

    Args:
        translated: in the order in which they are written.
        source: what wrote their values.
        title: what was read, in a few words.
    """
    lines = [f'"""{title}"""', "", *_comment("For every schedule:")]
    for rule in GENERAL:
        lines += _comment(f"- {rule}", hang="  ")
    lines += ["", *source.imports] if source.imports else []
    lines += HELPER.rstrip().splitlines() if source.needs_helper else []
    lines += ["", *([""] if source.needs_helper else []), "schedules = {"]
    for each in translated:
        lines += [f"    {line}" if line else "" for line in _entry(each)]
    return "\n".join([*lines, "}", ""])


def _entry(each: Translated) -> Iterator[str]:
    if each.keys is None:
        yield from _comment(f"not written: {each.found.name}")
    for change in each.changes:
        yield from _comment(f"{change.kind}: {change.text}", hang="  ")
    if each.keys is None:
        return
    yield from _times(each)
    yield f"{quoted(each.found.name)}: {{"
    for key, text in each.keys.items():
        yield f'    "{key}": {text},'
    yield "},"


def _times(each: Translated) -> Iterator[str]:
    zone = zone_of(each.zone)
    if each.before == each.after:
        shown = ", ".join(readable(at, zone) for at in each.after[:1])
        yield from _comment(f"the next {len(each.after)} times are the same; the first: {shown}")
        return
    before = [readable(at, zone) for at in each.before] or ["unknown"]
    after = [readable(at, zone) for at in each.after] or ["none"]
    width = max(map(len, ["before", *before]))
    yield f"# {'before':<{width}}   after"
    for index in range(max(len(before), len(after))):
        left, right = ("".join(side[index : index + 1]) for side in (before, after))
        yield f"# {left:<{width}}   {right}".rstrip()


def _comment(text: str, hang: str = "") -> list[str]:
    # Names and errors are other people's text: a line break in one must not end the comment.
    safe = "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)
    return textwrap.wrap(
        safe, WIDTH - 4, initial_indent="# ", subsequent_indent=f"# {hang}", break_on_hyphens=False
    )
