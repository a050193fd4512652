"""The automation-first rule in code: what an agent can do by itself is not asked of a person.

Each finding names its line, the clause, and what the agent should do instead.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypedDict

from holdfast.gates.rules import content as words
from holdfast.gates.rules import gate_xml, phrases
from holdfast.gates.rules.content import ACTION, CAUSES, DECISION, QUESTIONS, VERIFY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.gates.rules.content import Content
    from holdfast.gates.rules.gate_xml import XmlTask

    Level = Literal["error", "warning"]
    Line = tuple[int, str]


class GateFinding(TypedDict):
    """Something that a gate must not be (error), or had better not be (warning)."""

    line: int
    clause: str
    level: Level
    what: str
    instead: str


# So many characters before a request are looked at for who it is that acts.
LOOK_BACK = 200


def steps(lines: Sequence[Line], *, manual: bool = False) -> Iterator[GateFinding]:
    """What is asked of a person, line by line; `manual` is a human-action."""
    for line, text in lines:
        rules = [*phrases.STEPS]
        if manual:
            account = "Use its API or command line to create the account."
            rules.append(
                (phrases.ACCOUNT, "PILOT-21", "asks a person to create an account", account)
            )
        for pattern, clause, what, instead in rules:
            if _asks(pattern, text):
                yield _error(line, clause, f"{what}: {_quote(text)}", instead)
                break
        if re.search(phrases.CHOICE, text, re.IGNORECASE):
            yield _error(
                line,
                "PILOT-30",
                f"a choice is posed as a free question: {_quote(text)}",
                "Use a decision gate with its options: holdfast gate decide",
            )


def _asks(pattern: str, text: str) -> bool:
    """Whether a text asks a person for it: the verb opens a sentence, or follows a plain request."""
    for match in re.finditer(
        rf"(?:^|[.:;!?,\-–—(]\s*|\b(?:please|then|and|to|must|should|you|can|could|now|first|just|"
        rf"need to|have to)\s+)(?P<asked>{pattern})",
        text,
        re.IGNORECASE,
    ):
        start = match.start("asked")
        sentence = re.split(r"[.;!?]\s", text[max(0, start - LOOK_BACK) : start])[-1]
        if not re.search(phrases.OF_THE_AGENT, sentence, re.IGNORECASE):
            return True
    return False


def findings(
    content: Content, *, strict: bool = False, task: XmlTask | None = None
) -> list[GateFinding]:
    """Everything that speaks against a gate."""
    where = _Lines(content, task)
    check = {VERIFY: _verify, DECISION: _decision, ACTION: _action}[content["type"]]
    found = list(check(content, where, strict))
    if not content["title"]:
        found.insert(
            0, _error(where.top, "PILOT-02", "the gate has no title", "Say what it is about.")
        )
    return found


class _Lines:
    """The line of each part of a gate: as in its XML, or one a part when there is none."""

    def __init__(self, content: Content, task: XmlTask | None) -> None:
        fields = task["fields"] if task else {}
        self.top = task["line"] if task else 1
        said = next(
            (fields[tag] for tag in ("how-to-verify", "instructions") if tag in fields), None
        )
        self.items: list[Line] = (
            words.numbered_items(said["text"], said["line"])
            if said
            else list(enumerate(content["items"], 1))
        )
        self.of = {tag: field["line"] for tag, field in fields.items()}
        self.options = task["option_lines"] if task else [1] * len(content["options"])

    def at(self, tag: str) -> int:
        return self.of.get(tag, self.top)


def _verify(content: Content, where: _Lines, strict: bool) -> Iterator[GateFinding]:
    if not content["items"]:
        yield _error(where.top, "PILOT-07", "nothing is said about how to verify", "Give --how.")
    yield from steps(where.items)
    if not content["url"]:
        yield _warning(
            where.at("how-to-verify"),
            "PILOT-08",
            "there is no address to look at",
            "Start what was built and give its address with --url, when it has one.",
        )
    yield from _signal(content, where, [words.APPROVED])


def _decision(content: Content, where: _Lines, strict: bool) -> Iterator[GateFinding]:
    options = content["options"]
    if len(options) < 2:
        yield _error(
            where.at("options"),
            "PILOT-12",
            "one option is no choice",
            "Give two or more, or go on without a gate.",
        )
    seen: set[str] = set()
    for line, option in zip(where.options, options, strict=True):
        id = option["id"]
        if id.casefold() in seen or not _is_id(id):
            yield _error(
                line,
                "PILOT-12",
                f"{id!r} cannot name an option",
                "Give each a short word of its own.",
            )
        seen.add(id.casefold())
        if not option["name"]:
            yield _error(line, "PILOT-12", f"the option {id} has no name", "Give it one.")
        if not option["pros"] or not option["cons"]:
            short = not option["pros"] and not option["cons"]
            level: Level = "warning" if short and not strict else "error"
            what = f"the option {id} does not show its pros and its cons"
            yield _finding(
                line, "PILOT-15", level, what, "Say what speaks for it and what against it."
            )
    if not content["context"]:
        level = "error" if strict else "warning"
        what = "it is not said why the decision matters"
        yield _finding(where.at("decision"), "PILOT-14", level, what, "Give --context.")
    texts = [(where.at("decision"), content["title"]), (where.at("context"), content["context"])]
    for line, option in zip(where.options, options, strict=True):
        texts += [(line, option["name"]), (line, option["pros"]), (line, option["cons"])]
    for line, text in texts:
        if re.search(phrases.PUSHED, text, re.IGNORECASE):
            yield _error(
                line,
                "PILOT-13",
                f"one option is pushed: {_quote(text)}",
                "Say what speaks for and against each, and leave the choice open.",
            )
    if options:
        yield from _signal(content, where, [option["id"] for option in options])


def _action(content: Content, where: _Lines, strict: bool) -> Iterator[GateFinding]:
    silent = [key for key in QUESTIONS if key not in content["checklist"]]
    if silent:
        asked = " ".join(f"{key}: {QUESTIONS[key]}" for key in silent)
        answers = " ".join(f"--{key} no" for key in silent)
        what = f"{len(silent)} of the {len(QUESTIONS)} questions are not answered. {asked}"
        yield _error(where.top, "PILOT-25", what.rstrip("?"), f"Answer each of them: {answers}")
    for key, question in QUESTIONS.items():
        if content["checklist"].get(key):
            instead = "Then do it yourself and do not ask a person."
            yield _error(where.top, "PILOT-26", f"the answer is yes: {question}", instead)
    cause = content["cause"] or cause_of(content)
    if cause not in CAUSES:
        allowed = "; ".join(f"{key}: {meaning}" for key, meaning in CAUSES.items())
        what = (
            f"{content['cause']!r} is no cause"
            if content["cause"]
            else "no accepted cause is named"
        )
        yield _error(
            where.at("why-manual"),
            "PILOT-20",
            f"{what} of a manual step",
            f"Only these are: {allowed}.",
        )
    if not content["why"]:
        yield _error(
            where.at("why-manual"), "PILOT-23", "it is not said why it is manual", "Give --why."
        )
    if not content["items"]:
        yield _error(
            where.at("instructions"), "PILOT-22", "there are no instructions", "Give --step."
        )
    lines = [(where.at("action"), content["title"]), *where.items]
    yield from steps(lines, manual=True)
    yield from _signal(content, where, [words.DONE])


def _signal(content: Content, where: _Lines, wanted: Sequence[str]) -> Iterator[GateFinding]:
    """What a person is told to type must be what is understood."""
    said = {word.strip("\"'`.,:;()").casefold() for word in content["signal"].split()}
    missing = [word for word in wanted if word.casefold() not in said]
    if missing:
        clause = {VERIFY: "PILOT-09", DECISION: "PILOT-18", ACTION: "PILOT-24"}[content["type"]]
        yield _error(
            where.at("resume-signal"),
            clause,
            f"the resume signal does not name {words.listed(missing)}",
            "Leave it out, or say what a person really has to type.",
        )


def cause_of(content: Content) -> str:
    """The cause that a manual step's own words name, or nothing."""
    text = " ".join([content["title"], content["why"], *content["items"]])
    return next(
        (
            cause
            for cause, said in phrases.CAUSE_WORDS.items()
            if re.search(said, text, re.IGNORECASE)
        ),
        "",
    )


