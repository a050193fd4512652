"""What a session did, as far as its client wrote it down: a pure fold over events.

`observe(state, events)` takes and returns plain JSON data. The data stays below 32 KB whatever
comes in, the same events give the same bytes, and folding in parts equals folding at once.

What was used lately counts more than what was used often: each use has a weight that halves every
25 tool calls. A weight is kept as one number that needs no update while time goes on: the logarithm
of the sum of all uses, measured on a clock of calls that runs on. Such numbers compare directly.
"""

from __future__ import annotations

from math import log2

from holdfast.clients.conversation import COUNTED_CALL, TOOL_CALLS
from holdfast.kernel.patterns import DOTALL, MULTILINE, compile_later
from holdfast.session.mentions import names_in, paths_in, whole_words
from holdfast.session.outcome import ends_of, is_check, step_covers, steps_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NotRequired, TypedDict

    from holdfast.clients.conversation import SessionEvent, Task

    class Said(TypedDict):
        """Words of the person or of the agent. `call`: how many tool calls came before."""

        text: str
        at: str
        call: int
        # What the agent had said before, where the words are too short to be understood alone.
        after: NotRequired[str]

    class ChosenAnswer(TypedDict):
        about: str
        text: str
        call: int

    class SeenFile(TypedDict):
        """`state` is read, edited, created or deleted; `number` is what names refer to."""

        number: int
        weight: float
        edits: int
        reads: int
        call: int
        state: str

    class Command(TypedDict):
        """`failed` is None while it runs, or where the client does not say."""

        text: str
        weight: float
        runs: int
        failed: bool | None
        call: int

    class Failure(TypedDict):
        """Steps of a command line that failed and have not passed since; `key` has one a line.
        `edits` counts the edits before it. `again`: it ran since, and its end is not known."""

        key: str
        text: str
        end: str
        call: int
        edits: NotRequired[int]
        again: NotRequired[bool]

    class Commit(TypedDict):
        id: str
        text: str
        call: int

    class Observation(TypedDict):
        version: int
        cwd: str
        started_at: str
        at: str
        calls: int
        edits: int
        first: Said | None
        earlier: list[Said]
        request: Said | None
        prompts: int
        rulings: list[Said]
        answers: list[ChosenAnswer]
        plan: list[str]
        tasks: list[Task]
        files: dict[str, SeenFile]
        numbered: int
        glimpsed: dict[str, float]
        names: dict[str, list[float]]
        commands: dict[str, Command]
        habits: dict[str, float]
        failures: list[Failure]
        commits: list[Commit]
        said: list[Said]
        agents: dict[str, str]
        compactions: int
        summary: Said | None
        pending: dict[str, list[str]]
        # Paths that were removed or moved away. An observation of an older version has none.
        gone: NotRequired[list[str]]


VERSION = 1
LARGEST = 32 * 1024
HALF_LIFE = 25
# A prompt as short as "yes, the second" is understood only with the question before it.
LONGEST_REPLY, LONGEST_QUESTION = 60, 400

# How much room each part may take, in bytes of JSON. The sum stays below LARGEST.
ROOM = {
    "request": 2400,
    "first": 600,
    "earlier": 1300,
    "rulings": 2200,
    "answers": 1100,
    "plan": 800,
    "tasks": 2100,
    "files": 3800,
    "glimpsed": 1800,
    "names": 8100,
    "commands": 1700,
    "habits": 1100,
    "failures": 1200,
    "commits": 500,
    "said": 1200,
    "agents": 300,
    "pending": 1400,
    "gone": 400,
}
# What an entry of a table takes beside its texts, at most: numbers and the names of fields.
ENTRY = 84
# A longer prompt is pasted text; what it forbids, the person did not.
LONGEST_RULED = 3000
LONGEST_STEPS = 480
# A command that is no check and failed so many calls ago is over.
LONGEST_OPEN = 20

EDIT, READ, USE = 2.0, 1.0, 1.0
NAMED_IN = {
    "edit": 1.0,
    "run": 1.0,
    "search": 1.0,
    "call": 0.6,
    "prompt": 0.5,
    "said": 0.4,
    "report": 0.3,
    "output": 0.2,
}
GLIMPSED_IN = {"output": 0.05, "report": 0.5, "said": 0.5, "prompt": 0.5, "edit": 0.1}

