"""state.json: the keys of its schema (v2), their valid values, and the repair after a crash."""

from __future__ import annotations

from holdfast.kernel import canonical_json
from holdfast.kernel.text import harmless_json, split_words
from holdfast.rfc.rules.model import (
    DESIGN,
    LARGEST_COUNT,
    MAX_ROUNDS,
    PHASES,
    REVIEWERS,
    STRICTNESS,
    phase_of,
    round_of,
    version_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from holdfast.rfc.rules.model import Meta

SCHEMA_VERSION = "v2"
TEMPLATE_ID, TEMPLATE_VERSION = "rfc_template_os_service", "2026-02-09"
# In the order of the file. Holdfast keeps keys that others added, and adds none itself.
KEYS = split_words(
    "schema_version rfc_id current_phase strictness template_id template_version template_ref "
    "created_at updated_at gate_a_result gate_b_round gate_b_max_rounds gate_b_result "
    "reviewer_count upgrade_triggers baseline_accepted checkpoint_version last_checkpoint_phase "
    "sub_step_progress detour_count rejection_count gate_b_mode reviewer_dispatch "
    "web_search_enabled"
)
REQUIRED = tuple(key for key in KEYS[:9] if key != "template_ref")
COUNTS = split_words(
    "gate_b_round gate_b_max_rounds reviewer_count checkpoint_version detour_count rejection_count"
)
# Step 0 of the bootstrap needs these; RFC-41.
CONFIRMED = ("current_phase", "gate_b_round", "strictness", "checkpoint_version")


def first_fields(id: str, strictness: str, at: str) -> dict[str, Any]:
    """The fields of a new RFC."""
    return {
        "schema_version": SCHEMA_VERSION,
        "rfc_id": id,
        "current_phase": "discover",
        "strictness": strictness,
        "template_id": TEMPLATE_ID,
        "template_version": TEMPLATE_VERSION,
        "created_at": at,
        "updated_at": at,
        "gate_a_result": None,
        "gate_b_round": 0,
        "gate_b_max_rounds": MAX_ROUNDS[strictness],
        "gate_b_result": None,
        "reviewer_count": REVIEWERS[strictness],
        "upgrade_triggers": [],
        "baseline_accepted": False,
        "checkpoint_version": 0,
        "last_checkpoint_phase": None,
        "sub_step_progress": None,
        "detour_count": 0,
        "rejection_count": 0,
        "gate_b_mode": None,
        "reviewer_dispatch": {},
        "web_search_enabled": False,
    }


def write(fields: Mapping[str, Any]) -> str:
    """The text of state.json. Equal fields give equal texts."""
    import json  # here, because a session's start hook loads this module

    known = [key for key in KEYS if key in fields]
    others = sorted(key for key in fields if key not in KEYS)
    ordered = {key: fields[key] for key in [*known, *others]}
    return harmless_json(json.dumps(ordered, ensure_ascii=False, indent=2)) + "\n"


def read(text: str) -> dict[str, Any]:
    """Return the fields of a state.json. ValueError says what is wrong."""
    value = canonical_json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    for key, problem in problems(value):
        raise ValueError(f"{key}: {problem}")
    return value


def problems(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Invalid values: the key, and what is wrong with it."""
    found: list[tuple[str, str]] = []
    phase, strictness = fields.get("current_phase"), fields.get("strictness")
    if "current_phase" in fields and phase not in PHASES:
        found.append(("current_phase", f"{phase!r:.60} is not one of {', '.join(PHASES)}"))
    if "strictness" in fields and (
        not isinstance(strictness, str) or strictness.lower() not in STRICTNESS
    ):
        found.append(("strictness", f"{strictness!r:.60} is not one of {', '.join(STRICTNESS)}"))
    for key in COUNTS:
        value = fields.get(key, 0)
        if type(value) is not int or not 0 <= value <= LARGEST_COUNT:
            found.append((key, f"{value!r:.60} is no whole number from 0 on"))
    if not isinstance(fields.get("baseline_accepted", False), bool):
        found.append(("baseline_accepted", "is neither true nor false"))
    return found


def shortcomings(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return missing keys, and keys that the schema does not define. A file that names no schema needs only
    what the protocol asks for."""
    needed = REQUIRED if "schema_version" in fields else CONFIRMED
    found = [(key, "is missing") for key in needed if key not in fields]
    found += [(key, "is no key of the schema") for key in sorted(fields) if key not in KEYS]
    if fields.get("schema_version", SCHEMA_VERSION) != SCHEMA_VERSION:
        found.append(("schema_version", f"is not {SCHEMA_VERSION}"))
    return found


def merge(fields: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with changes. The version never decreases, in either order of the two files."""
    version = max(version_of({**fields}), version_of({**changes}))
    after = {**fields, **changes}
    return {**after, "checkpoint_version": version} if "checkpoint_version" in after else after


def repair(fields: Mapping[str, Any], version: int, meta: Meta) -> dict[str, Any]:
    """state.json as an interrupted write would have left it; checkpoint.md is written first."""
    last = meta["last_phase"]
    return {
        **fields,
        "checkpoint_version": version,
        "last_checkpoint_phase": phase_of(last),
        "current_phase": "gate_a" if last == DESIGN else "design",
        "gate_b_round": max(round_of(last), meta["round"]),
    }


def is_apart(file: int, state: int) -> bool:
    """Whether checkpoint.md and state.json cannot come from one write, not even an interrupted one."""
    return file not in (state, state + 1)
