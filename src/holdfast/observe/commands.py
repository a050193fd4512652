"""The commands that a session ran: what they did, which of them fail, which files they removed."""

from __future__ import annotations

from holdfast.kernel.patterns import MULTILINE, compile_later
from holdfast.kernel.text import one_line
from holdfast.observe.files import (
    GLIMPSED_IN,
    NAMED_IN,
    READ,
    USE,
    glimpse,
    heavier,
    mark_gone,
    name_all,
    relative,
    take_back,
    touch,
)
from holdfast.observe.mentions import paths_in, whole_words
from holdfast.observe.model import (
    ROOM,
    clipped,
    lighten,
    newest,
    pick,
    shrink,
    telling_lines,
    wait_for_end,
)
from holdfast.observe.outcome import ends_of, is_check, step_covers, steps_of
from holdfast.observe.story import change, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.conversation import SessionEvent
    from holdfast.observe.model import Commit, Failure, Observation

LONGEST_STEPS = 480
# A command that is no check and failed so many calls ago is over.
LONGEST_OPEN = 20
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
_PUSHED = compile_later(
    r"^\s*[ +*]?\s*([0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40}\s+\S+ -> \S+|\[new \w+\]\s+\S+ -> \S+)",
    MULTILINE,
)
_OPENS = compile_later(r"\b(?:gh (?:pr|issue|release) create|glab mr create)\b")
_ADDRESS = compile_later(
    r"https://[\w.-]+/[\w./-]*/(?:pull|issues|releases|merge_requests)/[\w./-]+"
)
_UNDOES = compile_later(
    r"\bgit (?:checkout (?:\S+ )?-- |restore (?!--staged )|revert |reset --hard|stash drop|clean -)"
)
# How many tests passed, as runners say it.
_COUNTS = compile_later(
    r"^.*(?:\b\d+ (?:tests? )?pass(?:ed|ing)\b|^DONE \d+ tests|Ran \d+ tests?|test result: ok).*$",
    MULTILINE,
)
_NOTHING_TO_DO = compile_later(r"nothing to commit|nothing added to commit|Everything up-to-date")
# Programs that show a file: a name without a folder among their words is a file here.
_SHOWS = compile_later(r"(?:^|[;&|]\s*)(?:cat|head|tail|nl|wc|bat|sed -n)\b([^;&|<>\n]*)")
_REMOVES = compile_later(r"^(?:sudo\s+)?(?:git\s+)?rm\s+(.+)$")
_MOVES = compile_later(r"^(?:git\s+)?mv\s+(?:-\w+\s+)*(\S+)\s+(\S+)$")


def _add_run(seen: Observation, event: SessionEvent) -> None:
    line = event.text.strip()
    key = _in_its_folder(seen, event.path, line)
    steps = steps_of(line, _folder_of(seen, event.path, ""), seen["cwd"])
    if steps and not _KEEPS_HOUSE.match(key):
        _use_command(seen, key, line)
    _grow_habit(seen, line)
    folder = _folder_of(seen, event.path, line)
    number = -1
    for found in paths_in(line):
        path = relative(seen, found)
        if "/" in path or path in seen["files"]:
            number = touch(seen, path, READ)["number"]
    for shown in _SHOWS.findall(line):
        for path in paths_in(shown):
            if "/" not in path:
                number = touch(seen, f"{folder}/{path}" if folder else path, READ)["number"]
    name_all(seen, line[:6000], NAMED_IN["run"], number)
    removed, made = _moved_by(seen, folder, line)
    moves = ["\n".join(removed), "\n".join(made)] if removed else []
    commits = "commits" if "git commit" in line or "git -C" in line else ""
    wait_for_end(seen, event.id, "line", key, _bounded_steps(steps), str(number), commits, *moves)


def _bounded_steps(steps: list[str]) -> str:
    """Steps of a line, one a line, as many as there is room for while it runs."""
    while len(steps) > 1 and sum(map(len, steps)) > LONGEST_STEPS:
        # The last one has the status of the line.
        del steps[0]
    return "\n".join(steps)


