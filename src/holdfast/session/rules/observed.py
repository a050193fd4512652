"""What was observed: how records keep it, and which failures may have been mended since."""

from __future__ import annotations

from holdfast.kernel.patterns import compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# So many calls after a failure it may have been mended without an edit that was seen.
LONGEST_STILL = 20
# Lines of an error that say only that there is one, and words of those that say more.
_BARE = compile_later(
    r"FAIL|PASS|exit status \d+|[\W_]*|Ran \d+ tests? in .*|FAILED \((?:(?:failures|errors)=\d+[, ]*)+\)"
)
_SAYS_WHY = compile_later(
    r"(?i)error|undefined|expected|assert|panic|--- fail|cannot|not found|denied"
)


def difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What turns `before` into `after`. Tables are compared member by member, other values as one."""
    put: dict[str, Any] = {}
    members: dict[str, Any] = {}
    for name, value in after.items():
        old = before.get(name)
        if old == value:
            continue
        if isinstance(value, dict) and isinstance(old, dict):
            members[name] = {
                "put": {key: one for key, one in value.items() if old.get(key) != one},
                "drop": [key for key in old if key not in value],
            }
        else:
            put[name] = value
    change: dict[str, Any] = {}
    if put:
        change["put"] = put
    if members:
        change["members"] = members
    return change


def changed_by(before: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """`before` with a difference applied. Neither argument is modified."""
    after = {**before, **change.get("put", {})}
    for name, member in change.get("members", {}).items():
        dropped = set(member["drop"])
        old = before.get(name) or {}
        after[name] = {
            **{key: one for key, one in old.items() if key not in dropped},
            **member["put"],
        }
    return after


def edits_since(seen: Any, failure: Any) -> int:
    """How many edits came after a failure. An older observation does not say."""
    return max(0, int(seen["edits"] - failure.get("edits", seen["edits"])))


def is_stale(seen: Any, failure: Any) -> bool:
    """Whether a failure may have been mended: after an edit, many calls, or a run whose end is
    not known."""
    calls = seen["calls"] - failure["call"]
    return edits_since(seen, failure) > 0 or calls > LONGEST_STILL or "again" in failure


def telling_lines(lines: list[str], most: int) -> list[str]:
    """The last lines of an error; where only one is shown, the last that says what is wrong."""
    lines = [line for line in lines if not _BARE.fullmatch(line)] or lines
    wrong = [line for line in lines if _SAYS_WHY.search(line)]
    return wrong[-1:] if most == 1 and wrong else lines[-most:]
