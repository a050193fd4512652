"""A gate as the protocol shows it, in Markdown. Every text of an agent stands behind a word of ours,
on one line, without control characters: it cannot look like an answer or like another gate."""

from __future__ import annotations

from holdfast.gates.rules.content import ACTION, DECISION, PREFIX, VERIFY, flat, listed
from holdfast.kernel.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.gates.rules.content import Content

LIGHTS = {VERIFY: "🟢", DECISION: "🟡", ACTION: "🔴"}


def render(content: Content) -> str:
    """The protocol's own form; a part that is not there is left out."""
    write = {VERIFY: _verify, DECISION: _decision, ACTION: _action}[content["type"]]
    head = f"{LIGHTS[content['type']]} {PREFIX}{content['type']}"
    return "\n".join([head, "", *write(content)])


def inert(text: str) -> str:
    """An agent's text for one line of ours."""
    return safe(flat(text))


def _verify(content: Content) -> Iterator[str]:
    yield f"## Built: {inert(content['title'])}"
    yield ""
    if content["url"]:
        yield f"**Server running:** {inert(content['url'])}"
        yield ""
    yield "### Please verify:"
    for number, item in enumerate(content["items"], 1):
        yield f"{number}. ✅ {inert(item)}"
    yield ""
    yield f"**Resume:** {inert(content['signal'])}"


def _decision(content: Content) -> Iterator[str]:
    yield f"## Decision Required: {inert(content['title'])}"
    yield ""
    if content["context"]:
        yield f"**Context:** {inert(content['context'])}"
        yield ""
    yield "| Option | Pros | Cons |"
    yield "|--------|------|------|"
    for option in content["options"]:
        name = f"**{_cell(option['name'])}**"
        if not _words(option["id"]) <= _words(option["name"]):
            name += f" ({_cell(option['id'])})"  # or nobody knows which one they select
        yield f"| {name} | {_cell(option['pros'])} | {_cell(option['cons'])} |"
    yield ""
    yield f"**Select:** {inert(listed([option['id'] for option in content['options']]))}"


def _action(content: Content) -> Iterator[str]:
    yield f"## Manual Step Required: {inert(content['title'])}"
    yield ""
    yield f"**Why manual:** {inert(content['why'])}"
    yield ""
    yield "### Instructions:"
    for number, item in enumerate(content["items"], 1):
        yield f"{number}. {inert(item)}"
    yield ""
    yield f"**Resume:** {inert(content['signal'])}"


def _cell(text: str) -> str:
    return inert(text).replace("\\", "\\\\").replace("|", "\\|")


def _words(text: str) -> set[str]:
    plain = "".join(letter if letter.isalnum() else " " for letter in text.casefold())
    return set(plain.split())
