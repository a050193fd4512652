"""Which version of a view an editor started from.

An editor reads a file, and saves it later. What was written in between is not in its copy, and was not
removed by its author. The journal can render every version that the file showed, so we ask which of
them the copy was made from: one after which nothing of ours is in it.
"""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.state import RESTORED, fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.kernel.stream_write import StreamWrite

# So long an editor may keep a copy. Later, a line that is missing was removed by a person who saw it.
LONGEST_EDIT = 15 * clock.MINUTE
# How many versions back we look.
VERSIONS = 64
# Two lines that begin alike for so much of the shorter one are one line, changed.
ALIKE = 0.7


def state_edited(write: StreamWrite, path: str, text: str, base: Any) -> tuple[Any, Any]:
    """The state that the author of a text was looking at: `base`, which the file showed, or an earlier
    one. And the state that they have seen at least: the one before the longest edit began; None if it is
    not known or of no use."""
    shown = _lines(write.rules.render(base).get(path, ""))
    edited = _lines(text)
    best, fewest = base, len(shown ^ edited)
    if shown <= edited:
        return base, None  # nothing is missing, so nothing can have been removed
    earlier, seen = _earlier(write)
    for state in earlier:
        before = _lines(write.rules.render(state).get(path, ""))
        later, added = shown - before, edited - before - shown
        taken_out = before - shown
        # A trace of what came after: a line of ours, the lack of those that we took out, or a line of
        # ours that was changed. Where some of those that we took out are still there, the editor
        # changed the others, as we did. And who adds nothing has removed something, or checked an
        # older version out.
        if not before or not added or later & edited or (taken_out and not taken_out & edited):
            continue
        if any(_is_changed(line, later, before - edited) for line in added):
            continue
        if len(before ^ edited) < fewest:
            best, fewest = state, len(before ^ edited)
    return best, seen


def _lines(text: str) -> set[str]:
    return {line.strip() for line in text.splitlines()} - {""}


def _is_changed(line: str, later: set[str], gone: set[str]) -> bool:
    """Whether a line looks like one of the later ones with its end changed, and not like one of those
    that are gone."""
    likeness = max((_likeness(line, other) for other in later), default=0)
    return likeness >= ALIKE and likeness > max(
        (_likeness(line, other) for other in gone), default=0
    )


def _likeness(line: str, other: str) -> float:
    """How much of the shorter line both begin with."""
    shorter = min(len(line), len(other))
    pairs = enumerate(zip(line, other, strict=False))
    return next((at for at, (one, two) in pairs if one != two), shorter) / shorter


def _earlier(write: StreamWrite) -> tuple[list[Any], Any]:
    """The states that the stream had within the longest edit, the newest first; and the one at its
    beginning."""
    since = clock.precise(max(0, write.now - LONGEST_EDIT))
    try:
        records = write.journal.read(write.stream, limit=write.version)
    except HoldfastError:
        return [], None
    if not records or (records[0]["version"] != 1 and records[0]["kind"] != RESTORED):
        return [], None
    state, states = write.rules.initial(write.stream), []
    for record in records:
        if record["at"] >= since:
            states.append(state)
        state = fold(write.rules, state, [record])
    return states[: -VERSIONS - 1 : -1], states[0] if states else state