_RULING = compile_later(
    r"(?i)\b(don'?t|do not|never|always|must|instead|only|should ?n[o']t|shouldn'?t|no need|rather|"
    r"prefer|make sure|keep|avoid|stop)\b"
)
_IN_RULINGS = (
    *("don", "do not", "never", "always", "must", "instead", "only", "should", "no need"),
    *("rather", "prefer", "make sure", "keep", "avoid", "stop"),
)
# What a person pastes, but does not say: quotes, logs, options, diffs, tables, headings, code.
_PASTED = compile_later(
    r"[>│╭╰├└|+$#{}<]|--?\w+[ =]|\[\d|\d{4}-\d\d-\d\d|\d\d:\d\d|at \S+\(|\S+\.\w+:\d+|"
    r"(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FAIL|PASS|ok|Error|Warning|error|warning|panic)\b[: ]"
)
_FENCED = compile_later(r"```.*?(?:```|\Z)", DOTALL)
_SENTENCE = compile_later(r"(?<=[.!?\n])\s+")
_ELSEWHERE = ("/tmp/", "/private/", "/var/", "/dev/", "http", "path/to/")  # noqa: S108
_SETTING = compile_later(r"^(?:set [-+]\S+(?: pipefail)?[;\s]+)+")
_INTO_FOLDER = compile_later(r"^\s*cd\s+(\"[^\"]+\"|'[^']+'|[^\s;&|]+)\s*(?:&&|;)\s*")
_PIPED_AWAY = compile_later(
    r"\s*(?:\|\s*(?:tail|head|grep|rg|cat|less|tee|sort|wc|sed|awk)\b[^|]*|2>&1|2>/dev/null|"
    r"[;&|]+\s*echo\b[^|;&]*)$"
)
_BEFORE = compile_later(r"^(?:timeout\s+\S+\s+|time\s+|[A-Z_][A-Z0-9_]*=\S*\s+)+")
_GIT_ELSEWHERE = compile_later(r"^git -C \S+ ")
_PARTS = compile_later(r"\s*(?:&&|\|\||;|\n)\s*")
# Commits are kept as such; these say nothing of the work.
_KEEPS_HOUSE = compile_later(r"git (?:add|commit|push|pull|checkout|switch|reset|restore|rebase)\b")
# First words that say little: a commit's id, a quoted text, a script, a long path, lines in the
# middle of a file.
_NO_HABIT = compile_later(r"sed -n '(?!1,)\d|\b[0-9a-f]{7,40}\b|\".{11}|\$\(|^set -|^.{70}")
_COMMIT = compile_later(r"^\[([^\]\s]+)(?: \([^)]*\))? ([0-9a-f]{7,40})\] (.+)$", MULTILINE)
_NOTHING_TO_DO = compile_later(r"nothing to commit|nothing added to commit|Everything up-to-date")
# Programs that show a file: a name without a folder among their words is a file here.
_SHOWS = compile_later(r"(?:^|[;&|]\s*)(?:cat|head|tail|nl|wc|bat|sed -n)\b([^;&|<>\n]*)")
_REMOVES = compile_later(r"^(?:sudo\s+)?(?:git\s+)?rm\s+(.+)$")
_CONTROLS = compile_later(r"[\x00-\x08\x0b-\x1f]")
_MOVES = compile_later(r"^(?:git\s+)?mv\s+(?:-\w+\s+)*(\S+)\s+(\S+)$")


def new() -> Observation:
    """Nothing seen yet."""
    return {
        "version": VERSION,
        "cwd": "",
        "started_at": "",
        "at": "",
        "calls": 0,
        "edits": 0,
        "first": None,
        "earlier": [],
        "request": None,
        "prompts": 0,
        "rulings": [],
        "answers": [],
        "plan": [],
        "tasks": [],
        "files": {},
        "numbered": 0,
        "glimpsed": {},
        "names": {},
        "commands": {},
        "habits": {},
        "failures": [],
        "commits": [],
        "said": [],
        "agents": {},
        "compactions": 0,
        "summary": None,
        "pending": {},
    }


def observe(state: Observation | None, events: Iterable[SessionEvent]) -> Observation:
    """The observation after these events. The state that came in is used up."""
    seen = new() if state is None else state
    for event in events:
        if event is COUNTED_CALL:
            seen["calls"] += 1
            continue
        if event.at:
            seen["at"] = event.at[:40]
            seen["started_at"] = seen["started_at"] or event.at[:40]
        if event.kind in TOOL_CALLS and not event.again:
            seen["calls"] += 1
        step = _STEPS.get(event.kind)
        if step is not None:
            step(seen, event)
    return seen


