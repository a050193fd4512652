"""Two edits of one message file, brought together message by message.

Line by line would not do: two messages that came in at the same place share lines, such as
`**Acknowledge:** No action needed`, and would be woven into one.
"""

from __future__ import annotations

from holdfast.fleet.rules.merge import merged as merged_lines
from holdfast.fleet.rules.messages import NO_MESSAGES, READ, UNREAD, insert, split

TYPE_CHECKING = False
if TYPE_CHECKING:
    # How a message begins, without its mark, and which of those that begin so, counted from below.
    Key = tuple[str, int]


def merged(base: str, ours: str, theirs: str) -> str:
    """Both sides' messages, marks and other text. `base` is what they were looking at."""
    if theirs in (base, ours):
        return ours
    if ours == base:
        return theirs
    above, blocks = zip(*(split(text) for text in (base, ours, theirs)), strict=True)
    shared = {heading for each in blocks for heading in _more_than_once(each)}
    kept = _merged_blocks(*(_keyed(each, shared) for each in blocks))
    if not kept:
        return merged_lines(*above)
    lasts = [each[-1] for each in blocks[1:] if each]
    pieces = [merged_lines(*map(_without_placeholder, above)), *kept]
    spaced = [_ended(piece, apart=piece in lasts) for piece in pieces[:-1]]
    return "".join(spaced) + pieces[-1]


def with_unread(known: str, text: str) -> str:
    """The text, with the unread messages that it lacks put back on top.

    A shell that had read the file before a message came in writes it back without that message, which
    nobody took out; what was read may go.
    """
    there = split(text)[1]
    lost = [block for block in split(known)[1] if UNREAD in block and not _is_in(block, there)]
    for block in reversed(lost):
        text = insert(text, block.rstrip("\n") + "\n")
    return text


def _is_in(block: str, others: list[str]) -> bool:
    """Whether a message is among others: edited below its subject, or half written when we saw it."""
    return any(_begin(other, 2) == _begin(block, 2) or _grew(block, other) for other in others)


def _grew(block: str, other: str) -> bool:
    """Whether a message is the other's beginning: a shell writes line by line."""
    return _all_read(other).rstrip().startswith(_all_read(block).rstrip())


def _without_placeholder(above: str) -> str:
    return above.replace(f"{NO_MESSAGES}\n", "", 1)


def _ended(piece: str, *, apart: bool) -> str:
    """A piece that others follow now; one that was the last of its file had no blank line below."""
    if not piece:
        return piece
    ended = piece if piece.endswith("\n") else f"{piece}\n"
    return f"{ended}\n" if apart and not ended.endswith("\n\n") else ended


def _more_than_once(blocks: list[str]) -> set[str]:
    seen: set[str] = set()
    twice: set[str] = set()
    for block in blocks:
        heading = _begin(block, 1)
        (twice if heading in seen else seen).add(heading)
    return twice


def _keyed(blocks: list[str], shared: set[str]) -> dict[Key, str]:
    """The messages by their headings; by their subjects too, where two have the same heading."""
    seen: dict[str, int] = {}
    keyed: dict[Key, str] = {}
    for block in reversed(blocks):
        begin = _begin(block, 1)
        if begin in shared:
            begin = _begin(block, 2)
        seen[begin] = seen.get(begin, 0) + 1
        keyed[begin, seen[begin]] = block
    return dict(reversed(keyed.items()))


def _begin(block: str, lines: int) -> str:
    return _all_read("\n".join(block.split("\n", lines)[:lines]))


def _all_read(text: str) -> str:
    return text.replace(UNREAD, READ)


def _merged_blocks(base: dict[Key, str], ours: dict[Key, str], theirs: dict[Key, str]) -> list[str]:
    keys: list[Key | None] = []
    result: list[str] = []
    new = [block for key, block in theirs.items() if key not in base]
    for key, mine in ours.items():
        before, other = base.get(key), theirs.get(key)
        if before is not None and other is None and _all_read(mine) == _all_read(before):
            continue  # they took it out
        if before is None and other is None and any(_grew(mine, each) for each in new):
            continue  # it is whole now
        if other is not None and (before is not None or _grew(mine, other) or _grew(other, mine)):
            keys.append(key)
            result.append(_merged_block(before or "", mine, other))
        else:
            keys.append(None if other is not None else key)
            result.append(mine)
    below = len(result)
    for key, other in reversed(theirs.items()):
        before = base.get(key)
        if key in keys:
            below = keys.index(key)
        elif before is None or (key not in ours and _all_read(other) != _all_read(before)):
            keys.insert(below, key)
            result.insert(below, other)
    return result


def _merged_block(base: str, ours: str, theirs: str) -> str:
    """One message that both sides may have changed; once read is read."""
    if theirs in (base, ours):
        return ours
    if ours == base:
        return theirs
    if not (UNREAD in ours and UNREAD in theirs) and (not base or UNREAD in base):
        base, ours, theirs = _all_read(base), _all_read(ours), _all_read(theirs)
    return merged_lines(base, ours, theirs)
