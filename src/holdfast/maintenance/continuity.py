"""Continuity: how much of what comes next does a text for the next session name?

A recorded session is cut where its client compacted it, and in the middle of turns. What the session
did after the cut is the judge:

- FUTURE: the files, code names and commands of its next 25 tool calls, as far as they had occurred
  before the cut. Which share of them does the text name?
- CARRIED: the request under way, the person's rulings and answers, the headings of the plan, the open
  tasks. Which share of them is in the text?
- FALSE: tasks shown open that are done, commands shown failing that passed since, files shown that
  are gone. How many are in the text?

It needs no model and no labels. It does not measure reasoning or prose.

The judge reads sessions with the product's transcript readers. It finds everything else by its own
rules, on purpose: rulings, tasks, failures, names and deleted files. If it shared these with
`session.observe`, a mistake there would be a mistake here too, and the product could not fail.
"""

from __future__ import annotations

import gzip
import os
import re
import shlex
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import TYPE_CHECKING, Literal, NamedTuple

from holdfast.clients.conversation import TOOL_CALLS, SessionEvent, decode, flat
from holdfast.clients.discovery import session_at, sessions_in
from holdfast.clients.lines import Unread
from holdfast.clients.transcripts import read_new
from holdfast.kernel import config
from holdfast.kernel.canonical_json import table_of, text_of
from holdfast.session.observe import observe
from holdfast.session.pack import render

if TYPE_CHECKING:
    from holdfast.clients.folders import FoundSession

CALLS_AHEAD = 25
FEWEST_CALLS_AHEAD = 10
FEWEST_CALLS = 40
FEWEST_EVENTS_BEFORE = 30
MID_TURN_SHARES = (0.2, 0.35, 0.5, 0.65, 0.8)
MOST_NAMES = 60
# As the mod counts them (plugins/holdfast/hooks/register.js).
CHARACTERS_PER_TOKEN = 4
MOST_RULINGS, MOST_ANSWERS, MOST_HEADINGS = 12, 8, 8
# A name that so large a share of many sessions uses says nothing about one of them.
COMMON_SHARE, ENOUGH_SESSIONS = 0.3, 20
ENDINGS = (".jsonl", ".json", ".db")

Kind = Literal["compaction", "mid-turn"]
FUTURE = ("files", "names", "commands")
CARRIED = ("request", "rulings", "answers", "plan", "tasks")

_PATH = re.compile(
    r"[\w./-]*[\w-]\.(?:py|go|rs|ts|tsx|js|jsx|java|kt|rb|c|h|cc|cpp|cs|md|json|toml|yaml|yml|"
    r"sh|sql|html|css|txt|mod|lock)\b"
)
_WORD = re.compile(r"\b[A-Za-z_][A-Za-z0-9_]{6,50}\b")
_TELLING_NAME = re.compile(r"[a-z][A-Z]|_|[0-9]")
_REQUEST_WORD = re.compile(r"[A-Za-z_][\w.-]{3,}")
_SENTENCE_END = re.compile(r"(?<=[.!?\n])\s+")
_RULING = re.compile(
    r"(?i)\b(?:do not|don'?t|never|always|must|instead|only|should not|shouldn'?t|no need|rather|"
    r"prefer|make sure|keep|from now on)\b"
)
_HEADING = re.compile(r"^\s*(?:#+|\d+\.)\s+(.+?):?\s*$")
_BULLET = re.compile(r"^[\s>*-]*(?:\[[^\]]{0,12}\]\s*)?")
_OPEN_MARK = re.compile(r"\[(?: |>|~|pending|in_progress|in progress|open|active)\]", re.IGNORECASE)
_DONE_MARK = re.compile(r"\[x\]|\bdone\b|\bcompleted\b", re.IGNORECASE)
_OPEN_HEADING = re.compile(r"remaining|open task|pending|in progress|to do", re.IGNORECASE)
_FAILING = re.compile(r"fail", re.IGNORECASE)
_PASSED = re.compile(r"\bpass", re.IGNORECASE)
_GONE = re.compile(r"delete|removed|gone", re.IGNORECASE)
# A package of Go, a module of unittest; an empty name is a linter's count of issues.
_FAILED_NAME = re.compile(
    r"^(?:FAIL\t(\S+)|(?:FAIL|ERROR): \w+ \((\S+)\)|(?:\[[\w:]+\] )?[1-9]\d* issues?:)",
    re.MULTILINE,
)
_PASSED_NAME = re.compile(
    r"^(?:ok  \t(\S+)|test_\w+ \((\S+)\)(?:\n.*)? \.\.\. ok|(?:\[[\w:]+\] )?0 issues\.)",
    re.MULTILINE,
)
_ELSEWHERE = ("/tmp/", "/private/", "/var/", "/dev/")  # noqa: S108


