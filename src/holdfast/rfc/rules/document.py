"""checkpoint.md as a state is written; `parse` reads it again."""

from __future__ import annotations

from holdfast.rfc.rules.words import (
    MOST_GROUP_LINES,
    MOST_LINES,
    heading_of,
    sections_of,
    strictness_of,
    version_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.rfc.rules.words import Group, Meta, RfcState, Section


RULE = "---"
MISSING, UNKNOWN = "missing", "unknown"
HASH_LENGTH = 8


def write(state: RfcState) -> str:
    """The checkpoint's text. Blank lines give way where the budget needs them."""
    airy = _lines(state, compact=False)
    lines = airy if len(airy) <= MOST_LINES else _lines(state, compact=True)
    return "\n".join(lines) + "\n"


def count(state: RfcState) -> int:
    """How many physical lines the checkpoint needs at the least."""
    return len(_lines(state, compact=True))


def group_lines(group: Group, *, compact: bool) -> list[str]:
    """A group from its heading to before the next rule."""
    air = [] if compact else [""]
    lines = [f"## {heading_of(group['key'])}", *air]
    for section in group["sections"]:
        lines += [f"### {section['title']}", *(f"- {one}" for one in section["bullets"]), *air]
    return lines


def _lines(state: RfcState, *, compact: bool) -> list[str]:
    air = [] if compact else [""]
    lines = [f"# Checkpoint: {state['id']}", *air, "## Meta", *_meta(state), *air]
    for group in state["groups"]:
        body = group_lines(group, compact=compact)
        if len(body) > MOST_GROUP_LINES:
            body = group_lines(group, compact=True)
        lines += [RULE, *air, *body]
    for extra in state["extra"]:
        lines += [RULE, *air, f"## {extra['title']}", *extra["lines"], *air]
    while not lines[-1]:
        lines.pop()
    return lines


def _meta(state: RfcState) -> list[str]:
    meta, fields = state["meta"], state["fields"]
    return [
        f"- checkpoint_version: {version_of(fields)}",
        f"- last_phase: {meta['last_phase']}",
        f"- strictness: {strictness_of(fields).capitalize()}",
        f"- artifact_state: {artifact_state(meta)}",
        *(f"- {line}" for line in meta["extra"]),
    ]


def artifact_state(meta: Meta) -> str:
    """`rfc.md(1a2b3c4d), evidence(4 items), gate_b_round=1`"""
    artifacts = meta["artifacts"]
    items = UNKNOWN if artifacts["evidence"] < 0 else artifacts["evidence"]
    rfc = artifacts["rfc"] or MISSING
    return f"rfc.md({rfc}), evidence({items} items), gate_b_round={meta['round']}"


def bullets_of(group: Group, title: str) -> list[str]:
    for section in group["sections"]:
        if section["title"] == title:
            return section["bullets"]
    return []


def in_order(key: str, sections: list[Section]) -> list[Section]:
    """The protocol's sections in its order, all of them, then those that are not its own."""
    given = {section["title"]: section for section in sections}
    ours: list[Section] = [
        given.get(title, {"title": title, "bullets": []}) for title in sections_of(key)
    ]
    return [*ours, *(one for one in sections if one["title"] not in sections_of(key))]
