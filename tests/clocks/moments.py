"""Moments as they are written in the scenarios."""

from datetime import datetime


def ms(text: str) -> int:
    """Epoch ms of an ISO time with its zone."""
    return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)
