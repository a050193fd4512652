"""What was observed, as records keep it: only what changed since the record before."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
