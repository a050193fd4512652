"""What a pack says of an observed session: requests, rulings, tasks, failures and last words, then commands,
files with names from their code, and other names."""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.session.observed_state import HALF_LIFE, weight_now
from holdfast.session.pack import SHARES, clean, count_of, one_line, shorten, times_of
from holdfast.session.rules.handover import (
    edits_since,
    is_stale,
    spoke_before_request,
    telling_lines,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.session.observed_state import Observation, SeenFile
    from holdfast.session.pack import PackRoom

REPLY_TO = "in reply to the agent: "
# Less of the agent's last words says nothing.
FEWEST_LAST_WORDS = 30
# Their share of the room in a small pack.
SAID_TIGHT = 0.07
_MARKS = {"done": "[x]", "active": "[>]", "open": "[ ]"}
# How the room is divided between commands, paths and names.
COMMANDS, PATHS = 0.28, 0.36
COMMANDS_TIGHT, PATHS_TIGHT = 0.34, 0.42
# So many names of one file are read at a glance; more only where nothing else needs the room.
NAMES_OF_A_FILE, MOST_NAMES_OF_A_FILE = 18, 300
MOST_GLIMPSED = 40
LONGEST_COMMAND, LONGEST_COMMAND_TIGHT = 80, 48
MOST_COMMANDS, MOST_COMMANDS_TIGHT = 12, 3
MOST_OF_STARTS = 460
ROOM_FOR_TITLES = 90
# A name counts more in a file that is much in use: so much of the file's weight is added to it.
BOOST, NO_FILE = 0.3, -1.0


# The conversation


def take_requests(filled: PackRoom, seen: Observation) -> list[str]:
    """Take what is asked for, what was decided, what is open and what fails. The lines of the request."""
    is_tight = filled.is_tight
    request = _request_lines(seen, filled.share_of("request") - 40)
    filled.take("request", "Request under way", request)
    shown = " ".join(" ".join(request).split())
    rulings = _ruling_lines(seen, shown, 160 if is_tight else 300)
    filled.take("rulings", "The person ruled, latest first", rulings, "ruling")
    answers = _answer_lines(seen, 80 if is_tight else 110)
    filled.take("answers", "The person chose", answers, "answer")
    plan = [f"- {shorten(one_line(head), 80 if is_tight else 90)}" for head in seen["plan"]]
    filled.take("plan", "Plan put to the person", plan, "heading")
    title, tasks = _task_lines(seen, 80 if is_tight else 110, with_last_done=not is_tight)
    filled.take("tasks", title, tasks, "task")
    most, width = (1, 90) if is_tight else (5, 140)
    failing = _failure_lines(seen, most, width, stale=False)
    filled.take("failures", "Still failing", failing, "error line")
    stale = _failure_lines(seen, most, width, stale=True)
    filled.take("stale", "Failed, not known to pass now", stale, "error line")
    return request


def take_last_words(
    filled: PackRoom, seen: Observation, request: Sequence[str], announced: str
) -> None:
    """Take the agent's last words, unless the request has them. `announced` was told as the next step."""
    share = SAID_TIGHT if filled.is_tight else SHARES["said"]
    said = _last_words(seen, int(filled.total * share) - 40, without=announced)
    title = "Last words of the agent"
    if spoke_before_request(seen):
        if any(REPLY_TO in line for line in request):
            return
        title += ", before this request"
    filled.take("said", title, said)


def take_course(filled: PackRoom, seen: Observation, transcript: str) -> None:
    """Take what went before: subagents, earlier requests, commits, and where the client's summary is."""
    agents = [f"- {shorten(one_line(text), 80)}" for text in seen["agents"].values()]
    commits = [
        f"- {one['id']} {shorten(one_line(one['text']), 90)}" for one in reversed(seen["commits"])
    ]
    if filled.is_tight:
        if seen["request"] is not None and "after" in seen["request"]:
            filled.take("earlier", "Earlier requests", _earlier_requests(seen)[:1])
        filled.leave_out(len(agents), "subagent")
        filled.leave_out(len(commits), "commit")
        return
    filled.take("agents", "Subagents still out", agents, "subagent")
    filled.take("earlier", "Earlier requests", _earlier_requests(seen))
    filled.take("commits", "Commits, latest first", commits, "commit")
    filled.take("summary", "The client's own summary", _summary_lines(seen, transcript))


def _request_lines(seen: Observation, most: int) -> list[str]:
    request = seen["request"]
    if request is None:
        return []
    text = clean(request["text"])
    if len(text) > most:
        text = text[: max(0, most - 2)].rstrip() + " …"
    lines = [f"  {line.rstrip()}" for line in text.split("\n") if line.strip()]
    before = one_line(request.get("after", ""))
    room = most - len(text) - len(REPLY_TO)
    return [*lines, f"  {REPLY_TO}{before[-room:]}"] if before and room > 60 else lines


def _ruling_lines(seen: Observation, shown: str, most: int) -> list[str]:
    found = []
    for ruling in reversed(seen["rulings"]):
        text = one_line(ruling["text"])
        if text not in shown:
            found.append(f"- {shorten(text.removeprefix('- '), most)}")
    return found


def _answer_lines(seen: Observation, most: int) -> list[str]:
    found = []
    for answer in reversed(seen["answers"]):
        about = shorten(one_line(answer["about"]), most)
        text = shorten(one_line(answer["text"]), max(most, 64))
        found.append(f"- {about}: {text}" if about else f"- {text}")
    return list(dict.fromkeys(found))


def _task_lines(seen: Observation, most: int, *, with_last_done: bool) -> tuple[str, list[str]]:
    """Open tasks all, in order; what is done only as a number and the last of it."""
    tasks = [task for task in seen["tasks"] if task["state"] != "dropped"]
    done = [task for task in tasks if task["state"] == "done"]
    going = [task for task in tasks if task["state"] != "done"]
    if not going:
        return "Tasks", []
    lines = [f"- {_MARKS[task['state']]} {shorten(one_line(task['text']), most)}" for task in going]
    if done and with_last_done:
        last = shorten(one_line(done[-1]["text"]), 60)
        lines.append(f"- {_MARKS['done']} {last}")
    return f"Tasks, {len(done)} of {len(tasks)} done", lines


def _failure_lines(seen: Observation, most: int, width: int, *, stale: bool) -> list[str]:
    """Failures with the end of their output, those that may have been mended apart."""
    found = []
    for failure in reversed(seen["failures"]):
        if is_stale(seen, failure) is not stale:
            continue
        calls, edits = seen["calls"] - failure["call"], edits_since(seen, failure)
        when = f"failed {count_of(calls, 'call')} ago" if calls else "failed in the last call"
        when += f", {count_of(edits, 'edit')} since" if edits else ""
        if stale:
            again = "again" in failure
            when += ", ran since with an unknown end" if again else ", not run again"
        found.append(f"- {shorten(one_line(failure['text']), width)} ({when})")
        end = [one_line(line) for line in failure["end"].split("\n") if line.strip()]
        found += [
            f"    {shorten(line, width)}" for line in telling_lines(end, 1 if stale else most)
        ]
    return found


def _last_words(seen: Observation, most: int, *, without: str) -> list[str]:
    """The end of the agent's last message, without the sentence that is told as the next step."""
    if not seen["said"] or most < FEWEST_LAST_WORDS:
        return []
    text = clean(seen["said"][-1]["text"])
    if without and text.count(without) == 1:
        text = text.replace(without, "").rstrip(" \n.")
        text += "." if text[-1:].isalnum() else ""
    if len(text) > most:
        # From a whole word on.
        text = "… " + text[len(text) - max(0, most - 2) :].partition(" ")[2].lstrip()
    return [f"  {line.rstrip()}" for line in text.split("\n") if line.strip()]


def _earlier_requests(seen: Observation) -> list[str]:
    found = [f"- {shorten(one_line(one['text']), 160)}" for one in reversed(seen["earlier"][-3:])]
    first = seen["first"]
    if first is not None and seen["prompts"] > 1:
        found.append(f"- the first: {shorten(one_line(first['text']), 200)}")
    return found


def _summary_lines(seen: Observation, transcript: str) -> list[str]:
    """When and where the client wrote one; its text stays there."""
    summary = seen.get("summary")
    if summary is None or not transcript:
        return []
    when = f"of {clock.minute(one_line(summary['at']))}, " if summary["at"] else ""
    ago = count_of(seen["calls"] - summary["call"], "tool call")
    return [f"- {when}{ago} ago, in {one_line(transcript)}"]


# The work


def take_work(filled: PackRoom, seen: Observation) -> None:
    """Take commands, files with their names, and names of no file, as far as there is room."""
    shown = "\n".join("\n".join(lines) for _, lines in filled.made.values())
    made, room, tight = filled.made, filled.left, filled.is_tight
    commands_share = COMMANDS_TIGHT if tight else COMMANDS
    paths_share = PATHS_TIGHT if tight else PATHS
    commands = _commands(seen, int(room * commands_share), shown, tight=tight)
    if commands:
        made["commands"] = ("Commands", commands)
        room -= sum(len(line) + 1 for line in commands) + 32
    most = int(room * paths_share / (1 - commands_share))
    chosen, used, missing = _choose_files(seen, most, shown)
    filled.leave_out(missing, "file")
    room -= used + ROOM_FOR_TITLES
    text = shown + "\n".join([*commands, *(path for path, _ in chosen)])
    files = {file["number"]: path for path, file in chosen if file["number"] >= 0}
    beside, others, missing = _names(seen, files, room, text)
    filled.leave_out(missing, "name")
    edited = [(path, file) for path, file in chosen if file["edits"]]
    glimpsed = [(path, file) for path, file in chosen if file["state"] == "glimpsed"]
    read = [one for one in chosen if one not in edited and one not in glimpsed]
    for part, title, listed in (
        ("edited", "Files edited, with names from their code", edited),
        ("read", "Files read", read),
        ("glimpsed", "Files named but not opened", glimpsed),
    ):
        if listed:
            made[part] = (title, _file_lines(listed, beside))
    if others:
        made["names"] = ("Other names from the code", [", ".join(others)])


def _choose_files(
    seen: Observation, most: int, shown: str
) -> tuple[list[tuple[str, SeenFile]], int, int]:
    """The files most in use, what room they take without names, and how many found none."""
    known = list(seen["files"])
    files: list[tuple[str, SeenFile]] = [*seen["files"].items()]
    for path, weight in seen["glimpsed"].items():
        if path not in shown and not any(other.endswith(f"/{path}") for other in known):
            files.append((path, _make_glimpsed(weight)))
    files.sort(key=lambda file: (-file[1]["weight"], file[0]))
    chosen: list[tuple[str, SeenFile]] = []
    folders: set[tuple[bool, str]] = set()
    used = 0
    glimpsed = 0
    for path, file in files:
        glimpsed += file["state"] == "glimpsed"
        if file["state"] == "glimpsed" and glimpsed > MOST_GLIMPSED:
            continue
        folder, name = _split_path(path)
        group = (file["edits"] > 0, folder)
        cost = len(name) + 2 + (7 if file["edits"] else 0)
        cost += 0 if group in folders else len(folder) + 5
        if used + cost <= most:
            chosen.append((path, file))
            folders.add(group)
            used += cost
    return chosen, used, len(files) - len(chosen)


def _split_path(path: str) -> tuple[str, str]:
    """A path as the folder under which it is listed, and its last two parts."""
    parts = path.split("/")
    return "/".join(parts[:-2]), "/".join(parts[-2:])


def _file_lines(files: Sequence[tuple[str, SeenFile]], beside: dict[int, list[str]]) -> list[str]:
    """A line for each file with names; the others together, a line for each folder."""
    lines: list[str] = []
    folders: dict[str, list[str]] = {}
    for path, file in files:
        names = beside.get(file["number"])
        if names:
            lines.append(
                f"- {one_line(path)}{_describe_use(file)}: {', '.join(names[:NAMES_OF_A_FILE])}"
            )
            if len(names) > NAMES_OF_A_FILE:
                lines.append(f"  further: {', '.join(names[NAMES_OF_A_FILE:])}")
        else:
            folder, name = _split_path(one_line(path))
            folders.setdefault(folder, []).append(name + _describe_use(file))
    for folder, together in folders.items():
        if len(together) == 1 and folder:
            lines.append(f"- {folder}/{together[0]}")
        else:
            lines.append(f"- {folder + '/: ' if folder else ''}{', '.join(together)}")
    return lines


def _describe_use(file: SeenFile) -> str:
    notes = [file["state"]] if file["state"] in ("created", "deleted") else []
    if file["edits"] > 1:
        notes.append(times_of(file["edits"]))
    return f" ({', '.join(notes)})" if notes else ""


def _make_glimpsed(weight: float) -> SeenFile:
    none = {"number": -2, "edits": 0, "reads": 0, "call": 0}
    return {**none, "weight": weight, "state": "glimpsed"}  # type: ignore[typeddict-item]


def _commands(seen: Observation, most: int, shown: str, *, tight: bool) -> list[str]:
    lines: list[str] = []
    ranked = sorted(seen["commands"].items(), key=lambda one: (-one[1]["weight"], one[0]))
    longest = LONGEST_COMMAND_TIGHT if tight else LONGEST_COMMAND
    # A failure stands there already.
    failing = tuple(one["text"] for one in seen["failures"] if one["text"] in shown)
    ranked = [one for one in ranked if not one[1]["text"].startswith(failing)]
    for _, command in ranked[: MOST_COMMANDS_TIGHT if tight else MOST_COMMANDS]:
        outcome = {True: "failed", False: "passed", None: ""}[command["failed"]]
        times = times_of(command["runs"]) if command["runs"] > 1 else ""
        notes = ", ".join(note for note in (times, outcome) if note)
        text = shorten(one_line(command["text"]), longest)
        line = f"- {text} ({notes})" if notes else f"- {text}"
        if len(line) + 1 > most * 0.7 and lines:
            break
        if len(line) + 1 <= most:
            lines.append(line)
            most -= len(line) + 1
    starts: list[str] = []
    said = shown + "\n".join(lines)
    most = min(most, MOST_OF_STARTS)
    # A habit of one file comes last: the file is listed anyway.
    for start in sorted(
        seen["habits"], key=lambda start: ("/" in start, -seen["habits"][start], start)
    ):
        if start in said:
            continue
        # One that ends in the middle of a quotation says that it goes on.
        is_cut = any(start.count(quote) % 2 for quote in "'\"")
        text = f"{one_line(start)}…" if is_cut else one_line(start)
        if len(text) + 2 > most - 20:
            break
        starts.append(text)
        most -= len(text) + 2
    if starts:
        lines.append(f"- also ran: {'; '.join(starts)}")
    return lines


def _names(
    seen: Observation, files: dict[int, str], room: int, shown: str
) -> tuple[dict[int, list[str]], list[str], int]:
    """Names in play by the file they belong to, those of no file, and how many found no room."""
    beside: dict[int, list[str]] = {}
    others: list[str] = []
    hot: dict[float, float] = {file["number"]: file["weight"] for file in seen["files"].values()}
    now = seen["calls"] / HALF_LIFE
    rank = {
        name: weight
        + BOOST * (min(4.0, max(-6.0, hot[number] - now)) if number in hot else NO_FILE)
        for name, (weight, number) in seen["names"].items()
    }
    # A file's name is no name of its content.
    paths = "\n".join([*seen["files"], *seen["glimpsed"]])
    waiting = [
        name
        for name in sorted(rank, key=lambda name: (-rank[name], name))
        if name not in shown and f"{name}." not in paths
    ]
    # What no other file needs goes to the files with many names.
    for most in (NAMES_OF_A_FILE, MOST_NAMES_OF_A_FILE):
        left = []
        for name in waiting:
            number = int(seen["names"][name][1])
            listed = beside.get(number) if number in files else others
            cost = len(name) + 2
            if listed is None:
                # With its first name, the file gets a line of its own.
                cost += len(_split_path(files[number])[0]) + 5
            if cost > room or len(listed or ()) >= most:
                left.append(name)
                continue
            room -= cost
            (beside.setdefault(number, []) if number in files else others).append(name)
        waiting = left
    missing = sum(weight_now(seen["names"][name][0], seen) > 0.1 for name in waiting)
    return beside, others, missing
