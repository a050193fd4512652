"""What a pack says of an observed session: requests, rulings, tasks, failures and last words, then commands,
files with names from their code, and other names."""

from __future__ import annotations

from math import log2
from operator import itemgetter

from holdfast.clients.conversation import lets_go_on
from holdfast.kernel import clock
from holdfast.kernel.text import HANDED_OVER, code
from holdfast.observe.model import telling_lines, weight_now
from holdfast.observe.outline import outline
from holdfast.observe.story import DONE
from holdfast.pack import story
from holdfast.pack.pack import clean, count_of, one_line, shorten, times_of
from holdfast.pack.story import is_rule
from holdfast.session.rules.handover import (
    edits_since,
    is_old_list,
    is_unsettled,
    spoke_before_request,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.clients.conversation import Task
    from holdfast.observe.model import Observation, Said, SeenFile
    from holdfast.pack.pack import PackRoom

REPLY_TO = "in reply to the agent: "
BEFORE_IT = "the longer request before it: "
# Less of the agent's last words says nothing.
FEWEST_LAST_WORDS = 30
# A "yes" to a question that stands so near the end of the agent's words is its answer.
ENDS_WITH_A_QUESTION = 300
_MARKS = {"done": "[x]", "active": "[>]", "open": "[ ]"}
# How the room is divided between commands, paths and names.
COMMANDS, PATHS = 0.32, 0.34
COMMANDS_TIGHT, PATHS_TIGHT = 0.34, 0.42
# Nobody reads more names of one file.
MOST_NAMES = 60
MOST_GLIMPSED = 30
# The story's share of the room that requests, rules, tasks and failures leave.
STORY, STORY_TIGHT = 0.55, 0.33
# With less room than this the story's share shrinks: what is used next is needed first.
ROOM_FOR_STORY = 5200
MOST_TRIES, ENOUGH_LEFT = 3, 120
LONGEST_COMMAND, LONGEST_COMMAND_TIGHT = 80, 48
MOST_COMMANDS, MOST_COMMANDS_TIGHT = 12, 3
MOST_OF_STARTS = 460
ROOM_FOR_TITLES = 90


# The conversation


def take_requests(filled: PackRoom, seen: Observation) -> list[str]:
    """Take what is asked for, what was decided, what is open and what fails. The lines of the request."""
    is_tight = filled.is_tight
    request = _request_lines(seen, filled.share_of("request") - 40)
    filled.take("request", "Request under way", request)
    shown = " ".join(" ".join(request).split())
    heard = [
        f"- {shorten(one_line(one['text']), 90 if is_tight else 200)}{_requests_ago(seen, one)}"
        for one in reversed(seen.get("heard", []))
    ]
    heard = [line for line in heard if line[2:62] not in shown]
    filled.take("heard", "Said while the agent worked, latest first", heard, "remark")
    refused = _refusal_lines(seen, shown, 60 if is_tight else 100)
    filled.take("refused", "The person refused", refused, "refusal")
    for part in ("heard", "refused"):
        shown += " ".join(["", *filled.made.get(part, ("", []))[1]])
    rulings = _ruling_lines(seen, shown, 160 if is_tight else 300)
    filled.take("rulings", "The person ruled, latest first", rulings, "ruling")
    answers = _answer_lines(seen, 80 if is_tight else 110)
    filled.take("answers", "The person chose", answers, "answer")
    plan = [f"- {shorten(one_line(head), 80 if is_tight else 90)}" for head in seen["plan"]]
    filled.take("plan", "Plan put to the person", plan, "heading")
    title, tasks = _task_lines(seen, 80 if is_tight else 110, with_last_done=not is_tight)
    filled.take("tasks", title, tasks, "task")
    most, width = (1, 90) if is_tight else (5, 140)
    failing = _failure_lines(seen, most, width, unsettled=False)
    filled.take("failures", "Still failing", failing, "error line")
    unsettled = _failure_lines(seen, most, width, unsettled=True)
    filled.take("unsettled", "Failed, not known to pass now", unsettled, "error line")
    return request


def take_last_words(
    filled: PackRoom, seen: Observation, request: Sequence[str], announced: str
) -> None:
    """Take the agent's last words, unless the request has them. `announced` was told as the next step."""
    said = _last_words(seen, filled.share_of("said") - 40, without=announced)
    title = "Last words of the agent"
    if spoke_before_request(seen):
        if any(REPLY_TO in line for line in request):
            return
        title += ", before this request"
    filled.take("said", title, said)


def take_course(filled: PackRoom, seen: Observation, transcript: str) -> None:
    """Take where the work stood, subagents, and where the client's summary is."""
    agents = [f"- {shorten(one_line(text), 80)}" for text in seen["agents"].values()]
    filled.take("state", "Where the work stood", _state_lines(seen, 90 if filled.is_tight else 140))
    if filled.is_tight:
        filled.leave_out(len(agents), "subagent")
        return
    filled.take("agents", "Subagents still out", agents, "subagent")
    filled.take("summary", "The client's own summary", _summary_lines(seen, transcript))


def _state_lines(seen: Observation, most: int) -> list[str]:
    """What passed last, what was committed and pushed, and what was edited after each."""
    lines = []
    green = seen.get("green")
    if green is not None:
        when = f"passed {count_of(seen['calls'] - green['call'], 'call')} ago{_edits_after(seen, green)}"
        lines.append(f"- {shorten(one_line(green['text']), most)} ({when})")
    if seen["commits"]:
        last, pushed = seen["commits"][-1], seen.get("pushed")
        is_pushed = pushed is not None and pushed["call"] >= last["call"]
        notes = f"{'pushed' if is_pushed else 'no push seen since'}{_edits_after(seen, last)}"
        lines.append(
            f"- last commit {last['id']} {shorten(one_line(last['text']), most)} ({notes})"
        )
    opened = [one[3] for one in seen.get("story", []) if one[2] == DONE and "://" in one[3]]
    lines += [f"- {shorten(one_line(text), most)}" for text in opened[-1:]]
    said = seen["said"][-1] if seen["said"] else None
    since = edits_since(seen, said) if said and seen["calls"] > said["call"] else 0
    if since:
        lines.append(f"- {count_of(since, 'edit')} after the agent's last words")
    return lines


def _edits_after(seen: Observation, one: Any) -> str:
    """How many edits came after something. An older observation does not say."""
    if "edits" not in one or not seen["edits"]:
        return ""
    since = edits_since(seen, one)
    return f", {count_of(since, 'edit') if since else 'no edit'} since"


def _request_lines(seen: Observation, most: int) -> list[str]:
    """The request under way, with what a short one answers or goes on with, and what the person said since."""
    request, asked = seen["request"], seen.get("asked")
    if request is None:
        return []
    is_handed_over = request["text"].startswith(HANDED_OVER)
    request = {**request, "text": request["text"].removeprefix(HANDED_OVER)}
    since = _said_since(seen)
    most -= sum(map(len, since))
    if asked is None:
        return [*_quoted_request(request, most), *since]
    short = _quoted_request(request, most // 2)
    rest = most - sum(map(len, short))
    whole = _quoted_request({**asked, "after": ""}, rest)
    if is_handed_over:
        return [*whole, *since]
    if lets_go_on(request["text"]) and "?" not in request.get("after", "")[-ENDS_WITH_A_QUESTION:]:
        return [*whole, f"  then: {short[0].strip()}", *short[1:], *since]
    before = shorten(" ".join(line.strip() for line in whole), max(120, rest // 2))
    return [*short, *since, f"  {BEFORE_IT}{before}"]


def _said_since(seen: Observation) -> list[str]:
    """What the person said after the request, while the agent worked or when they refused a call."""
    turn = seen["prompts"]
    lines = [
        (one["call"], f"  then, while the agent worked: {shorten(one_line(one['text']), 200)}")
        for one in seen.get("heard", [])
        if one.get("turn") == turn
    ]
    for refusal in seen.get("refused", []):
        if refusal["turn"] == turn and refusal["words"]:
            call = code(shorten(one_line(refusal["text"]), 60)) if refusal["text"] else "a call"
            words = shorten(one_line(refusal["words"]), 200)
            lines.append((refusal["call"], f"  then, when they refused {call}: {words}"))
    return [line for _, line in sorted(lines, key=itemgetter(0))[-4:]]


def _quoted_request(request: Said, most: int) -> list[str]:
    whole = [line.rstrip() for line in clean(request["text"]).split("\n") if line.strip()]
    # Each line takes three letters more: its indent and its end.
    text = outline("\n".join(whole), max(0, most - 3 * min(len(whole), most // 50)))
    lines = [f"  {line}" for line in text.split("\n")]
    before = clean(request.get("after", "")).strip()
    room = most - len(text) - len(REPLY_TO)
    if not before or room < FEWEST_LAST_WORDS:
        return lines
    if len(before) > room:
        before = "… " + before[2 - room :].partition(" ")[2]
    first, *others = [line.rstrip() for line in before.split("\n") if line.strip()]
    return [*lines, f"  {REPLY_TO}{first}", *(f"    {line}" for line in others)]


def _ruling_lines(seen: Observation, shown: str, most: int) -> list[str]:
    found = []
    for ruling in reversed(seen["rulings"]):
        text = one_line(ruling["text"])
        if text not in shown and is_rule(seen, text):
            line = shorten(text.removeprefix("- "), most)
            found.append(f"- {line}{_requests_ago(seen, ruling)}")
    return found


def _requests_ago(seen: Observation, said: Said) -> str:
    """How many requests ago the person said something: what they wanted then may be over."""
    ago = seen["prompts"] - said.get("turn", seen["prompts"])
    if said["call"] < 0:
        return " (in an earlier session)"
    return f" ({count_of(ago, 'request')} ago)" if ago > 0 else ""


def _refusal_lines(seen: Observation, shown: str, most: int) -> list[str]:
    """The calls that the person refused, latest first, each once with what they said."""
    found: dict[str, list[str]] = {}
    for refusal in reversed(seen.get("refused", [])):
        call, said = one_line(refusal["text"]), one_line(refusal["words"])
        if said and said[:60] in shown:
            continue
        words = found.setdefault(code(shorten(call, most)) if call else "a call", [])
        if said:
            words.append(f'"{shorten(said, 2 * most)}"')
    return [
        f"- {call}: {'; '.join(words)}" if words else f"- {call}" for call, words in found.items()
    ]


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
    lines = [f"- {_MARKS[task['state']]} {_numbered(task, most)}" for task in going]
    if done and with_last_done:
        lines.append(f"- {_MARKS['done']} {_numbered(done[-1], 60)}")
    title = f"Tasks, {len(done)} of {len(tasks)} done"
    if is_old_list(seen):
        ago = count_of(seen["calls"] - seen["listed"], "call")
        title += f" when the list was changed last, {ago} ago"
    return title, lines


def _numbered(task: Task, most: int) -> str:
    """A task behind the number that the client gave it, so that "#10" says which one is meant."""
    key, text = one_line(task["key"]), shorten(one_line(task["text"]), most)
    return f"{key} {text}" if key.startswith("#") else text


def _failure_lines(seen: Observation, most: int, width: int, *, unsettled: bool) -> list[str]:
    """Failures with the end of their output, those that may have been mended apart."""
    found = []
    for failure in reversed(seen["failures"]):
        if is_unsettled(seen, failure) is not unsettled:
            continue
        calls, edits = seen["calls"] - failure["call"], edits_since(seen, failure)
        when = f"failed {count_of(calls, 'call')} ago" if calls else "failed in the last call"
        when += f", {count_of(edits, 'edit')} since" if edits else ""
        if unsettled:
            again = "again" in failure
            when += ", ran since with an unknown end" if again else ", not run again"
        found.append(f"- {shorten(one_line(failure['text']), width)} ({when})")
        end = [one_line(line) for line in failure["end"].split("\n") if line.strip()]
        found += [
            f"    {shorten(line, width)}" for line in telling_lines(end, 1 if unsettled else most)
        ]
    return found


def _last_words(seen: Observation, most: int, *, without: str) -> list[str]:
    """The end of the agent's last message, without a last sentence that is told as the next step."""
    if not seen["said"] or most < FEWEST_LAST_WORDS:
        return []
    text = clean(seen["said"][-1]["text"])
    if without and text.rstrip(" \n.*").endswith(without.rstrip(" .")):
        text = text[: text.rindex(without.rstrip(" ."))].rstrip(" \n.*_#-")
        before, _, last = text.rpartition("\n")
        if last.strip(" *#-_:").lower().endswith("next step"):
            text = before.rstrip()
        text += "." if text[-1:].isalnum() else ""
    if len(text) > most:
        # From a whole word on.
        text = "… " + text[len(text) - max(0, most - 2) :].partition(" ")[2].lstrip()
    return [f"  {line.rstrip()}" for line in text.split("\n") if line.strip()]


def _summary_lines(seen: Observation, transcript: str) -> list[str]:
    """When and where the client wrote one; its text stays there."""
    summary = seen.get("summary")
    if summary is None or not transcript:
        return []
    when = f"of {clock.minute(one_line(summary['at']))}, " if summary["at"] else ""
    ago = count_of(seen["calls"] - summary["call"], "tool call")
    return [f"- {when}{ago} ago, in {one_line(transcript)}"]


def take_story_and_work(filled: PackRoom, seen: Observation, told: story.Story) -> None:
    """Take whole sentences by turn in half of the room that is left, and commands, files and names in the other
    half. What one of them does not need, the other takes."""
    shown = " ".join(" ".join(line.split()) for _, lines in filled.made.values() for line in lines)
    said = sum(len(line) + 1 for line in filled.made.get("said", ("", []))[1])
    left, before = filled.left, list(filled.left_out)
    share = max(STORY_TIGHT, STORY * min(1.0, left / ROOM_FOR_STORY))
    room = int((left + said) * share) - said
    lines: list[str] = []
    for _ in range(MOST_TRIES):
        shorter = lines
        lines = told.tell(room - len(story.TITLE) - 4, shown)
        used = sum(len(line) + 1 for line in lines)
        filled.left, filled.left_out = left, list(before)
        if lines:
            filled.made["story"] = (story.TITLE, lines)
            filled.left -= used + len(story.TITLE) + 4
        rest = take_work(filled, seen)
        if rest < ENOUGH_LEFT or lines == shorter:
            break
        room += rest


# The work


def take_work(filled: PackRoom, seen: Observation) -> int:
    """Take commands, files with their names, and names of no file, as far as there is room. What is left of it."""
    made, room, tight = filled.made, filled.left, filled.is_tight
    for part in ("commands", "edited", "read", "glimpsed", "names"):
        made.pop(part, None)
    shown = "\n".join("\n".join(lines) for _, lines in made.values())
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
    beside, others, missing, rest = _names(seen, files, room, text)
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
        made["names"] = ("Other names from the code", [" ".join(others)])
    return rest


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
    """The files by folder, each file with names on a line, and those without together."""
    folders: dict[str, tuple[list[str], list[str]]] = {}
    for path, file in files:
        folder, name = _split_path(one_line(path))
        with_names, bare = folders.setdefault(folder, ([], []))
        names = beside.get(file["number"])
        if names:
            with_names.append(f"{name}{_describe_use(file)}: {' '.join(names)}")
        else:
            bare.append(name + _describe_use(file))
    lines: list[str] = []
    for folder, (with_names, bare) in folders.items():
        rows = [*with_names, ", ".join(bare)] if bare else with_names
        if folder and len(rows) > 1:
            lines += [f"- in {folder}/", *(f"  {row}" for row in rows)]
        else:
            join = "/: " if len(bare) > 1 else "/"
            lines += [f"- {folder + join if folder else ''}{row}" for row in rows]
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
        if outcome == "passed" and edits_since(seen, command):
            outcome += _edits_after(seen, command)
        times = times_of(command["runs"]) if command["runs"] > 1 else ""
        notes = ", ".join(note for note in (times, outcome) if note)
        text = shorten(one_line(command["text"]), longest)
        line = f"- {text} ({notes})" if notes else f"- {text}"
        if any(text in other for other in lines):
            continue  # two long ones begin alike
        if len(line) + 1 > most * 0.7 and lines:
            break
        if len(line) + 1 <= most:
            lines.append(line)
            most -= len(line) + 1
    starts: list[str] = []
    said = shown + "\n".join(lines)
    most = min(most, MOST_OF_STARTS)
    # A habit of one file comes last: the file is listed anyway. A folder that it goes to is not.
    habits = seen["habits"]
    of_file = {start: "/" in start and not start.startswith("cd ") for start in habits}
    for start in sorted(habits, key=lambda start: (of_file[start], -habits[start], start)):
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
) -> tuple[dict[int, list[str]], list[str], int, int]:
    """Names in play by the file they belong to, those of no file, how many found no room, and what is left of
    it."""
    beside: dict[int, list[str]] = {}
    others: list[str] = []
    rank = {name: weight - log2(len(name)) for name, (weight, _) in seen["names"].items()}
    # A file's name is no name of its content.
    paths = "\n".join([*seen["files"], *seen["glimpsed"]])
    waiting = [
        name
        for name in sorted(rank, key=lambda name: (-rank[name], name))
        if name not in shown and f"{name}." not in paths
    ]
    left = []
    for name in waiting:
        number = int(seen["names"][name][1])
        listed = beside.get(number) if number in files else others
        # With its first name, the file gets a line of its own.
        cost = len(name) + (5 if listed is None else 1)
        if cost > room or len(listed or ()) >= MOST_NAMES:
            left.append(name)
            continue
        room -= cost
        (beside.setdefault(number, []) if number in files else others).append(name)
    missing = sum(weight_now(seen["names"][name][0], seen) > 0.1 for name in left)
    return beside, others, missing, room