def is_empty(seen: Observation) -> bool:
    """Whether there is nothing to tell."""
    return not seen["prompts"] and not seen["calls"] and not seen["said"]


# Words


def _prompted(seen: Observation, event: SessionEvent) -> None:
    said = _said(seen, event.text, ROOM["request"] - 200)
    if seen["said"] and len(said["text"]) <= LONGEST_REPLY:
        said["after"] = _end_of(seen["said"][-1]["text"], LONGEST_QUESTION)
    seen["prompts"] += 1
    if seen["first"] is None:
        seen["first"] = _said(seen, event.text, ROOM["first"] - 200)
    before = seen["request"]
    if before is not None and seen["prompts"] > 2:
        before["text"] = clipped(flattened(before["text"]), 300)
        before.pop("after", None)
        seen["earlier"] = _newest([*seen["earlier"], before], 8, ROOM["earlier"])
    seen["request"] = said
    _rule(seen, event.text)
    scanned = whole_words(event.text)
    _name(seen, scanned, NAMED_IN["prompt"], -1)
    _glimpse(seen, scanned, GLIMPSED_IN["prompt"])


def _end_of(text: str, most: int) -> str:
    """The end of a text, from a sentence's beginning where there is one: there stands the question."""
    text = flattened(text)
    if len(text) > most:
        text = text[-most:]
        start = text.find(". ") + 2  # 1 where there is none
        text = text[start:] if 2 <= start < most // 3 else f"…{text}"
    return clipped(text, most + 1)


def _rule(seen: Observation, text: str) -> None:
    """Sentences in which the person ruled something in or out."""
    if len(text) > LONGEST_RULED:
        return
    if not _may_rule(text):
        return
    found = list(seen["rulings"])
    if "```" in text:
        text = _FENCED.sub("\n", text)
    for part in _SENTENCE.split(text):
        sentence = flattened(part)
        if _RULING.search(sentence) and _is_said(sentence):
            found = [one for one in found if one["text"] != sentence]
            found.append({"text": sentence, "at": "", "call": seen["calls"]})
    if found != seen["rulings"]:
        seen["rulings"] = _newest(found, 20, ROOM["rulings"])


def _is_said(sentence: str) -> bool:
    """Whether a person may have said it: a log or code is neither so short, so long nor so shaped."""
    if not 12 <= len(sentence) <= 300 or _PASTED.match(sentence) or sentence.endswith("\\"):
        return False
    plain = sum(letter.isalpha() or letter in " ,.'’" for letter in sentence)
    return plain >= 0.75 * len(sentence)


def _may_rule(text: str) -> bool:
    """A quick look before the pattern, which takes ten times as long."""
    lowered = text.lower()
    return any(part in lowered for part in _IN_RULINGS)


def _answered(seen: Observation, event: SessionEvent) -> None:
    answer: ChosenAnswer = {
        "about": clipped(flattened(event.about), 120),
        "text": clipped(flattened(event.text), 300),
        "call": seen["calls"],
    }
    seen["answers"] = _newest([*seen["answers"], answer], 10, ROOM["answers"])
    _rule(seen, event.text)


def _spoke(seen: Observation, event: SessionEvent) -> None:
    seen["said"] = [_said(seen, event.text, ROOM["said"] - 200, end=True)]
    scanned = whole_words(event.text)
    _name(seen, scanned, NAMED_IN["said"], -1)
    _glimpse(seen, scanned, GLIMPSED_IN["said"])


def _planned(seen: Observation, event: SessionEvent) -> None:
    lines = [line.strip() for line in event.text.split("\n") if line.strip()]
    heads = [flattened(line.lstrip("# ")) for line in lines if line.startswith("#")]
    if heads or lines:
        heads = [clipped(head, 100) for head in heads or lines[:6]]
        seen["plan"] = _oldest(heads, 12, ROOM["plan"])


def _said(seen: Observation, text: str, most: int, *, end: bool = False) -> Said:
    text = text.strip()
    short = clipped_bytes(text[-most:] if end else text, most)
    return {"text": short, "at": seen["at"], "call": seen["calls"]}


