"""The tool `find`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from holdfast.clients.table import title_of
from holdfast.kernel.errors import Usage
from holdfast.kernel.text import one_line, safe
from holdfast.mcp.call import ToolAnswer, ToolCall, tool
from holdfast.memory.cli import WHAT
from holdfast.memory.find import Finding, FindRequest
from holdfast.memory.find import find as find_sessions
from holdfast.memory.why import UNKNOWN, Reasons, split_place, why

MOST_HITS, LONGEST = 5, 160


def find(
    call: ToolCall,
    question: Annotated[str | None, Field(description="Words, any order.")] = None,
    file: Annotated[str | None, Field(description="PATH[:LINE]: who wrote it, why.")] = None,
) -> ToolAnswer:
    """Search past sessions of this repository before you investigate anew: what was asked, decided,
    tried, what failed."""
    if question and question.strip():
        request = FindRequest(question, call.folder, file=file or "", is_here=True, limit=MOST_HITS)
        found = find_sessions(request)
        return ToolAnswer(
            [*_hits(found)], {**found}, next=[one["open"] for one in found["hits"][:1]]
        )
    if not file:
        raise Usage("question is missing.", hint="Give the argument question, or file.")
    reasons = why(split_place(file, call.folder))
    return ToolAnswer([*_reasons(reasons)], {**reasons})


def _hits(found: Finding) -> Iterator[str]:
    if not found["hits"]:
        yield f"No session fits, of {found['sessions']}."
    for hit in found["hits"]:
        yield f"{hit['day']} {title_of(hit['client'])} {hit['session']}: {_short(hit['request'])}"
        for line in hit["lines"]:
            yield f"  {WHAT[line['what']]}: {_short(line['text'])}"
        changed = [f"{one['path']} ({one['state']} since)" for one in hit["files"]]
        if changed:
            yield f"  files: {_short(', '.join(changed))}"


def _reasons(found: Reasons) -> Iterator[str]:
    if not found["writers"]:
        yield f"{found['path']}: {UNKNOWN}."
    for one in found["writers"]:
        yield f"{one['day']} {title_of(one['client'])} {one['session']}: {_short(one['request'])}"
        for word, texts in (
            ("ruled", one["rulings"]),
            ("passed", one["checks"]),
            ("failing", one["failing"]),
        ):
            yield from (f"  {word}: {_short(text)}" for text in texts)


def _short(text: str) -> str:
    return one_line(safe(text), LONGEST)


TOOLS = [tool(find, reads_only=True)]
