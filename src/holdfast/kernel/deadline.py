"""How long this process may wait for another program: a client waits for its hook."""

from __future__ import annotations

_longest: list[float] = []


def bound(seconds: float) -> None:
    """Wait for no program longer than this from here on; 0 takes the bound away."""
    _longest[:] = [seconds] if seconds else []


def within(seconds: float) -> float:
    """Return how long to wait for a program that may take these seconds."""
    return min(seconds, *_longest) if _longest else seconds