def _in_its_folder(seen: Observation, folder: str, line: str) -> str:
    """What names a command: tests that pass in one folder say nothing of those in another."""
    key, folder = same_command(line), _folder_of(seen, folder, line)
    return clipped(f"cd {folder} && {key}", 160) if folder else key


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
        text = _shorten_line(line)
        known = {"text": text, "weight": -99.0, "runs": 0, "failed": None, "call": 0, "edits": 0}
        commands[key] = known
        shrink(commands, ROOM["commands"], 20, keep=key)
    known["text"] = _shorten_line(line)
    known["weight"] = heavier(known["weight"], USE, seen["calls"])
    known["runs"] += 1
    known["failed"] = None
    known["call"], known["edits"] = seen["calls"], seen["edits"]


def _grow_habit(seen: Observation, line: str) -> None:
    """How the session looks around: the first words of its commands."""
    habits = seen["habits"]
    for part in dict.fromkeys((line, _INTO_FOLDER.sub("", line))):
        start = _first_words(part)
        if 6 < len(start) <= 100 and start.isascii() and not _NO_HABIT.search(start):
            habits[start] = heavier(habits.get(start, -99.0), USE, seen["calls"])
    lighten(habits, ROOM["habits"])


def _first_words(line: str) -> str:
    return " ".join(line.split(None, 3)[:3])


def _shorten_line(line: str) -> str:
    """The command that a line runs, on one line; text that it is fed stays away."""
    line = line.strip().replace("\\\n", " ")
    first, _, rest = _INTO_FOLDER.sub("", _SETTING.sub("", line)).partition("\n")
    first = one_line(first).replace(" 2>&1", "")
    return clipped(first + (" …" if rest.strip() else ""), 160)


def same_command(line: str) -> str:
    """What stays of a command line when the folder, the pipe behind it and the like are left out."""
    text = one_line(_INTO_FOLDER.sub("", line.strip()))
    before = None
    while before != text:
        before = text
        text = _PIPED_AWAY.sub("", _BEFORE.sub("", _SETTING.sub("", text))).strip()
    text = _GIT_ELSEWHERE.sub("git ", text)
    return clipped(text or one_line(line), 160)


def take_back_call(seen: Observation, id: str) -> None:
    """Take back a call that the person refused or a hook denied: it was neither done nor did it fail."""
    kind, *what = seen["pending"].pop(id, None) or [""]
    if kind == "edit":
        for path in what:
            take_back(seen, path)
    elif kind == "line":
        command = seen["commands"].get(what[0])
        if command is not None:
            command["runs"] -= 1
            if command["runs"] < 1:
                del seen["commands"][what[0]]
        if what[0] not in seen["commands"]:
            seen["habits"].pop(_first_words(what[0]), None)


def end_call(seen: Observation, event: SessionEvent) -> None:
    """Take in how a call ended, and what it printed."""
    what = seen["pending"].pop(event.id, None)
    if what is None:
        return
    kind, subject = what[0], what[1]
    if kind == "edit" and event.failed is not False:
        # It failed, or the person refused it.
        for path in what[1:]:
            take_back(seen, path)
        return
    if kind == "edit":
        for path in what[1:]:
            change(seen, path)
    number = -1
    if kind in ("read", "search"):
        file = seen["files"].get(subject)
        number = file["number"] if file is not None else -1
        if kind == "read" and event.failed and file is not None and not file["edits"]:
            del seen["files"][subject]
            return
    if kind == "line":
        number = int(what[3])
        _take_outcome(seen, what, event)
        if event.failed is False and len(what) > 5:
            mark_gone(seen, what[5].split("\n"), what[6].split("\n"))
        if event.failed is None:
            seen["pending"][event.id] = what
    # A command that failed names what is wrong; any other call says only that it was called wrongly.
    if event.text and (kind == "line" or not event.failed):
        source = "report" if kind == "agent" else "output"
        scanned = whole_words(event.text)
        name_all(seen, scanned, NAMED_IN[source], number)
        glimpse(seen, scanned, GLIMPSED_IN[source])