# Tasks


def _listed(seen: Observation, event: SessionEvent) -> None:
    tasks = [_task(task) for task in event.tasks if task["text"]]
    seen["tasks"] = _kept_tasks(tasks)


def _changed(seen: Observation, event: SessionEvent) -> None:
    tasks = seen["tasks"]
    grown = False
    for change in event.tasks:
        known = next((task for task in tasks if task["key"] == change["key"]), None)
        grown = grown or bool(change["text"])
        if known is None:
            if change["text"]:
                tasks.append(_task(change))
        else:
            known["state"] = change["state"] or known["state"]
            known["text"] = clipped(flattened(change["text"]), 160) or known["text"]
    if grown:
        seen["tasks"] = _kept_tasks(tasks)


def _task(task: Task) -> Task:
    return {
        "key": task["key"][:40],
        "text": clipped(flattened(task["text"]), 160),
        "state": task["state"] or "open",
    }


def _kept_tasks(tasks: list[Task]) -> list[Task]:
    """All that fit, in order; tasks that are done go first, the oldest of them before all."""
    # A state may become longer without being measured again: "open", then "dropped".
    room = ROOM["tasks"] - _size(tasks) - 3 * len(tasks)
    if room >= 0:
        return tasks
    kept = list(tasks)
    for over in ("dropped", "done", "open", "active"):
        for task in [task for task in tasks if task["state"] == over]:
            if room >= 0:
                return kept
            kept.remove(task)
            room += _size(task) + 5
    return kept


# Files and names


def _placed(seen: Observation, event: SessionEvent) -> None:
    # The session's own folder is where it began; a `cd` in between does not rename every path.
    seen["cwd"] = seen["cwd"] or event.path[:300].rstrip("/")


def _edited(seen: Observation, event: SessionEvent) -> None:
    path = _relative(seen, event.path)
    if not path:
        return
    file = _touch(seen, path, EDIT)
    seen["edits"] += 1
    file["edits"] += 1
    if event.change == "deleted":
        file["state"] = "deleted"
    elif event.change == "created" and not file["reads"] and file["edits"] == 1:
        file["state"] = "created"
    elif file["state"] != "created":
        file["state"] = "edited"
    _name(seen, event.text, NAMED_IN["edit"], file["number"])
    _glimpse(seen, whole_words(event.text), GLIMPSED_IN["edit"])
    _wait(seen, event.id, "edit", path)


def _looked(seen: Observation, event: SessionEvent) -> None:
    path = _relative(seen, event.path)
    file = _touch(seen, path, READ) if path else None
    number = -1
    if file is not None:
        number = file["number"]
        file["reads"] += 1
        _wait(seen, event.id, "read", path)
    if event.text:
        _name(seen, event.text, NAMED_IN["search"], number)


def _searched(seen: Observation, event: SessionEvent) -> None:
    path = _relative(seen, event.path)
    file = _touch(seen, path, READ) if path and paths_in(path) == [path] else None
    _name(seen, event.text, NAMED_IN["search"], -1 if file is None else file["number"])
    _wait(seen, event.id, "search", path)


def _called(seen: Observation, event: SessionEvent) -> None:
    # Its first word is the tool itself.
    if event.text:
        _name(seen, event.text.partition(" ")[2], NAMED_IN["call"], -1)


def _relative(seen: Observation, path: str) -> str:
    """A path as the session's folder sees it; empty for one that is of no use to anybody."""
    path = path.strip()
    cwd = seen["cwd"]
    if cwd and path.startswith(cwd + "/"):
        path = path[len(cwd) + 1 :]
    path = path.removeprefix("./")
    if path.startswith(_ELSEWHERE) or "\n" in path or len(path) > 240 or path == cwd:
        return ""
    return path


def _touch(seen: Observation, path: str, use: float) -> SeenFile:
    files = seen["files"]
    file = files.get(path)
    is_new = file is None
    if file is None:
        seen["numbered"] += 1
        seen["glimpsed"].pop(path, None)
        file = files[path] = {
            "number": seen["numbered"],
            "weight": -99.0,
            "edits": 0,
            "reads": 0,
            "call": 0,
            "state": "read",
        }
    file["weight"] = _heavier(file["weight"], use, seen["calls"])
    file["call"] = seen["calls"]
    if file["state"] == "deleted":
        file["state"] = "edited" if file["edits"] else "read"
    if path in seen.get("gone", ()):
        seen["gone"].remove(path)
    if is_new:
        _shrink(files, ROOM["files"], 60, keep=path)
    return file


