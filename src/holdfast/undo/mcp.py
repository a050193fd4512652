"""The tool `undo`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.cli.terminal import unstyle
from holdfast.kernel.errors import Conflict
from holdfast.kernel.text import plural, quote
from holdfast.mcp.call import ToolAnswer, ToolCall, tool
from holdfast.undo import attention
from holdfast.undo.cli import has_changes, list_lines, report_lines
from holdfast.undo.operations import UndoRequest, list_prompts, preview

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_PROMPTS, MOST_LINES, LONGEST = 10, 30, 160
BY_A_PERSON = "Nothing was changed. Only a person carries it out, in a terminal of their own"


def undo(call: ToolCall, back: int | None = None, redo: bool = False) -> ToolAnswer:
    """List prompts with their changes; preview undoing the last ones (`back`: how many), or a redo. Only a
    person carries it out."""
    call.refuse_stopped()
    workspace = call.workspace
    for unfinished in attention.find(workspace, call.now):
        # A preview finishes it, and so writes to the work tree.
        raise Conflict(f"{unfinished.what}.", hint=f"Ask your user to run: {unfinished.next}")
    if back is None and not redo:
        rows = list_prompts(workspace)[:MOST_PROMPTS]
        lines = _shorten(list_lines(rows, call.now))
        return ToolAnswer([*lines, f"{BY_A_PERSON}: holdfast undo N"], {"prompts": rows})
    found = preview(workspace, UndoRequest(back=back or 0, redo=redo), now=call.now)
    lines = _shorten(report_lines(found, call.now))
    if has_changes(found):
        command = "holdfast redo" if redo else f"holdfast undo {quote(str(back))}"
        lines.append(f"{BY_A_PERSON}: {command}")
    return ToolAnswer(lines, {**found})


def _shorten(lines: Iterable[str]) -> list[str]:
    found = [unstyle(line)[:LONGEST] for line in lines]
    more = len(found) - MOST_LINES
    return [*found[:MOST_LINES], *([f"and {plural(more, 'line')} more"] if more > 0 else [])]


TOOLS = [tool(undo, reads_only=True)]
