"""Changes of a document, small enough to be records: members put, items added, a key cut."""

from __future__ import annotations

from holdfast.kernel import canonical_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from holdfast.loop.rules.model import Path

    # ["put", path, members], ["set", path, value], ["add", path, items] or ["cut", path]
    Change = list[Any]

PUT, SET, ADD, CUT = "put", "set", "add", "cut"
# Lists that would take longer than this to compare are replaced as a whole.
MOST_COMPARISONS = 1_000_000


def apply(document: Any, changes: Iterable[Change]) -> Any:
    """The document after the changes; the given one stays as it is."""
    top = {"": document}
    # The objects that were copied already, kept so that no other can get their identity.
    fresh: dict[int, Any] = {id(top): top}
    for kind, path, *given in changes:
        place = _holder_of(top, path, kind, fresh)
        if place is None:
            continue
        holder, key = place
        if kind == CUT:
            del holder[key]
        elif kind == SET:
            holder[key] = given[0]
        else:
            held = holder[key] if isinstance(key, int) else holder.get(key)
            if kind == PUT:
                _own(holder, key, held if isinstance(held, dict) else {}, fresh).update(given[0])
            else:
                holder[key] = _added(held, given[0])
    return top[""]


def _holder_of(
    top: Any, path: Sequence[str | int], kind: str, fresh: dict[int, Any]
) -> tuple[Any, Any] | None:
    """What holds the place of a change, copied and free to be changed, and the key in it; None for
    what is not there to be cut, and for an item that no list has."""
    holder: Any = top
    at: str | int = ""
    for key in path:
        value = holder[at] if isinstance(at, int) else holder.get(at)
        if isinstance(value, list) and isinstance(key, int):
            if key >= len(value):
                return None
        elif not isinstance(value, dict):
            value = {}
        if kind == CUT and isinstance(value, dict) and key not in value:
            return None
        holder, at = _own(holder, at, value, fresh), key
    return holder, at


def _own(holder: Any, key: Any, value: Any, fresh: dict[int, Any]) -> Any:
    """The value at a place as a copy that may be changed; the same again for the next change."""
    if id(value) not in fresh:
        value = value.copy()
        fresh[id(value)] = value
        holder[key] = value
    return value


def _added(value: Any, items: Sequence[Any]) -> list[Any]:
    known = value if isinstance(value, list) else []
    return [*known, *(item for item in items if item not in known)]


def difference(before: Any, after: Any, path: Path | None = None) -> list[Change]:
    """What makes the one into the other, key by key, so that changes of two writers can be joined."""
    place = path or []
    if before == after and type(before) is type(after) and not isinstance(after, (dict, list)):
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        changes: list[Change] = []
        for key, value in after.items():
            if key in before:
                changes += difference(before[key], value, [*place, key])
            else:
                changes.append([SET, [*place, key], value])
        return changes + [[CUT, [*place, key]] for key in before if key not in after]
    if isinstance(before, list) and isinstance(after, list):
        return _of_lists(before, after, place)
    return [[SET, place, after]]


def _of_lists(before: list[Any], after: list[Any], place: Path) -> list[Change]:
    if len(after) == len(before):
        changes: list[Change] = []
        for position, (old, new) in enumerate(zip(before, after, strict=True)):
            changes += difference(old, new, [*place, position])
        return changes
    more = after[len(before) :]
    few = len(more) * len(before) <= MOST_COMPARISONS
    if few and after[: len(before)] == before and not any(item in before for item in more):
        return [[ADD, place, more]]
    return [[SET, place, after]]


def joined(ours: Any, base: Any, theirs: Any) -> list[Change]:
    """What somebody changed in the text they saw, as far as it is not so already."""
    return [change for change in difference(base, theirs) if not _holds(ours, change)]


def _holds(value: Any, change: Change) -> bool:
    """Whether a change would change nothing."""
    there = _is_there(value, change[1])
    if change[0] == CUT or not there:
        return change[0] == CUT and not there
    held = _at(value, change[1])
    if change[0] == ADD:
        return isinstance(held, list) and all(item in held for item in change[2])
    # As texts: 1, 1.0 and True are equal in Python, and not in JSON.
    return canonical_json.dumps(held) == canonical_json.dumps(change[2])


def joined_unseen(ours: Any, theirs: Any, *, theirs_is_newer: bool) -> list[Change]:
    """The same for a file that we never wrote: nothing in it counts as cut, and where the two
    disagree, the newer one is right."""
    changes = [change for change in difference(ours, theirs) if change[0] != CUT]
    if theirs_is_newer:
        return changes
    return [change for change in changes if change[0] == SET and not _is_there(ours, change[1])]


def _is_there(value: Any, path: Sequence[str | int]) -> bool:
    for key in path:
        in_list = isinstance(value, list) and isinstance(key, int) and key < len(value)
        if not in_list and not (isinstance(value, dict) and key in value):
            return False
        value = value[key]
    return True


def _at(value: Any, path: Sequence[str | int]) -> Any:
    for key in path:
        value = value[key]
    return value
