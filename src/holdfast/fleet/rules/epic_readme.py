"""Edits of EPIC_README.md: which of them follow from an agent's updates, and what each makes of the text.

Each edit changes one line or one section, and keeps the rest byte for byte.

The text keeps its line ends, and bytes that are no UTF-8 as surrogates. Every edit is idempotent, so that
it can be repeated after an edit of another program.
"""

from __future__ import annotations

from holdfast.fleet.rules.model import EPIC_README, readme_key, short_of
from holdfast.fleet.rules.updates import TOLD, was_stale
from holdfast.kernel.merge import join_lines, lines_of, newline_of
from holdfast.kernel.text import harmless, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.fleet.rules.model import AgentState
    from holdfast.kernel.rules import Wish

STALE_AGENTS = "Stale agents"
DEFERRED = "Deferred to Wave 2"


def mark_stale(text: str, agent: str, gone: bool = False) -> str:
    """`Secondary-A: STALE (likely crashed)` in the area of stale agents; `gone` takes that line out,
    because the agent is back. FLEET-56, AMB-FLEET-25"""
    line = "" if gone else f"{agent}: STALE (likely crashed)"
    return _set_line(text, STALE_AGENTS, f"{agent}: STALE", line)


def mark_deferred(text: str, agent: str, feature: str) -> str:
    """The line about a feature that waits for Wave 2."""
    line = f"{_one_line(feature)}: deferred to Wave 2 (was {agent}'s)"
    return _set_line(text, DEFERRED, f"{_one_line(feature)}: deferred", line)


def write_progress(text: str, agent: str, lines: Sequence[str]) -> str:
    """The agent's own section, between its two marks."""
    name = short_of(agent).upper()
    begin, end = (f"<!-- {word} {name} PROGRESS -->" for word in ("BEGIN", "END"))
    newline = newline_of(text)
    section = [f"{_one_line(line).replace('<!--', '<! --')}{newline}" for line in lines]
    existing = lines_of(text)
    opening = _find(existing, begin)
    if opening < 0:
        section = [f"{begin}{newline}", *section, f"{end}{newline}"]
        return join_lines([*_with_blank_end(existing, newline), *section], newline)
    closing = _find(existing, end, opening)
    if closing < 0:  # its end is unknown: the text below stays
        section.append(f"{end}{newline}")
        closing = opening + 1
    return join_lines([*existing[: opening + 1], *section, *existing[closing:]], newline)


def _set_line(text: str, title: str, beginning: str, line: str) -> str:
    """The text with one line in the area under a heading: added, replaced, or without a line removed."""
    newline = newline_of(text)
    lines = lines_of(text)
    start = next((at for at, each in enumerate(lines) if _is_heading(each, title)), -1)
    if start < 0:
        if not line:
            return text
        area = [f"## {title}{newline}", newline, f"{line}{newline}"]
        return join_lines([*_with_blank_end(lines, newline), *area], newline)
    end = next(
        (at for at in range(start + 1, len(lines)) if lines[at].startswith(("#", "<!--", "---"))),
        len(lines),
    )
    area = lines[start + 1 : end]
    own = [at for at, each in enumerate(area) if each.removeprefix("- ").startswith(beginning)]
    if own:
        area = [each for at, each in enumerate(area) if at not in own[1:]]
        area[own[0] : own[0] + 1] = [f"{line}{newline}"] if line else []
    elif line:
        last = max((at for at, each in enumerate(area) if each.strip()), default=-1)
        if last >= 0:
            area.insert(last + 1, f"{line}{newline}")
        else:
            area = [newline, f"{line}{newline}", *area]
    if own or line:
        lines[start + 1 : end] = area
    return join_lines(lines, newline)


def _is_heading(line: str, title: str) -> bool:
    return line.startswith("#") and line.lstrip("#").strip().lower() == title.lower()


def _find(lines: list[str], mark: str, start: int = 0) -> int:
    return next((at for at in range(start, len(lines)) if lines[at].strip() == mark), -1)


def _with_blank_end(lines: list[str], newline: str) -> list[str]:
    """The lines, and a blank one below them, unless there is nothing or one already."""
    return [*lines, newline] if lines and lines[-1].strip() else lines


def _one_line(text: str) -> str:
    return harmless(one_line(text))


# Which edits follow from an update


def edits_of_update(
    state: AgentState, command: Any, checkpoint: dict[str, Any], now: int
) -> list[Wish]:
    """The agent's own section, and the removal of its line among the stale agents once it is back."""
    wishes = [_wish(state, command, "recovered")] if was_stale(state, now) else []
    if command["do"] in TOLD:
        lines = [
            f"**Feature:** {checkpoint['feature']}",
            f"**Stage:** {checkpoint['stage']} ({checkpoint['phase']})",
            f"**Status:** {checkpoint['status']}",
            f"**Current step:** {checkpoint['current_step']}",
            f"**Blockers:** {'; '.join(checkpoint['blockers']) or 'none'}",
            f"**Updated:** {checkpoint['last_checkpoint']}",
        ]
        wishes.append(_wish(state, command, "progress", lines=lines))
    return wishes


def edits_of_ending(state: AgentState, command: Any) -> list[Wish]:
    """A life that ended is not stale any more; its feature may wait for Wave 2."""
    how = command["how"].replace("_", " ")
    by = f" by {command['by']}" if command["by"] else ""
    wishes = [
        _wish(state, command, "recovered"),
        _wish(state, command, "progress", lines=[f"**Status:** {how}{by}"]),
    ]
    if command["how"] == "deferred":
        feature = (state["checkpoint"] or {}).get("feature", "")
        wishes.append(_wish(state, command, "deferred", feature=feature))
    return wishes


def _wish(state: AgentState, command: Any, change: str, **more: Any) -> Wish:
    session = str((state["checkpoint"] or {}).get("session_id", ""))
    readme = command["readme"]
    body = {
        "change": change,
        "agent": state["agent"],
        "holder": state["agent"],
        "session": session,
        # A command of an earlier version does not say whose file it means: the agent's own.
        "worktree": readme if isinstance(readme, str) else state["worktree"],
        **more,
    }
    return {
        "kind": EPIC_README,
        "key": readme_key(state["folder"], state["agent"], change),
        "body": body,
    }