def _glimpse(seen: Observation, text: str, use: float) -> None:
    """Paths that a text names without anything being done to them yet."""
    text = " ".join([word for word in text.split() if "/" in word])
    if not text:
        return
    glimpsed = seen["glimpsed"]
    grown = False
    for found in paths_in(text):
        path = _relative(seen, found)
        if path.startswith(("a/", "b/")):
            path = path[2:]  # the two sides of a diff
        if "/" not in path or len(path) > 120 or not path.isascii() or path[0] in "/~":
            continue
        if path.startswith("..") or _is_gone(seen, path):
            continue
        if path in seen["files"]:
            file = seen["files"][path]
            file["weight"] = _heavier(file["weight"], use, seen["calls"])
            continue
        grown = grown or path not in glimpsed
        glimpsed[path] = _heavier(glimpsed.get(path, -99.0), use, seen["calls"])
    if grown:
        _lighten(glimpsed, ROOM["glimpsed"])


def _lighten(table: dict[str, float], room: int) -> None:
    """Drop the lightest keys of a table of weights that has grown too large."""
    if sum(map(len, table)) + 12 * len(table) <= room:
        return
    room = room * 5 // 6
    kept: set[str] = set()
    for _, key in sorted([(-weight, key) for key, weight in table.items()]):
        room -= len(key) + 12
        if room < 0:
            break
        kept.add(key)
    for key in [key for key in table if key not in kept]:
        del table[key]


def _name(seen: Observation, text: str, use: float, number: int) -> None:
    names, now = seen["names"], seen["calls"]
    fresh = round(log2(use) + now / HALF_LIFE, 2)
    before = len(names)
    for name in names_in(text):
        known = names.get(name)
        if known is None:
            names[name] = [fresh, number]
        else:
            known[0] = _heavier(known[0], use, now)
            if number >= 0:
                known[1] = number
    if len(names) == before or sum(map(len, names)) + 16 * len(names) <= ROOM["names"]:
        return
    room = ROOM["names"] * 9 // 10
    kept = {}
    for _, name in sorted([(-known[0], name) for name, known in names.items()]):
        room -= len(name) + 16
        if room < 0:
            break
        kept[name] = names[name]
    seen["names"] = kept


# Commands


def _ran(seen: Observation, event: SessionEvent) -> None:
    line = event.text.strip()
    key = _in_its_folder(seen, event.path, line)
    steps = steps_of(line, _folder_of(seen, event.path, ""), seen["cwd"])
    if steps and not _KEEPS_HOUSE.match(key):
        _use_command(seen, key, line)
    _grow_habit(seen, line)
    folder = _folder_of(seen, event.path, line)
    number = -1
    for found in paths_in(line):
        path = _relative(seen, found)
        if "/" in path or path in seen["files"]:
            number = _touch(seen, path, READ)["number"]
    for shown in _SHOWS.findall(line):
        for path in paths_in(shown):
            if "/" not in path:
                number = _touch(seen, f"{folder}/{path}" if folder else path, READ)["number"]
    _name(seen, line[:6000], NAMED_IN["run"], number)
    removed, made = _moved_by(seen, folder, line)
    moves = ["\n".join(removed), "\n".join(made)] if removed else []
    commits = "commits" if "git commit" in line or "git -C" in line else ""
    _wait(seen, event.id, "line", key, _bounded_steps(steps), str(number), commits, *moves)


def _bounded_steps(steps: list[str]) -> str:
    """Steps of a line, one a line, as many as there is room for while it runs."""
    while len(steps) > 1 and sum(map(len, steps)) > LONGEST_STEPS:
        # The last one has the status of the line.
        del steps[0]
    return "\n".join(steps)


def _in_its_folder(seen: Observation, folder: str, line: str) -> str:
    """What names a command: tests that pass in one folder say nothing of those in another."""
    key, folder = same_command(line), _folder_of(seen, folder, line)
    return clipped_bytes(f"cd {folder} && {key}", 160) if folder else key


