"""What the rest of a session needed, and whether a text at the cut says it. The judge has its own rules."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import mean

from bench.continuity.transcripts import (
    Cut,
    Recording,
    before,
    is_call,
)
from holdfast.clients.conversation import TOOL_CALLS, SessionEvent
from holdfast.clients.transcripts import tasks_in

CALLS_AHEAD = 25
MOST_NAMES = 60
MOST_RULINGS, MOST_ANSWERS, MOST_HEADINGS, MOST_HEARD = 12, 8, 8, 6
# What is said during so many calls is compared; with fewer pairs of words, nothing is.
CALLS_TOLD, FEWEST_PAIRS = 60, 15
# A name that so large a share of many sessions uses says nothing about one of them.
COMMON_SHARE, ENOUGH_SESSIONS = 0.3, 20

FUTURE = ("files", "names", "commands")
CARRIED = ("request", "rulings", "answers", "plan", "tasks")

_PATH = re.compile(
    r"[\w./-]*[\w-]\.(?:py|go|rs|ts|tsx|js|jsx|java|kt|rb|c|h|cc|cpp|cs|md|json|toml|yaml|yml|"
    r"sh|sql|html|css|txt|mod|lock)\b"
)
_WORD = re.compile(r"\b[A-Za-z_][A-Za-z0-9_]{6,50}\b")
_TELLING_NAME = re.compile(r"[a-z][A-Z]|_|[0-9]")
_REQUEST_WORD = re.compile(r"[A-Za-z_][\w.-]{3,}")
_PROSE_WORD = re.compile(r"[A-Za-z][\w'-]*")
_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
_COMMON_WORDS = frozenset(
    [
        "about",
        "after",
        "also",
        "been",
        "before",
        "both",
        "could",
        "does",
        "each",
        "from",
        "have",
        "here",
        "into",
        "just",
        "like",
        "more",
        "most",
        "need",
        "next",
        "only",
        "other",
        "over",
        "same",
        "should",
        "since",
        "some",
        "still",
        "such",
        "than",
        "that",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "under",
        "using",
        "very",
        "want",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "will",
        "with",
        "would",
        "your",
    ]
)
_SENTENCE_END = re.compile(r"(?<=[.!?\n])\s+")
_RULING = re.compile(
    r"(?i)\b(?:do not|don'?t|never|always|must|instead|only|should not|shouldn'?t|no need|rather|"
    r"prefer|make sure|keep|from now on)\b"
)
_HEADING = re.compile(r"^\s*(?:#+|\d+\.)\s+(.+?):?\s*$")
_BULLET = re.compile(r"^[\s>*-]*(?:\[[^\]]{0,12}\]\s*)?(?:#\d+ )?")
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
_ELSEWHERE = ("/tmp/", "/private/", "/var/", "/dev/")


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
    # Pairs of words that were said before the cut, and again after it.
    told: frozenset[tuple[str, str]] = frozenset()


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
        if len(needs.told) >= FEWEST_PAIRS:
            found["TOLD"] = len(needs.told & pairs_in(text)) / len(needs.told)
        for figure, parts in (("FUTURE", FUTURE), ("CARRIED", CARRIED), ("HEARD", ("heard",))):
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


def needs_at(recording: Recording, cut: Cut, common: frozenset[str] = frozenset()) -> Needs:
    """What a text at the cut should name, and what it must not claim."""
    history = before(recording, cut)
    known = "\n".join(f"{event.text}\n{event.path}" for event in history)
    ahead = _calls_ahead(recording, cut)
    files = dict.fromkeys(path for event in ahead for path in files_of(event, recording.folder))
    names = Counter(name for event in ahead for name in names_in(event.text) if name not in common)
    commands = dict.fromkeys(_begin(event.text) for event in ahead if event.kind == "run")
    tasks = dict(tasks_in(history))
    items = {
        "files": [path for path in files if path in known],
        "names": [name for name, _ in names.most_common(MOST_NAMES) if name in known],
        "commands": [line for line in commands if len(line) > 6 and line in known],
        "request": _request_words(history),
        "rulings": rulings_in(history),
        "answers": [event.text for event in history if event.kind == "answer"][-MOST_ANSWERS:],
        "plan": _plan_headings(history),
        "tasks": [text for text, state in tasks.items() if state in ("open", "active")],
        "heard": _heard_words(history),
    }
    done = [text for text, state in tasks.items() if state in ("done", "dropped")]
    prompts = [event.text for event in history if event.kind == "prompt"]
    return Needs(
        items,
        done,
        *_ends_of_commands(history),
        gone_files(history, recording.folder),
        frozenset(line.strip() for text in prompts for line in text.split("\n")),
        _said_in(history) & _said_in(_told_ahead(recording, cut)),
    )


def _told_ahead(recording: Recording, cut: Cut) -> list[SessionEvent]:
    """What is said until the calls after which nothing is compared."""
    found, calls = [], 0
    for event in recording.events[cut.place :]:
        calls += event.kind in TOOL_CALLS and not event.again
        if calls > CALLS_TOLD:
            break
        found.append(event)
    return found


def _said_in(events: Iterable[SessionEvent]) -> frozenset[tuple[str, str]]:
    return frozenset(
        pair
        for event in events
        if event.kind in ("prompt", "said")
        for pair in pairs_in(_CODE.sub(" ", event.text))
    )


def pairs_in(text: str) -> frozenset[tuple[str, str]]:
    """The pairs of neighbouring words that carry meaning: no short ones, no common ones, no names of code."""
    words = [
        word.lower()
        for word in _PROSE_WORD.findall(text.replace("`", " "))
        if len(word) > 3 and word.lower() not in _COMMON_WORDS and not _TELLING_NAME.search(word)
    ]
    return frozenset(pairwise(words))


def _heard_words(history: Sequence[SessionEvent]) -> list[str]:
    """What the person said in other ways than by a prompt: while the agent worked, or to a call they refused."""
    prompts = " ".join(" ".join(event.text.split()) for event in history if event.kind == "prompt")
    taken = {event.id for event in history if event.kind == "heard" and not event.text}
    heard = [
        " ".join(event.text.split())
        for event in history
        if (event.kind == "heard" and event.id not in taken) or event.end == "refused"
    ]
    return [text for text in heard if len(text) >= 12 and text[:60] not in prompts][-MOST_HEARD:]


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


# What a text says


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
