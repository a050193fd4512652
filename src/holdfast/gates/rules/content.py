"""What a gate asks, how it is shown, and what an answer means.

A gate is one of three kinds of checkpoint, in plain data. `render` shows it in Markdown: every text of an
agent stands behind a word of ours, on one line, without control characters, so that it cannot look like an
answer or like another gate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypedDict

from holdfast.kernel.blank import blank
from holdfast.kernel.errors import Usage
from holdfast.kernel.text import one_line, safe, split_words


class GateOption(TypedDict):
    """One way to decide. Of the short form only the name is known."""

    id: str
    name: str
    pros: str
    cons: str


class Content(TypedDict):
    """A checkpoint. `title` is what was built, what is to be decided, or what is to be done."""

    type: str
    title: str
    url: str
    items: list[str]
    context: str
    options: list[GateOption]
    why: str
    cause: str
    checklist: dict[str, bool]
    signal: str
    purpose: str


class GateAnswer(TypedDict):
    """What was answered. Without a person, the gate's own time ran out. `saw` is what the person
    had before them."""

    verdict: Literal["yes", "no"]
    answer: str
    text: str
    person: dict[str, str] | None
    saw: str
    at: str


VERIFY, DECISION, ACTION = "human-verify", "decision", "human-action"
TYPES = (VERIFY, DECISION, ACTION)
PREFIX = "checkpoint:"
OPTION_PARTS = ("id", "name", "pros", "cons")
# How often each kind is to be expected, in percent; PILOT-03.
EXPECTED = {VERIFY: 90, DECISION: 9, ACTION: 1}
# What each kind is good for.
VERIFY_PURPOSES = ("visual", "interactive", "functional")
DECISION_PURPOSES = ("technology", "architecture", "design", "business")
# The only causes of a manual step; PILOT-20.
CAUSES = {
    "email": "Email verification clicks",
    "payment": "3D Secure / MFA in payment flow",
    "oauth": "OAuth consent screens in browser",
    "hardware": "Physical hardware interaction",
    "captcha": "Captcha solving",
}
# The automation-first checklist; PILOT-25.
QUESTIONS = {
    "cli": "Can I do this with a CLI command?",
    "api": "Can I do this with an API call?",
    "file": "Can I do this by editing a file?",
    "server": "Can I start/stop a server myself?",
    "data": "Can I create test data myself?",
    "script": "Can I run a script for this?",
}
VERIFY_SIGNAL = 'Type "approved" or describe issues'
ACTION_SIGNAL = 'Type "done" when verified'
APPROVED, DONE = "approved", "done"
# A line of these words and an address tells a person nothing that the address does not.
LEAD_WORDS = frozenset(
    split_words("visit open see go to at browse look and then please verify check that")
)
LIGHTS = {VERIFY: "🟢", DECISION: "🟡", ACTION: "🔴"}


def verify(
    built: str, how: Sequence[str], *, url: str = "", signal: str = "", purpose: str = ""
) -> Content:
    """What a person is asked to look at. The address is the first in `how`, else in `built`;
    AMB-PILOT-38."""
    items = [item for text in how for item in items_of(text)]
    found = url or next((one for text in [*how, built] if (one := first_url(text))), "")
    signal, items = one_line(signal) or VERIFY_SIGNAL, _drop_lead(items, found)
    return _make(VERIFY, built, url=one_line(found), items=items, signal=signal, purpose=purpose)


def decision(
    title: str,
    options: Sequence[GateOption],
    *,
    context: str = "",
    signal: str = "",
    purpose: str = "",
) -> Content:
    """What a person is asked to choose."""
    for number, one in enumerate(options):
        _refuse_no_option(one, f"options[{number}]")
    clean = [{name: one_line(one[name]) for name in OPTION_PARTS} for one in options]  # type: ignore[literal-required]
    signal = one_line(signal) or f"Select: {join_ids([one['id'] for one in clean])}"
    context = one_line(context)
    return _make(DECISION, title, options=clean, context=context, signal=signal, purpose=purpose)


def _refuse_no_option(one: Any, where: str) -> None:
    example = '{"id": "pg", "name": "PostgreSQL", "pros": "...", "cons": "..."}'
    if not isinstance(one, dict):
        raise Usage(f"{where} must have id, name, pros and cons, not {one!r:.40}.", hint=example)
    for part in OPTION_PARTS:
        if not isinstance(one.get(part), str):
            what = f"must be a text, not {one[part]!r:.40}" if part in one else "is missing"
            raise Usage(f"{where}.{part} {what}.", hint=example)
    for name in one:
        if name not in OPTION_PARTS:
            raise Usage(f"{where}.{name} is unknown.", hint=example)


def action(
    title: str,
    instructions: Sequence[str],
    *,
    why: str,
    cause: str = "",
    checklist: Mapping[str, bool] | None = None,
    signal: str = "",
) -> Content:
    """What only a person can do."""
    return _make(
        ACTION,
        title,
        items=[item for text in instructions for item in items_of(text)],
        why=one_line(why),
        cause=cause,
        checklist=dict(checklist or {}),
        signal=one_line(signal) or ACTION_SIGNAL,
    )


def _make(type: str, title: str, **parts: Any) -> Content:
    return blank(Content, type=type, title=one_line(title), **parts)


def is_sound(content: Any) -> bool:
    """Whether a content is what it should be: it may come from a file that an agent can write."""
    sample = _make("", "")
    if not isinstance(content, dict) or content.keys() != sample.keys():
        return False
    if any(type(content[name]) is not type(value) for name, value in sample.items()):
        return False
    return (
        content["type"] in TYPES
        and all(isinstance(item, str) for item in content["items"])
        and all(isinstance(answer, bool) for answer in content["checklist"].values())
        and all(
            isinstance(option, dict)
            and option.keys() == {*OPTION_PARTS}
            and all(isinstance(text, str) for text in option.values())
            for option in content["options"]
        )
    )


def items_of(text: str) -> list[str]:
    return [item for _, item in numbered_items(text, 0)]


def numbered_items(text: str, line: int) -> list[tuple[int, str]]:
    """The points of a text, each with its line. `1.`, `-` and `*` begin one; in a text with such marks,
    a line without one goes on with the point above it."""
    found: list[tuple[int, str]] = []
    marked = False
    for offset, raw in enumerate(text.split("\n")):
        point = _strip_mark(raw.strip())
        if point is not None:
            marked = True
            found.append((line + offset, one_line(point)))
        elif raw.strip():
            if marked:
                at, before = found[-1]
                found[-1] = (at, f"{before} {one_line(raw)}")
            else:
                found.append((line + offset, one_line(raw)))
    return [(at, item) for at, item in found if item]


def _strip_mark(text: str) -> str | None:
    if text[:2] in ("- ", "* "):
        return text[2:]
    number, mark, rest = text.partition(".")
    if not mark or not number.isascii() or not number.isdigit():
        number, mark, rest = text.partition(")")
    if mark and number.isascii() and number.isdigit() and (rest[:1] in (" ", "\t") or not rest):
        return rest
    return None


def _drop_lead(items: list[str], url: str) -> list[str]:
    """Without a first line that says no more than the address does, as `Visit http://... and verify:`.
    A line with any other word, such as a login, stays whole."""
    if len(items) > 1 and url and url in items[0] and items[0].endswith(":"):
        said = items[0].replace(url, " ").replace(":", " ").casefold().split()
        return items[1:] if set(said) <= LEAD_WORDS else items
    return items


def first_url(text: str) -> str:
    """The first http address of a text, without the punctuation behind it."""
    for word in text.split():
        start = min(
            (at for scheme in ("http://", "https://") if (at := word.find(scheme)) >= 0), default=-1
        )
        if start >= 0:
            found = word[start:].rstrip(".,;:!?)]}>\"'`")
            if len(found) > len("https://"):
                return found
    return ""


def join_ids(ids: Sequence[str]) -> str:
    """`a`, `a or b`, `a, b, or c`; PILOT-18."""
    if len(ids) < 3:
        return " or ".join(ids)
    return f"{', '.join(ids[:-1])}, or {ids[-1]}"


def distribution(counts: Mapping[str, int]) -> dict[str, float]:
    """The share of each kind, in percent."""
    total = sum(counts.values())
    return {type: 100 * counts.get(type, 0) / total if total else 0.0 for type in TYPES}


def render(content: Content) -> str:
    """The protocol's own form; a part that is not there is left out."""
    blocks = {VERIFY: _show_verify, DECISION: _show_decision, ACTION: _show_action}[content["type"]]
    head = f"{LIGHTS[content['type']]} {PREFIX}{content['type']}"
    return "\n\n".join([head, *blocks(content)])