@dataclass
class Recording:
    """One session: what happened, and whose it is."""

    name: str
    client: str
    events: list[SessionEvent]
    # The client's own summaries, whole: the readers shorten them.
    summaries: list[str] = field(default_factory=list)

    @property
    def folder(self) -> str:
        return next((event.path for event in self.events if event.kind == "place"), "")

    @property
    def calls(self) -> list[int]:
        """The places of the tool calls among the events."""
        return [number for number, event in enumerate(self.events) if is_call(event)]


class Cut(NamedTuple):
    """A place in a recording; the events before it are known, those from it on are not."""

    kind: Kind
    place: int


@dataclass
class Needs:
    """What a text should name at a cut, by kind."""

    items: dict[str, list[str]]
    done_tasks: list[str]
    passed_commands: list[str]
    failing_commands: list[str]
    gone_files: list[str]
    # Lines of the person's own words. A text that quotes them claims nothing by it.
    quotable: frozenset[str] = frozenset()


@dataclass
class Scores:
    """The scores of one candidate at many cuts."""

    scores: dict[str, list[float]] = field(default_factory=dict)
    lengths: list[int] = field(default_factory=list)
    false: int = 0
    checked: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, text: str, needs: Needs) -> None:
        found = score(text, needs)
        for figure, parts in (("FUTURE", FUTURE), ("CARRIED", CARRIED)):
            shares = [found[part] for part in parts if part in found]
            if shares:
                found[figure] = mean(shares)
        for name, share in found.items():
            self.scores.setdefault(name, []).append(share)
        self.lengths.append(len(text))
        wrong = false_claims(text, needs)
        self.false += len(wrong)
        self.examples += wrong[: max(0, 5 - len(self.examples))]
        self.checked += len(needs.done_tasks) + len(needs.passed_commands) + len(needs.gone_files)

    def figures(self) -> dict[str, float | int]:
        means = {name: round(mean(shares), 3) for name, shares in self.scores.items()}
        counts = {"false": self.false, "checked": self.checked}
        return {
            **means,
            **counts,
            "characters": round(mean(self.lengths)),
            "cuts": len(self.lengths),
        }


# The text at a cut within a budget; None where the candidate has none by its nature.
Candidate = Callable[[Recording, Cut, int], str | None]
# Candidates by client and kind of cut, then by name.
Table = dict[tuple[str, Kind], dict[str, Scores]]


# Reading sessions


def recordings_in(folder: str, client: str = "") -> Iterator[Recording]:
    """The sessions of the transcripts in a folder and below; `.gz` is unpacked on the way."""
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.removesuffix(".gz").endswith(ENDINGS):
                recording = _recording_at(os.path.join(root, name))
                if recording and client in ("", recording.client):
                    yield recording


def recordings_of(folder: str, client: str = "") -> Iterator[Recording]:
    """The sessions that any client had in a working folder of this user."""
    for found in sessions_in(folder):
        if client in ("", found["client"]):
            recording = _read(found, found["session"])
            if recording:
                yield recording


def _recording_at(path: str) -> Recording | None:
    name = os.path.basename(path).removesuffix(".gz")
    if not path.endswith(".gz"):
        found = session_at(path)
        return _read(found, name) if found else None
    with tempfile.TemporaryDirectory() as folder:
        unpacked = os.path.join(folder, name)
        try:
            with gzip.open(path) as packed, open(unpacked, "wb") as file:
                file.write(packed.read())
        except (OSError, EOFError):
            return None
        found = session_at(unpacked)
        return _read(found, name) if found else None


def _read(found: FoundSession, name: str) -> Recording | None:
    try:
        events = read_new(found)["events"]
    except Unread:
        return None
    return Recording(name, found["client"], events, list(_summaries_in(found["path"])))


def _summaries_in(path: str) -> Iterator[str]:
    """The summaries that Claude Code and Codex wrote at their compactions, in order."""
    if not os.path.isfile(path):
        return
    with open(path, "rb") as file:
        for line in file:
            if b'"isCompactSummary"' not in line and b'"compacted"' not in line:
                continue
            for record in decode(line):
                if record.get("isCompactSummary"):
                    content = table_of(record.get("message")).get("content")
                    yield flat(content, len(line))
                elif record.get("type") == "compacted":
                    yield text_of(table_of(record.get("payload")).get("message"))