def _folder_of(seen: Observation, folder: str, line: str) -> str:
    """The folder that a command runs in, as the session's folder sees it; empty for that one."""
    entered = _INTO_FOLDER.match(line)
    if entered:
        folder = entered[1].strip("\"'")
    folder = folder.rstrip("/")
    if folder == seen["cwd"]:
        return ""
    folder = folder.removeprefix(seen["cwd"] + "/").removeprefix("./")
    return "" if folder == "." else folder


def _use_command(seen: Observation, key: str, line: str) -> None:
    commands = seen["commands"]
    known = commands.get(key)
    if known is None:
        known = {"text": _shown(line), "weight": -99.0, "runs": 0, "failed": None, "call": 0}
        commands[key] = known
        _shrink(commands, ROOM["commands"], 20, keep=key)
    known["text"] = _shown(line)
    known["weight"] = _heavier(known["weight"], USE, seen["calls"])
    known["runs"] += 1
    known["failed"] = None
    known["call"] = seen["calls"]


def _grow_habit(seen: Observation, line: str) -> None:
    """How the session looks around: the first words of its commands."""
    habits = seen["habits"]
    for part in dict.fromkeys((line, _INTO_FOLDER.sub("", line))):
        start = " ".join(part.split(None, 3)[:3])
        if 6 < len(start) <= 100 and start.isascii() and not _NO_HABIT.search(start):
            habits[start] = _heavier(habits.get(start, -99.0), USE, seen["calls"])
    _lighten(habits, ROOM["habits"])


def _shown(line: str) -> str:
    """The command that a line runs, on one line; text that it is fed stays away."""
    line = line.strip().replace("\\\n", " ")
    first, _, rest = _INTO_FOLDER.sub("", _SETTING.sub("", line)).partition("\n")
    first = flattened(first).replace(" 2>&1", "")
    return clipped_bytes(first + (" …" if rest.strip() else ""), 160)


def same_command(line: str) -> str:
    """What stays of a command line when the folder, the pipe behind it and the like are left out."""
    text = flattened(_INTO_FOLDER.sub("", line.strip()))
    before = None
    while before != text:
        before = text
        text = _PIPED_AWAY.sub("", _BEFORE.sub("", _SETTING.sub("", text))).strip()
    text = _GIT_ELSEWHERE.sub("git ", text)
    return clipped_bytes(text or flattened(line), 160)


def _ended(seen: Observation, event: SessionEvent) -> None:
    what = seen["pending"].pop(event.id, None)
    if what is None:
        return
    kind, subject = what[0], what[1]
    if kind == "edit" and event.failed:
        file = seen["files"].get(subject)
        seen["edits"] -= 1
        if file is not None:
            file["edits"] = max(0, file["edits"] - 1)
            if not file["edits"]:
                file["state"] = "read"
        return
    number = -1
    if kind in ("read", "search"):
        file = seen["files"].get(subject)
        number = file["number"] if file is not None else -1
        if kind == "read" and event.failed and file is not None and not file["edits"]:
            del seen["files"][subject]
            return
    if kind == "line":
        number = int(what[3])
        _outcome(seen, what, event)
        if event.failed is False and len(what) > 5:
            _gone(seen, what[5].split("\n"), what[6].split("\n"))
        if event.failed is None:
            seen["pending"][event.id] = what
    # A command that failed names what is wrong; any other call says only that it was called wrongly.
    if event.text and (kind == "line" or not event.failed):
        source = "report" if kind == "agent" else "output"
        scanned = whole_words(event.text)
        _name(seen, scanned, NAMED_IN[source], number)
        _glimpse(seen, scanned, GLIMPSED_IN[source])


def _outcome(seen: Observation, what: list[str], event: SessionEvent) -> None:
    ends = ends_of([step for step in what[2].split("\n") if step], event.text, event.failed)
    command = seen["commands"].get(what[1])
    if command is not None:
        known = {failed for _, failed in ends} or {event.failed}
        command["failed"] = True if True in known else None if None in known else False
    failing = [step for step, failed in ends if failed]
    if failing and not _NOTHING_TO_DO.search(event.text[-400:]):
        _fail(seen, failing, event.text)
    passed = [step for step, failed in ends if failed is False]
    _close(seen, passed, [step for step, failed in ends if failed is None])
    if what[4] and event.failed is False:
        for _, id, text in _COMMIT.findall(event.text)[:5]:
            commit: Commit = {"id": id[:10], "text": clipped(text, 100), "call": seen["calls"]}
            seen["commits"] = _newest([*seen["commits"], commit], 8, ROOM["commits"])