def of_tasks(tasks: Sequence[XmlTask], *, strict: bool = False) -> Iterator[GateFinding]:
    """The findings of every checkpoint among tasks that follow each other."""
    automatic = False
    for task in tasks:
        if task["type"] == gate_xml.AUTO:
            automatic = True
        else:
            # The six questions are answered where the gate is opened; the text cannot hold them.
            answered = dict.fromkeys(QUESTIONS, False)
            content = gate_xml.content_of(task, checklist=answered)
            yield from findings(content, strict=strict, task=task)
            if not automatic:
                yield from _unpreceded(task)


def lint(text: str, *, strict: bool = False) -> list[GateFinding]:
    """The findings of a text: of every task in it, and of what it asks between them."""
    found: list[GateFinding] = []
    tasks: list[XmlTask] = []
    rest = text
    for match in re.finditer(r"<task\b.*?(?:</task>|\Z)", text, re.DOTALL):
        line = text.count("\n", 0, match.start()) + 1
        try:
            tasks += gate_xml.parse(match.group(), first_line=line)
        except gate_xml.BadXml as problem:
            found.append(_error(problem.line, "PILOT-02", problem.what.rstrip("."), problem.hint))
        blank = re.sub(r"[^\n]", " ", match.group())
        rest = rest[: match.start()] + blank + rest[match.end() :]
    found += of_tasks(tasks, strict=strict)
    found += steps(list(_addressed(rest)))
    return sorted(found, key=lambda finding: finding["line"])


def _addressed(text: str) -> Iterator[Line]:
    """The lines of a text that can ask a person for something: not its headings, and not the commands
    of a shell that stand in a fence."""
    fence = ""
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if line.startswith("```"):
            fence = "" if fence else line[3:].strip() or "text"
        elif line and not line.startswith("#") and fence not in phrases.SHELLS:
            yield number, line


def _unpreceded(task: XmlTask) -> Iterator[GateFinding]:
    if task["type"] == DECISION:
        return
    clause = "PILOT-04" if task["type"] == VERIFY else "PILOT-23"
    what = "no automatic task stands before it"
    yield _warning(task["line"], clause, what, "Do everything that can be automated first.")


def _is_id(id: str) -> bool:
    return bool(re.fullmatch(r"[\w][\w.+-]{0,63}", id))


def _quote(text: str) -> str:
    flat = words.flat(text)
    return f"“{flat if len(flat) <= 72 else flat[:71] + '…'}”"


def _error(line: int, clause: str, what: str, instead: str) -> GateFinding:
    return _finding(line, clause, "error", what, instead)


def _warning(line: int, clause: str, what: str, instead: str) -> GateFinding:
    return _finding(line, clause, "warning", what, instead)


def _finding(line: int, clause: str, level: Level, what: str, instead: str) -> GateFinding:
    return {"line": line, "clause": clause, "level": level, "what": what, "instead": instead}