def inert(text: str) -> str:
    """An agent's text for one line of ours."""
    return safe(one_line(text))


def _show_verify(content: Content) -> Iterator[str]:
    yield f"## Built: {inert(content['title'])}"
    if content["url"]:
        yield f"**Server running:** {inert(content['url'])}"
    steps = [f"{number}. ✅ {inert(item)}" for number, item in enumerate(content["items"], 1)]
    yield "\n".join(["### Please verify:", *steps])
    yield f"**Resume:** {inert(content['signal'])}"


def _show_decision(content: Content) -> Iterator[str]:
    yield f"## Decision Required: {inert(content['title'])}"
    if content["context"]:
        yield f"**Context:** {inert(content['context'])}"
    rows = ["| Option | Pros | Cons |", "|--------|------|------|"]
    for option in content["options"]:
        name = f"**{_cell(option['name'])}**"
        if not _words(option["id"]) <= _words(option["name"]):
            name += f" ({_cell(option['id'])})"  # or the person does not know which one they select
        rows.append(f"| {name} | {_cell(option['pros'])} | {_cell(option['cons'])} |")
    yield "\n".join(rows)
    yield f"**Select:** {inert(join_ids([option['id'] for option in content['options']]))}"


def _show_action(content: Content) -> Iterator[str]:
    yield f"## Manual Step Required: {inert(content['title'])}"
    yield f"**Why manual:** {inert(content['why'])}"
    steps = [f"{number}. {inert(item)}" for number, item in enumerate(content["items"], 1)]
    yield "\n".join(["### Instructions:", *steps])
    yield f"**Resume:** {inert(content['signal'])}"