def _fail(seen: Observation, steps: list[str], output: str) -> None:
    """Add a failure. It takes the place of older ones of the same steps."""
    kept = [one for one in seen["failures"] if not set(_steps_of_failure(one)) <= set(steps)]
    failure: Failure = {
        "key": clipped_bytes("\n".join(steps), 240),
        "text": clipped_bytes(" && ".join(steps), 160),
        "end": ending(output),
        "call": seen["calls"],
        "edits": seen["edits"],
    }
    seen["failures"] = _newest([*kept, failure], 4, ROOM["failures"])


def _close(seen: Observation, passed: list[str], unknown: list[str]) -> None:
    """Drop the failures that a run covers. One of several steps stays until all have passed."""
    kept: list[Failure] = []
    for failure in seen["failures"]:
        steps = _steps_of_failure(failure)
        left = [step for step in steps if not any(step_covers(one, step) for one in passed)]
        if not left or (not is_check(left) and seen["calls"] - failure["call"] > LONGEST_OPEN):
            continue
        if len(left) < len(steps):
            failure["key"] = "\n".join(left)
            failure["text"] = clipped_bytes(" && ".join(left), 160)
        if any(step_covers(one, step) for one in unknown for step in left):
            failure["again"] = True
        kept.append(failure)
    seen["failures"] = kept
    for key, command in seen["commands"].items():
        if command["failed"] and passed:
            steps = [step[1:] for step in steps_of(key)]
            if all(any(step_covers(one, step) for one in passed) for step in steps):
                # Not this line, but what it checks has passed since.
                command["failed"] = None


def _steps_of_failure(failure: Failure) -> list[str]:
    return [step[1:] for line in failure["key"].split("\n") for step in steps_of(line)]


def ending(output: str) -> str:
    """The end of an error's output, where it usually says why."""
    lines = [line.rstrip() for line in output.strip().split("\n") if line.strip()]
    if len(lines) > 1 and lines[0].startswith("Exit code"):
        lines = lines[1:]
    kept: list[str] = []
    room = 360
    for each in reversed(lines[-8:]):
        line = clipped_bytes(each.strip(), 160)
        room -= len(line) + 1
        if room < 0:
            break
        kept.insert(0, line)
    return "\n".join(kept)


def _moved_by(seen: Observation, folder: str, line: str) -> tuple[list[str], list[str]]:
    """The paths that a command removes or moves away, and those that it brings or brings back."""
    removed: list[str] = []
    made: list[str] = []
    if "rm " in line or "mv " in line:
        for part in _PARTS.split(_INTO_FOLDER.sub("", line)):
            removes, moves = _REMOVES.match(part), _MOVES.match(part)
            if removes:
                removed += removes[1].split()
            elif moves:
                removed.append(moves[1])
                made.append(moves[2])
    return _bounded_paths(seen, folder, removed), _bounded_paths(seen, folder, made)


def _bounded_paths(seen: Observation, folder: str, words: list[str]) -> list[str]:
    kept: list[str] = []
    room = 600
    for word in words:
        path = _relative(seen, word.strip("\"'"))
        if not path or path[0] in "-/.$*" or "\n" in path:
            continue
        path = (f"{folder}/{path}" if folder else path).rstrip("/")
        room -= len(path) + 1
        if room < 0:
            break
        kept.append(path)
    return kept


def _gone(seen: Observation, removed: list[str], made: list[str]) -> None:
    """Mark files that a command removed or moved away, and remember that they are gone."""
    for path in removed:
        for known, file in seen["files"].items():
            if _lies_in(known, path):
                file["state"] = "deleted"
        for known in [known for known in seen["glimpsed"] if _lies_in(known, path)]:
            del seen["glimpsed"][known]
    gone = [path for path in seen.get("gone", []) if path not in removed] + removed
    gone = [path for path in gone if not any(_lies_in(path, one) for one in made)]
    seen["gone"] = _newest(gone, 30, ROOM["gone"])


def _is_gone(seen: Observation, path: str) -> bool:
    return any(_lies_in(path, one) for one in seen.get("gone", ()))


def _lies_in(path: str, folder: str) -> bool:
    return bool(folder) and (path == folder or path.startswith(folder.rstrip("/") + "/"))


