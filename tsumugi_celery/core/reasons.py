"""How an exception is put into one line for the ledger and the list."""

from __future__ import annotations

#: The longest reason that is kept, in characters.
LONGEST = 2000


def reason(error: BaseException) -> str:
    """Return the type and message of an exception, cut to `LONGEST` characters."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a broken __str__ must not hide the error itself
        text = "(its message cannot be shown)"
    name = type(error).__name__
    whole = f"{name}: {text}" if text else name
    return whole if len(whole) <= LONGEST else whole[: LONGEST - 1] + "…"
