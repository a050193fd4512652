"""A value as what it adds to the value before: most of LangGraph's channels only grow."""

from __future__ import annotations

# Shorter values are stored whole.
SHORTEST = 512
# A list's length stands in its first bytes; what follows is looked for behind them.
HEAD, ANCHOR, REACH = 16, 32, 128
_STEPS = (65536, 8192, 1024, 128, 16, 4, 1)

# How many bytes of the literal come first, which bytes of the old value follow, and how many of its last bytes end it.
Cut = tuple[int, int, int, int]


def find_difference(old: bytes, new: bytes) -> tuple[Cut, bytes] | None:
    """Return how to make `new` of `old` and a literal; None where they have too little in common."""
    if len(old) < SHORTEST or len(new) < SHORTEST:
        return None
    anchor = old[HEAD : HEAD + ANCHOR]
    # Where a length before it takes as many bytes as before, or two or four more; else wherever it is.
    starts = [at for at in (HEAD, HEAD + 2, HEAD + 4) if new.startswith(anchor, at)]
    starts = starts or [at for at in [new.find(anchor, 0, REACH)] if at >= 0]
    if not starts:
        return None
    same, at = max((_count_same(old, HEAD, new, at), at) for at in starts)
    rest = min(len(old) - HEAD - same, len(new) - at - same)
    tail = _count_same_at_end(old, new, rest)
    literal = new[:at] + new[at + same : len(new) - tail]
    return (at, HEAD, HEAD + same, tail), literal


def apply_difference(value: bytearray, cut: Cut, literal: bytes) -> None:
    """Turn the old value into the new one. What both have stays where it is: a long chain of differences costs no
    more than its bytes."""
    head, begin, end, tail = cut
    last = value[len(value) - tail :]
    del value[end:]
    value += literal[head:] + last
    value[:begin] = literal[:head]


def _count_same(old: bytes, at: int, new: bytes, to: int) -> int:
    most, done = min(len(old) - at, len(new) - to), 0
    for step in _STEPS:
        while (
            done + step <= most
            and old[at + done : at + done + step] == new[to + done : to + done + step]
        ):
            done += step
    return done


def _count_same_at_end(old: bytes, new: bytes, most: int) -> int:
    ends, end, done = len(old), len(new), 0
    for step in _STEPS:
        while (
            done + step <= most
            and old[ends - done - step : ends - done] == new[end - done - step : end - done]
        ):
            done += step
    return done