# Subagents and compaction


def _sent(seen: Observation, event: SessionEvent) -> None:
    seen["agents"][event.id[:60]] = clipped(flattened(event.text), 100)
    while _size(seen["agents"]) > ROOM["agents"]:
        del seen["agents"][next(iter(seen["agents"]))]
    _name(seen, event.text, NAMED_IN["call"], -1)
    _wait(seen, event.id, "agent", "")


def _returned(seen: Observation, event: SessionEvent) -> None:
    seen["agents"].pop(event.id[:60], None)


def _compacted(seen: Observation, event: SessionEvent) -> None:
    seen["compactions"] += 1


def _summarised(seen: Observation, event: SessionEvent) -> None:
    # Its text stays in the transcript; here it is only known when it was written.
    seen["summary"] = {"text": "", "at": seen["at"], "call": seen["calls"]}


_STEPS: dict[str, Any] = {
    "place": _placed,
    "prompt": _prompted,
    "said": _spoke,
    "run": _ran,
    "edit": _edited,
    "read": _looked,
    "search": _searched,
    "call": _called,
    "result": _ended,
    "plan": _planned,
    "tasks": _listed,
    "task": _changed,
    "answer": _answered,
    "agent": _sent,
    "agent_end": _returned,
    "compact": _compacted,
    "summary": _summarised,
}


# Sizes and weights


def weight_now(weight: float, seen: Observation) -> float:
    """A kept weight as a number of uses right now."""
    return float(2.0 ** max(-60.0, weight - seen["calls"] / HALF_LIFE))


def _heavier(weight: float, use: float, now: int) -> float:
    """A kept weight after one more use."""
    fresh = log2(use) + now / HALF_LIFE
    high, low = max(weight, fresh), min(weight, fresh)
    return round(high + log2(1.0 + 2.0 ** max(-60.0, low - high)), 2)


def _wait(seen: Observation, id: str, *what: str) -> None:
    pending = seen["pending"]
    pending.pop(id, None)
    if not id or len(id) > 100:
        return
    pending[id] = list(what)
    while len(pending) > 2 and _size(pending) > ROOM["pending"]:
        del pending[next(iter(pending))]


def _shrink(table: dict[str, Any], room: int, most: int, *, keep: str) -> None:
    """Drop the lightest entries of a table that has grown too large, a few at a time."""
    sizes = {key: _size(key) + _size(entry.get("text", "")) + ENTRY for key, entry in table.items()}
    if len(table) <= most and sum(sizes.values()) <= room:
        return
    room = room * 9 // 10
    kept: set[str] = set()
    for key in sorted(table, key=lambda key: (key != keep, -table[key]["weight"], key)):
        room -= sizes[key]
        if room < 0 or len(kept) == most * 9 // 10:
            break
        kept.add(key)
    for key in [key for key in table if key not in kept]:
        del table[key]


def _newest(items: list[Any], most: int, room: int) -> list[Any]:
    items = items[-most:]
    if _size(items) <= room:
        return items
    kept: list[Any] = []
    for item in reversed(items):
        room -= _size(item) + 2
        if room < 0:
            break
        kept.insert(0, item)
    return kept


def _oldest(items: list[Any], most: int, room: int) -> list[Any]:
    return _newest(items[:most][::-1], most, room)[::-1]


def _size(value: Any) -> int:
    """How many bytes a value takes as JSON."""
    if isinstance(value, str) and value.isascii() and value.isprintable():
        return len(value) + 2 + value.count('"') + value.count("\\")
    from json import dumps  # with `re` behind it; a session's start seldom comes here

    return len(dumps(value))


def flattened(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


def clipped(text: str, most: int) -> str:
    """The beginning of a text, bounded in letters and in bytes of JSON."""
    return clipped_bytes(text, most)


def clipped_bytes(text: str, most: int) -> str:
    short = text if len(text) <= most else text[: most - 1].rstrip() + "…"
    while not short.isascii() and _size(short) > most + 40:
        short = short[: len(short) * 3 // 4]
    return short if short.isprintable() else _printable(short, most)


def _printable(text: str, most: int) -> str:
    """Control characters take six bytes each in JSON; only line breaks and tabs may stay."""
    text = _CONTROLS.sub("", text)
    while _size(text) > most * 5 // 4 + 40:
        text = text[: len(text) * 3 // 4]
    return text
