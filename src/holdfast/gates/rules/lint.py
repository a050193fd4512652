"""The automation-first rule in code: what an agent can do by itself is not asked of a person.

Each finding names its line, the clause, and what the agent should do instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, TypedDict

from holdfast.gates.rules import content as contents
from holdfast.gates.rules import gate_xml
from holdfast.gates.rules.content import ACTION, CAUSES, DECISION, QUESTIONS, VERIFY, Content
from holdfast.gates.rules.gate_xml import BadXml, XmlTask
from holdfast.kernel.text import one_line

Level = Literal["error", "warning"]
Line = tuple[int, str]

# A program that a text names when it asks for a command.
_PROGRAM = (
    r"(?:(?:npm|npx|yarn|pnpm|bun|node|deno|pip3?|uv|poetry|python3?|pytest|ruby|rails|rake|bundle|php|"
    r"composer|artisan|java|mvn|gradle|cargo|go|make|cmake|docker(?:-compose)?|kubectl|helm|terraform|"
    r"ansible|git|gh|curl|wget|ssh|scp|psql|mysql|sqlite3|createdb|redis-cli|brew|apt(?:-get)?|sudo|bash|"
    r"sh|systemctl|aws|gcloud|az|vercel|netlify|supabase|prisma|alembic)\b)"
)
_DATABASE = r"(?:\b(?:\w+ ){0,4}?(?:database|databases|db|schema|migrations?)\b)"
_FILE = r"(?:\b(?:\w+ ){0,3}?files?\b|[\w./-]+\.(?:\w{1,5})\b)"
# A command that is named bare, as in "git push". `go` and `make` are English words, too.
_BARE_COMMAND = (
    r"(?:(?:npm|npx|yarn|pnpm|bun|deno|pip3?|uv|poetry|pytest|rake|bundle|composer|artisan|mvn|gradle|"
    r"cargo|cmake|docker(?:-compose)?|kubectl|helm|terraform|ansible|git|gh|curl|wget|ssh|scp|psql|mysql|"
    r"sqlite3|redis-cli|brew|apt(?:-get)?|sudo|systemctl|aws|gcloud|vercel|netlify|supabase|prisma|"
    r"alembic) +(?!is\b|was\b|has\b|and\b)[\w./@:-]+|"
    r"go (?:run|build|test|get|install|mod|generate)\b|make (?:build|test|install|deploy|run|all|clean|dev)\b)"
)
# A file or a place that holds configuration.
_CONFIGURED = (
    r"(?:[\w./-]*\.(?:ya?ml|json|toml|ini|env|cfg|conf|properties|xml)\b|\.env\b|config(?:uration)?\b|"
    r"environment variables?\b|env vars?\b|feature flags?\b)"
)
_MADE_UP = r"(?:\b(?:\w+ ){0,2}?(?:test|sample|dummy|fake|seed|demo) (?:\w+ )?(?:data|users?|accounts?|records?|rows?|entries))"
LONGEST_QUOTE = 72
_RUN = "Run it yourself, then show what came of it: holdfast gate verify --built ... --url ..."
_WRITE = "Write the file yourself; that needs no gate."
# What is asked, the clause, its name, and what to do instead. The first that fits a line counts.
STEPS: tuple[tuple[str, str, str, str], ...] = (
    (
        rf"(?:create|set ?up|make|prepare|initiali[sz]e|migrate|seed|run) {_DATABASE}",
        "PILOT-29",
        "asks a person to set up a database",
        "Use its command line: createdb, psql, your migrations; that needs no gate.",
    ),
    (
        rf"(?:create|add|insert|prepare|generate|enter|make) {_MADE_UP}",
        "PILOT-08",
        "asks a person to create test data",
        "Create the data yourself, and let the person only look.",
    ),
    (
        r"(?:start|restart|launch|boot|spin up|stop|bring up) (?:\w+ ){0,3}?(?:server|servers|service|"
        r"services|app|container|containers|backend|frontend)\b",
        "PILOT-08",
        "asks a person to start or stop a server",
        "Start it yourself and give its address with --url.",
    ),
    (
        rf"(?:run|execute|invoke|launch|type|enter|paste|use|install)\b:? +(?:\w+:? ){{0,3}}?`?{_PROGRAM}|"
        r"(?:run|execute|invoke|launch)\b:? +(?:\w+:? ){0,3}?(?:`|\./\S)|\$ \S",
        "PILOT-27",
        "asks a person to run a command",
        _RUN,
    ),
    (
        r"(?:run|execute|invoke) (?:\w+ ){0,4}?(?:commands?|scripts?|tests?|migrations?|build|linter|"
        r"install(?:er)?)\b|please run\b|(?:in|open) (?:your|a|the) (?:terminal|shell|command line|console)\b",
        "PILOT-27",
        "asks a person to run a command",
        _RUN,
    ),
    (_BARE_COMMAND, "PILOT-27", "asks a person to run a command", _RUN),
    (
        r"(?:deploy|redeploy)\b|roll (?:it |this )?(?:out|back)\b|"
        r"push (?:\w+ ){0,4}?(?:branch|commits?|tags?|code|changes|image|to (?:origin|main|master|production|"
        r"staging|github|gitlab|the registry))\b|"
        r"merge (?:\w+ ){0,4}?(?:branch|pull request|merge request|PR|MR)\b|"
        r"publish (?:\w+ ){0,4}?(?:package|crate|image|library|to (?:npm|pypi))\b",
        "PILOT-21",
        "asks a person to deploy or publish",
        "Use its command line or its API; that needs no gate.",
    ),
    (
        rf"(?:create|add|write|save|touch|make) (?:\w+ ){{0,3}}?(?:files?\b|{_FILE})",
        "PILOT-28",
        "asks a person to create a file",
        _WRITE,
    ),
    (
        rf"(?:edit|change|modify|update|open and (?:edit|change)|copy|rename|delete) {_FILE}|"
        r"(?:set|export|configure|define|add) (?:\w+ ){0,4}?(?:environment variables?|env vars?|config"
        r"(?:uration)?|settings?|\.env)\b|"
        rf"(?:set|put|add|change|edit|modify|update|adjust|replace|remove|delete|copy) (?:\S+ ){{0,6}}?{_CONFIGURED}",
        "PILOT-21",
        "asks a person to change configuration",
        "Edit the file yourself; that needs no gate.",
    ),
)
ACCOUNT = (
    r"(?:create|register|open|set ?up|sign up for) (?:\w+ ){0,4}?account\b|sign up (?:for|at|on)\b"
)
CHOICE = (
    r"\bshould (?:I|we) (?:use|choose|pick|go with|take)\b|\b(?:do|would) you (?:prefer|rather|want me to "
    r"use)\b|\bwhich (?:\w+ ){0,4}(?:should (?:I|we)|do you prefer|would you)|\bplease (?:choose|pick|select)\b"
)
PUSHED = (
    r"\brecommend(?:ed|ation|s)?\b|\b(?:we|I|I'd|we'd|you should) (?:suggest|prefer|advise|pick|choose|go with)"
    r"\b|\bpreferred\b|\((?:default|preselected|suggested)\)|\bobvious(?:ly)? (?:the )?(?:best|right|choice)|"
    r"\b(?:the )?(?:correct|right|best) (?:choice|option|answer)\b|\bmy (?:pick|choice)\b"
)
_TASK = r"(?s)<task\b.*?(?:</task>|\Z)"
SHELLS = ("bash", "sh", "shell", "zsh", "console")
# Who does not ask a person, though the words are the same.
OF_THE_AGENT = (
    r"\b(?:never|not|no need to|without having to|don't|doesn't|needn't|I|we|claude|agent)\b"
)
CAUSE_WORDS = {
    "captcha": r"captcha",
    "oauth": r"\boauth\b|\bconsent\b",
    "payment": r"3-?d ?secure|\b(?:mfa|2fa|otp|one-time (?:code|password))\b|\bbank(?:ing)? app\b",
    "email": r"\b(?:e-?mail|inbox)\b",
    "hardware": r"\b(?:hardware|device|usb|cable|plug|phone|sensor|board|printer|button on)\b",
}


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
        rules = [*STEPS]
        if manual:
            account = "Use its API or command line to create the account."
            rules.append((ACCOUNT, "PILOT-21", "asks a person to create an account", account))
        for pattern, clause, what, instead in rules:
            if _is_asked(pattern, text):
                yield _finding(line, clause, f"{what}: {_quote(text)}", instead)
                break
        if re.search(CHOICE, text, re.IGNORECASE):
            what = f"a choice is posed as a free question: {_quote(text)}"
            instead = "Use a decision gate with its options: holdfast gate decide"
            yield _finding(line, "PILOT-30", what, instead)


def _is_asked(pattern: str, text: str) -> bool:
    """Whether a text asks a person for it: the verb opens a sentence, or follows a plain request."""
    for match in re.finditer(
        rf"(?:^|[.:;!?,\-–—(]\s*|\b(?:please|then|and|to|must|should|you|can|could|now|first|just|"
        rf"need to|have to)\s+)(?P<asked>{pattern})",
        text,
        re.IGNORECASE,
    ):
        start = match.start("asked")
        sentence = re.split(r"[.;!?]\s", text[max(0, start - LOOK_BACK) : start])[-1]
        if not re.search(OF_THE_AGENT, sentence, re.IGNORECASE):
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
        missing = "the gate has no title", "Say what it is about."
        found.insert(0, _finding(where.top, "PILOT-02", *missing))
    return found


class _Lines:
    """The line of each part of a gate: as in its XML, or one a part when there is none."""

    def __init__(self, content: Content, task: XmlTask | None) -> None:
        fields = task["fields"] if task else {}
        self.top = task["line"] if task else 1
        said = fields.get("how-to-verify") or fields.get("instructions")
        self.items: list[Line] = (
            contents.numbered_items(said["text"], said["line"])
            if said
            else list(enumerate(content["items"], 1))
        )
        self.of = {tag: field["line"] for tag, field in fields.items()}
        self.options = task["option_lines"] if task else [1] * len(content["options"])

    def at(self, tag: str) -> int:
        return self.of.get(tag, self.top)


def _verify(content: Content, where: _Lines, strict: bool) -> Iterator[GateFinding]:
    if not content["items"]:
        yield _finding(where.top, "PILOT-07", "nothing is said about how to verify", "Give --how.")
    yield from steps(where.items)
    if not content["url"]:
        what = "there is no address to look at"
        instead = "Start what was built and give its address with --url, when it has one."
        yield _finding(where.at("how-to-verify"), "PILOT-08", what, instead, "warning")
    yield from _signal(content, where, [contents.APPROVED])


def _decision(content: Content, where: _Lines, strict: bool) -> Iterator[GateFinding]:
    options = content["options"]
    if len(options) < 2:
        instead = "Give two or more, or go on without a gate."
        yield _finding(where.at("options"), "PILOT-12", "one option is no choice", instead)
    seen: set[str] = set()
    for line, option in zip(where.options, options, strict=True):
        id = option["id"]
        if id.casefold() in seen or not re.fullmatch(r"[\w][\w.+-]{0,63}", id):
            instead = "Give each a short word of its own."
            yield _finding(line, "PILOT-12", f"{id!r} cannot name an option", instead)
        seen.add(id.casefold())
        if not option["name"]:
            yield _finding(line, "PILOT-12", f"the option {id} has no name", "Give it one.")
        if not option["pros"] or not option["cons"]:
            short = not option["pros"] and not option["cons"]
            level: Level = "warning" if short and not strict else "error"
            what = f"the option {id} does not show its pros and its cons"
            instead = "Say what speaks for it and what against it."
            yield _finding(line, "PILOT-15", what, instead, level)
    if not content["context"]:
        level = "error" if strict else "warning"
        what = "it is not said why the decision matters"
        yield _finding(where.at("decision"), "PILOT-14", what, "Give --context.", level)
    texts = [(where.at("decision"), content["title"]), (where.at("context"), content["context"])]
    for line, option in zip(where.options, options, strict=True):
        texts += [(line, option["name"]), (line, option["pros"]), (line, option["cons"])]
    for line, text in texts:
        if re.search(PUSHED, text, re.IGNORECASE):
            instead = "Say what speaks for and against each, and leave the choice open."
            yield _finding(line, "PILOT-13", f"one option is pushed: {_quote(text)}", instead)
    if options:
        yield from _signal(content, where, [option["id"] for option in options])


def _action(content: Content, where: _Lines, strict: bool) -> Iterator[GateFinding]:
    silent = [key for key in QUESTIONS if key not in content["checklist"]]
    if silent:
        asked = " ".join(f"{key}: {QUESTIONS[key]}" for key in silent)
        answers = " ".join(f"--{key} no" for key in silent)
        what = f"{len(silent)} of the {len(QUESTIONS)} questions are not answered. {asked}"
        yield _finding(where.top, "PILOT-25", what.rstrip("?"), f"Answer each of them: {answers}")
    for key, question in QUESTIONS.items():
        if content["checklist"].get(key):
            instead = "Then do it yourself and do not ask a person."
            yield _finding(where.top, "PILOT-26", f"the answer is yes: {question}", instead)
    cause = content["cause"] or cause_of(content)
    why = where.at("why-manual")
    if cause not in CAUSES:
        allowed = "; ".join(f"{key}: {meaning}" for key, meaning in CAUSES.items())
        what = f"{cause!r} is no cause" if cause else "no accepted cause is named"
        instead = f"Only these are: {allowed}."
        yield _finding(why, "PILOT-20", f"{what} of a manual step", instead)
    if not content["why"]:
        yield _finding(why, "PILOT-23", "it is not said why it is manual", "Give --why.")
    if not content["items"]:
        at = where.at("instructions")
        yield _finding(at, "PILOT-22", "there are no instructions", "Give --step.")
    lines = [(where.at("action"), content["title"]), *where.items]
    yield from steps(lines, manual=True)
    yield from _signal(content, where, [contents.DONE])


def _signal(content: Content, where: _Lines, wanted: Sequence[str]) -> Iterator[GateFinding]:
    """The text says what to type; it must be an answer that the gate accepts."""
    said = {word.strip("\"'`.,:;()").casefold() for word in content["signal"].split()}
    missing = [word for word in wanted if word.casefold() not in said]
    if missing:
        clause = {VERIFY: "PILOT-09", DECISION: "PILOT-18", ACTION: "PILOT-24"}[content["type"]]
        what = f"the resume signal does not name {contents.join_ids(missing)}"
        instead = "Leave it out, or say what a person really has to type."
        yield _finding(where.at("resume-signal"), clause, what, instead)


def cause_of(content: Content) -> str:
    """The cause that a manual step's own words name, or nothing."""
    text = " ".join([content["title"], content["why"], *content["items"]])
    return next(
        (cause for cause, said in CAUSE_WORDS.items() if re.search(said, text, re.IGNORECASE)),
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
                yield from _find_unprepared(task)


def lint(text: str, *, strict: bool = False) -> list[GateFinding]:
    """The findings of a text: of every task in it, and of what it asks between them."""
    found: list[GateFinding] = []
    tasks: list[XmlTask] = []
    for one in gate_xml.tasks_in(text, fenced=True):
        task, problems = (None, [one]) if isinstance(one, BadXml) else gate_xml.examine(one)
        if problems:
            first = problems[0]
            found.append(_finding(first.line, "PILOT-02", first.what.rstrip("."), first.hint))
        elif task is not None:
            tasks.append(task)
    found += of_tasks(tasks, strict=strict)
    rest = re.sub(_TASK, lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    found += steps(list(_list_requests(rest)))
    return sorted(found, key=lambda finding: finding["line"])


def _list_requests(text: str) -> Iterator[Line]:
    """The lines of a text that can ask a person for something: not its headings, and not the commands
    of a shell that stand in a fence."""
    fence = ""
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if line.startswith("```"):
            fence = "" if fence else line[3:].strip() or "text"
        elif line and not line.startswith("#") and fence not in SHELLS:
            yield number, line


def _find_unprepared(task: XmlTask) -> Iterator[GateFinding]:
    if task["type"] == DECISION:
        return
    clause = "PILOT-04" if task["type"] == VERIFY else "PILOT-23"
    what = "no automatic task stands before it"
    instead = "Do everything that can be automated first."
    yield _finding(task["line"], clause, what, instead, "warning")


def _quote(text: str) -> str:
    return f"“{one_line(text, LONGEST_QUOTE)}”"


def _finding(
    line: int, clause: str, what: str, instead: str, level: Level = "error"
) -> GateFinding:
    return {"line": line, "clause": clause, "level": level, "what": what, "instead": instead}