def _cell(text: str) -> str:
    return inert(text).replace("\\", "\\\\").replace("|", "\\|")


def _words(text: str) -> set[str]:
    plain = "".join(letter if letter.isalnum() else " " for letter in text.casefold())
    return set(plain.split())


def understand(content: Content, text: str) -> GateAnswer:
    """What a text answers; trimmed, and whatever its case; AMB-PILOT-20."""
    said = text.strip()
    word = said.casefold()
    if not said:
        raise Usage("The answer is empty.", hint=hint_for(content))
    if content["type"] == DECISION:
        for option in content["options"]:
            if option["id"].casefold() == word:
                return blank(GateAnswer, verdict="yes", answer=option["id"])
        raise Usage(f"{said!r} is not one of the options.", hint=hint_for(content))
    if word == {VERIFY: APPROVED, ACTION: DONE}[content["type"]]:
        return blank(GateAnswer, verdict="yes", answer=word)
    what = {VERIFY: "issues", ACTION: "not done"}[content["type"]]
    return blank(GateAnswer, verdict="no", answer=what, text=said)


def decline(text: str) -> GateAnswer:
    """A plain no, to whatever was asked."""
    if not text.strip():
        raise Usage("A no needs a reason.", hint='holdfast gate answer ID --no "why not"')
    return blank(GateAnswer, verdict="no", answer="declined", text=text.strip())


def hint_for(content: Content) -> str:
    if content["type"] == DECISION:
        return f"Select: {join_ids([option['id'] for option in content['options']])}"
    return content["signal"]