# Cutting


def is_call(event: SessionEvent) -> bool:
    return event.kind in TOOL_CALLS and not event.again


def cuts_of(recording: Recording) -> list[Cut]:
    """Every compaction, and five places in the middle of turns."""
    events, calls = recording.events, recording.calls
    if len(calls) < FEWEST_CALLS:
        return []
    cuts = [Cut("compaction", n) for n, event in enumerate(events) if event.kind == "compact"]
    cuts += [Cut("mid-turn", calls[int(len(calls) * share)]) for share in MID_TURN_SHARES]
    return [cut for cut in cuts if _is_fair(cut, calls)]


def _is_fair(cut: Cut, calls: Sequence[int]) -> bool:
    ahead = sum(1 for place in calls if place >= cut.place)
    return ahead >= FEWEST_CALLS_AHEAD and cut.place >= FEWEST_EVENTS_BEFORE


def before(recording: Recording, cut: Cut) -> list[SessionEvent]:
    """What was known at the cut, without the client's own summaries."""
    return [event for event in recording.events[: cut.place] if event.kind != "summary"]


# What the rest of the session needed


def needs_at(recording: Recording, cut: Cut, common: frozenset[str] = frozenset()) -> Needs:
    """What a text at the cut should name, and what it must not claim."""
    history = before(recording, cut)
    known = "\n".join(f"{event.text}\n{event.path}" for event in history)
    ahead = _calls_ahead(recording, cut)
    files = dict.fromkeys(path for event in ahead for path in files_of(event, recording.folder))
    names = Counter(name for event in ahead for name in names_in(event.text) if name not in common)
    commands = dict.fromkeys(_begin(event.text) for event in ahead if event.kind == "run")
    tasks = tasks_at(history)
    items = {
        "files": [path for path in files if path in known],
        "names": [name for name, _ in names.most_common(MOST_NAMES) if name in known],
        "commands": [line for line in commands if len(line) > 6 and line in known],
        "request": _request_words(history),
        "rulings": rulings_in(history),
        "answers": [event.text for event in history if event.kind == "answer"][-MOST_ANSWERS:],
        "plan": _plan_headings(history),
        "tasks": [text for text, state in tasks.items() if state in ("open", "active")],
    }
    done = [text for text, state in tasks.items() if state in ("done", "dropped")]
    prompts = [event.text for event in history if event.kind == "prompt"]
    return Needs(
        items,
        done,
        *_ends_of_commands(history),
        gone_files(history, recording.folder),
        frozenset(line.strip() for text in prompts for line in text.split("\n")),
    )


def _calls_ahead(recording: Recording, cut: Cut) -> list[SessionEvent]:
    """The next tool calls, with all parts of each."""
    found: list[SessionEvent] = []
    count = 0
    for event in recording.events[cut.place :]:
        if event.kind not in TOOL_CALLS:
            continue
        count += not event.again
        if count > CALLS_AHEAD:
            break
        found.append(event)
    return found


def files_of(event: SessionEvent, folder: str) -> list[str]:
    """The files that a call names, relative to the session's folder."""
    if event.kind == "run":
        paths = [path for path in _PATH.findall(event.text) if "/" in path]
    elif event.kind in ("edit", "read", "search"):
        paths = [event.path] if _PATH.search(event.path) else []
    else:
        paths = []
    short = [_relative(path, folder) for path in paths]
    return [path for path in short if not path.startswith(_ELSEWHERE)]


def _relative(path: str, folder: str) -> str:
    if folder and path.startswith(folder.rstrip("/") + "/"):
        path = path[len(folder.rstrip("/")) + 1 :]
    return path.removeprefix("./")


def names_in(text: str) -> Iterator[str]:
    """Words that look like code: longer, with an inner capital, an underscore or a digit."""
    return (word for word in _WORD.findall(text) if _TELLING_NAME.search(word))


def _begin(command: str) -> str:
    return " ".join(command.split()[:3])


def _request_words(history: Sequence[SessionEvent]) -> list[str]:
    prompts = [event.text for event in history if event.kind == "prompt"]
    if not prompts:
        return []
    return list(dict.fromkeys(word.lower() for word in _REQUEST_WORD.findall(prompts[-1][:1200])))