def _take_outcome(seen: Observation, what: list[str], event: SessionEvent) -> None:
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
            commit["edits"] = seen["edits"]
            seen["commits"] = newest([*seen["commits"], commit], 8, ROOM["commits"])
            record(seen, f"committed {id[:10]} {text}")
    # The words of a line are shortened: a push behind a long message stands among its steps.
    _take_results(seen, f"{what[1]}\n{what[2]}", passed, event)


def _take_results(seen: Observation, line: str, passed: list[str], event: SessionEvent) -> None:
    """Keep what a command brought that others see or rely on: a push, a request that was opened, a green run."""
    checks = [step for step in passed if is_check([step])]
    if checks:
        counts = _COUNTS.findall(event.text[-4000:])
        said = f": {one_line(counts[-1])[:80]}" if counts else ""
        seen["green"] = {
            "text": clipped(" && ".join(checks) + said, 240),
            "call": seen["calls"],
            "edits": seen["edits"],
        }
    if event.failed is not False:
        return
    if "git push" in line:
        for pushed in _PUSHED.findall(event.text)[:2]:
            record(seen, f"pushed {pushed}")
            seen["pushed"] = {"text": clipped(one_line(pushed), 120), "call": seen["calls"]}
    if _OPENS.search(line):
        for address in dict.fromkeys(_ADDRESS.findall(event.text)[:2]):
            record(seen, f"{_OPENS.search(line)[0]}: {address}")  # type: ignore[index]
    if _UNDOES.search(line):
        record(seen, f"undone with {line.partition(chr(10))[0][:120]}")


def _fail(seen: Observation, steps: list[str], output: str) -> None:
    """Add a failure. It takes the place of older ones of the same steps."""
    kept = [one for one in seen["failures"] if not set(_steps_of_failure(one)) <= set(steps)]
    failure: Failure = {
        "key": clipped("\n".join(steps), 240),
        "text": clipped(" && ".join(steps), 160),
        "end": ending(output),
        "call": seen["calls"],
        "edits": seen["edits"],
    }
    seen["failures"] = newest([*kept, failure], 4, ROOM["failures"])


def _close(seen: Observation, passed: list[str], unknown: list[str]) -> None:
    """Drop the failures that a run covers. One of several steps stays until all have passed."""
    kept: list[Failure] = []
    for failure in seen["failures"]:
        steps = _steps_of_failure(failure)
        left = [step for step in steps if not any(step_covers(one, step) for one in passed)]
        if not left:
            why = telling_lines(failure["end"].split("\n"), 1)[-1]
            record(seen, f"{failure['text'][:90]} failed ({why[:90]}), and passed later")
            continue
        if not is_check(left) and seen["calls"] - failure["call"] > LONGEST_OPEN:
            why = telling_lines(failure["end"].split("\n"), 1)[-1]
            record(seen, f"{failure['text'][:90]} failed ({why[:90]}), and was not run again")
            continue
        if len(left) < len(steps):
            failure["key"] = "\n".join(left)
            failure["text"] = clipped(" && ".join(left), 160)
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
    last = [clipped(line.strip(), 160) for line in reversed(lines[-8:])]
    return "\n".join(pick(last, 360, lambda line: len(line) + 1)[::-1])


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
    paths = (relative(seen, word.strip("\"'")) for word in words)
    plain = (path for path in paths if path and path[0] not in "-/.$*" and "\n" not in path)
    found = ((f"{folder}/{path}" if folder else path).rstrip("/") for path in plain)
    return pick(found, 600, lambda path: len(path) + 1)


COMMAND_STEPS: dict[str, Any] = {"run": _add_run}