def rulings_in(history: Iterable[SessionEvent]) -> list[str]:
    """Sentences in which the person ruled something in or out, the newest last."""
    found: dict[str, None] = {}
    for event in history:
        if event.kind != "prompt" or len(event.text) > 3000:
            continue
        for sentence in _SENTENCE_END.split(event.text):
            line = " ".join(sentence.split())
            if 20 <= len(line) <= 240 and _RULING.search(line):
                found[line] = None
    return list(found)[-MOST_RULINGS:]


def _plan_headings(history: Sequence[SessionEvent]) -> list[str]:
    plans = [event.text for event in history if event.kind == "plan"]
    if not plans:
        return []
    lines = (line for line in plans[-1].split("\n") if line.startswith("#"))
    return [" ".join(line.lstrip("# ").split()) for line in lines][:MOST_HEADINGS]


def tasks_at(history: Iterable[SessionEvent]) -> dict[str, str]:
    """The state of each task of the client's list, by its text."""
    tasks: dict[str, tuple[str, str]] = {}
    for event in history:
        if event.kind == "tasks":
            tasks = {}
        if event.kind in ("tasks", "task"):
            for task in event.tasks:
                text, state = tasks.get(task["key"], ("", "open"))
                tasks[task["key"]] = (task["text"] or text, task["state"] or state)
    return {text: state for text, state in tasks.values() if text}


def _ends_of_commands(history: Iterable[SessionEvent]) -> tuple[list[str], list[str]]:
    """Commands that failed and passed later, and those that have not passed since.

    The judge goes by what was printed, the product by what was run: a failing run names packages
    and linters, and a later output that names all of them as passing closes it.
    """
    running: dict[str, str] = {}
    waiting: dict[str, set[tuple[str, str]]] = {}
    passed: dict[str, None] = {}
    for event in history:
        if event.kind == "run":
            running[event.id] = " ".join(event.text.split())
        elif event.kind == "result" and event.id in running:
            command = running[event.id]
            named = _named_in(event.text, _FAILED_NAME, command)
            if event.failed or named:
                waiting[command] = named
                passed.pop(command, None)
            elif event.failed is False:
                good = _named_in(event.text, _PASSED_NAME, command)
                for other, left in list(waiting.items()):
                    still = {one for one in left if one not in good and (one[0], "") not in good}
                    if other == command or (left and not still):
                        passed[other] = None
                        del waiting[other]
                    else:
                        waiting[other] = still
    return list(passed), list(waiting)


def _named_in(output: str, pattern: re.Pattern[str], command: str) -> set[tuple[str, str]]:
    """What an output names as failed or passed, with the tests and the folder of its command."""
    chosen = re.search(r"-run[ =](\S+)", command)
    folder = re.match(r"cd (\S+)", command)
    place = folder[1] if folder else ""
    return {
        (f"{place} {''.join(names) or 'lint'}", chosen[1] if chosen else "")
        for names in pattern.findall(output)
    }


def gone_files(history: Iterable[SessionEvent], folder: str) -> list[str]:
    """Files that the session named and deleted or moved away, and did not make again."""
    known: set[str] = set()
    gone: dict[str, None] = {}
    for event in history:
        if event.kind == "run":
            for path in _removed_by(event.text):
                inside = [one for one in known if one == path or one.startswith(path + "/")]
                gone |= dict.fromkeys(inside)
        for path in files_of(event, folder):
            known.add(path)
            if event.kind == "edit" and event.change == "deleted":
                gone[path] = None
            elif event.kind == "edit":
                gone.pop(path, None)
    return list(gone)


def _removed_by(command: str) -> Iterator[str]:
    for part in re.split(r"&&|\|\||;|\n", command):
        try:
            words = shlex.split(part)
        except ValueError:
            continue
        if words[:1] == ["git"]:
            words = words[1:]
        if words[:1] == ["rm"]:
            yield from (word.rstrip("/") for word in words[1:] if not word.startswith("-"))
        elif words[:1] == ["mv"] and len(words) == 3:
            yield words[1]


# Judging a text


def score(text: str, needs: Needs) -> dict[str, float]:
    """The share of each kind that the text names; kinds of which nothing was needed are left out."""
    low, even = text.lower(), " ".join(text.split())
    tests: dict[str, Callable[[str], bool]] = {
        "files": lambda path: path in text or "/".join(path.split("/")[-2:]) in text,
        "names": lambda name: name in text,
        "commands": lambda line: line in text,
        "request": lambda word: word in low,
        "tasks": lambda task: task[:50].lower() in low,
    }

    def stands_there(line: str) -> bool:
        return " ".join(line.split())[:60] in even

    return {
        kind: sum(map(tests.get(kind, stands_there), wanted)) / len(wanted)
        for kind, wanted in needs.items.items()
        if wanted
    }


def false_claims(text: str, needs: Needs) -> list[str]:
    """Lines that claim what is not so any more. A line is a claim only where it says so plainly:
    by a mark, by a word, or by the heading that it stands under."""
    found = []
    heading = ""
    for line in text.split("\n"):
        match = _HEADING.match(line)
        if match:
            heading = match[1]
        if line.strip() not in needs.quotable and _is_false(line, heading, needs):
            found.append(line.strip())
    return found


def _is_false(line: str, heading: str, needs: Needs) -> bool:
    content = line[_BULLET.match(line).end() :]  # type: ignore[union-attr]
    shown_open = _OPEN_MARK.search(line) or (
        _OPEN_HEADING.search(heading) and not _DONE_MARK.search(line)
    )
    if shown_open and any(content.startswith(task[:50]) for task in needs.done_tasks):
        return True
    for command in needs.passed_commands:
        rest = _after(content, command)
        if rest is not None and not _PASSED.search(rest):
            return bool(_FAILING.search(rest) or _FAILING.search(heading))
        # A part of the line may be shown.
        shown, failed, _ = content.partition(" (failed")
        if failed and len(shown) > 5 and shown in command:
            words = set(shown.split())
            return not any(words <= set(one.split()) for one in needs.failing_commands)
    for path in needs.gone_files:
        rest = _after(content, path)
        if rest is not None and not _GONE.search(rest) and not _GONE.search(heading):
            return "file" in heading.lower()
    return False


def _after(content: str, start: str) -> str | None:
    """What follows in a line that begins with a whole command or path; None for any other line."""
    if not content.startswith(start):
        return None
    rest = content[len(start) :]
    return None if re.match(r"[\w./-]", rest) else rest


# Candidates


def holdfast_pack(recording: Recording, cut: Cut, budget: int) -> str:
    """What the next session gets from us."""
    return render({"seen": observe(None, recording.events[: cut.place])}, budget)


def tail(recording: Recording, cut: Cut, budget: int) -> str:
    """The end of the conversation as it is."""
    parts: list[str] = []
    room = budget
    for event in reversed(before(recording, cut)):
        if event.kind == "prompt":
            part = f"User: {event.text}"
        elif event.kind == "said":
            part = f"Assistant: {event.text}"
        elif event.kind in TOOL_CALLS or event.kind == "result":
            part = f"{event.kind} {event.path} {event.text[:300]}"
        else:
            continue
        parts.append(part)
        room -= len(part) + 1
        if room <= 0:
            break
    return "\n".join(reversed(parts))[-budget:]


def requests_only(recording: Recording, cut: Cut, budget: int) -> str:
    """What the person asked for, the newest first."""
    prompts = [event.text[:2000] for event in before(recording, cut) if event.kind == "prompt"]
    return "\n---\n".join(reversed(prompts))[:budget]


def git_note(recording: Recording, cut: Cut, budget: int) -> str:
    """What git shows: files changed in the session, and its commits, the newest first."""
    history = before(recording, cut)
    changed = [
        path
        for event in history
        if event.kind == "edit"
        for path in files_of(event, recording.folder)
    ]
    commits = [
        event.text for event in history if event.kind == "run" and "git commit" in event.text
    ]
    lines = [*dict.fromkeys(reversed(changed)), *(text[:300] for text in reversed(commits))]
    return "\n".join(lines)[:budget]


def own_summary(recording: Recording, cut: Cut, _budget: int) -> str | None:
    """What the client's model wrote at a compaction, whole."""
    if cut.kind != "compaction":
        return None
    number = sum(event.kind == "compact" for event in recording.events[: cut.place])
    # Empty where the vendor's server keeps the summary to itself.
    return "".join(recording.summaries[number : number + 1]) or None


def own_summary_cut(recording: Recording, cut: Cut, budget: int) -> str | None:
    """The same, within the budget."""
    summary = own_summary(recording, cut, budget)
    return None if summary is None else summary[:budget]


def instant_compaction(recording: Recording, cut: Cut, budget: int) -> str | None:
    """What stands in the conversation's place after our mod's `instant`: the pack, and the last messages
    word for word, whole ones alone."""
    if not _is_ours_to_compact(recording, cut):
        return None
    room = int(config.SETTINGS["claude.compaction_tokens"][0]) * CHARACTERS_PER_TOKEN
    kept: list[SessionEvent] = []
    for event in reversed(before(recording, cut)):
        room -= len(event.text) + len(event.path)
        if room < 0:
            break
        kept.append(event)
    while kept and kept[-1].kind == "result":  # a result whose call is gone does not stand alone
        kept.pop()
    last = [f"{event.kind} {event.path} {event.text}" for event in reversed(kept)]
    return "\n".join([holdfast_pack(recording, cut, budget), *last])


def assisted_compaction(recording: Recording, cut: Cut, budget: int) -> str | None:
    """What stands there after `assist`: the client's own summary, and the pack in the context after it. A
    recorded summary was written without our instructions, so this is the least that it says."""
    summary = own_summary(recording, cut, budget)
    if summary is None or not _is_ours_to_compact(recording, cut):
        return None
    return f"{summary}\n{holdfast_pack(recording, cut, budget)}"


def _is_ours_to_compact(recording: Recording, cut: Cut) -> bool:
    return cut.kind == "compaction" and recording.client == "claude"


OURS = "holdfast"
CANDIDATES: dict[str, Candidate] = {
    OURS: holdfast_pack,
    "end of the conversation": tail,
    "requests only": requests_only,
    "git note": git_note,
    "instant compaction": instant_compaction,
    "assisted compaction": assisted_compaction,
    "client's own summary, whole": own_summary,
    "client's own summary, cut": own_summary_cut,
}


def measure(
    recordings: Iterable[Recording],
    budget: int,
    candidates: Mapping[str, Candidate] = CANDIDATES,
    progress: Callable[[str], None] = lambda _: None,
) -> Table:
    """Cut every recording and judge every candidate at every cut."""
    long_enough = [one for one in recordings if len(one.calls) >= FEWEST_CALLS]
    common = common_names(long_enough)
    table: Table = {}
    for number, recording in enumerate(long_enough, start=1):
        progress(f"{number} of {len(long_enough)}: {recording.name}")
        for cut in cuts_of(recording):
            needs = needs_at(recording, cut, common)
            tallies = table.setdefault((recording.client, cut.kind), {})
            for name, candidate in candidates.items():
                text = candidate(recording, cut, budget)
                if text is not None:
                    tallies.setdefault(name, Scores()).add(text, needs)
    return table


def common_names(recordings: Sequence[Recording]) -> frozenset[str]:
    """Names that many sessions use, such as the keys of a tool's input. Few sessions tell nothing."""
    if len(recordings) < ENOUGH_SESSIONS:
        return frozenset()
    used = Counter(
        name
        for recording in recordings
        for name in {
            name for event in recording.events if is_call(event) for name in names_in(event.text)
        }
    )
    return frozenset(n for n, count in used.items() if count > COMMON_SHARE * len(recordings))


# Showing


COLUMNS = ("FUTURE", "CARRIED", *FUTURE, *CARRIED)


class Comparison(NamedTuple):
    """The figures at one client's cuts of one kind, the best FUTURE first."""

    client: str
    kind: Kind
    cuts: int
    rows: dict[str, dict[str, float | int]]


def comparisons_of(table: Table) -> list[Comparison]:
    """The table for people and programs: plain figures, in a fixed order."""
    comparisons = []
    for (client, kind), tallies in sorted(table.items()):
        figures = {name: tally.figures() for name, tally in tallies.items()}
        ranked = sorted(figures.items(), key=lambda row: (-row[1].get("FUTURE", 0), row[0]))
        cuts = max(int(row["cuts"]) for row in figures.values())
        comparisons.append(Comparison(client, kind, cuts, dict(ranked)))
    return comparisons


def cells_of(comparison: Comparison) -> list[list[str]]:
    """A comparison as rows of text, with its head."""
    head = ["", *COLUMNS, "false", "characters"]
    rows = [
        [
            name,
            *(f"{figures[column]:.2f}" if column in figures else "-" for column in COLUMNS),
            f"{figures['false']} of {figures['checked']}",
            f"{figures['characters']:,}",
        ]
        for name, figures in comparison.rows.items()
    ]
    return [head, *rows]
