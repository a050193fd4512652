"""What a pack carries over from the conversation: requests, rulings, answers, tasks, failures, last words."""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.session.pack import clean, count_of, one_line, shorten
from holdfast.session.rules.observed import edits_since, is_stale, telling_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.session.observed_state import Observation

REPLY_TO = "in reply to the agent: "
# Less of the agent's last words says nothing.
FEWEST_LAST_WORDS = 30
_MARKS = {"done": "[x]", "active": "[>]", "open": "[ ]"}


def request_lines(seen: Observation, most: int) -> list[str]:
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


def ruling_lines(seen: Observation, shown: str, most: int) -> list[str]:
    found = []
    for ruling in reversed(seen["rulings"]):
        text = one_line(ruling["text"])
        if text not in shown:
            found.append(f"- {shorten(text.removeprefix('- '), most)}")
    return found


def answer_lines(seen: Observation, most: int) -> list[str]:
    found = []
    for answer in reversed(seen["answers"]):
        about = shorten(one_line(answer["about"]), most)
        text = shorten(one_line(answer["text"]), max(most, 64))
        found.append(f"- {about}: {text}" if about else f"- {text}")
    return list(dict.fromkeys(found))


def plan_lines(seen: Observation, most: int) -> list[str]:
    return [f"- {shorten(one_line(head), most)}" for head in seen["plan"]]


def task_lines(seen: Observation, most: int, *, with_last_done: bool) -> tuple[str, list[str]]:
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


def failure_lines(seen: Observation, most: int, width: int, *, stale: bool) -> list[str]:
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


def last_words(seen: Observation, most: int, *, without: str) -> list[str]:
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


def earlier_requests(seen: Observation) -> list[str]:
    found = [f"- {shorten(one_line(one['text']), 160)}" for one in reversed(seen["earlier"][-3:])]
    first = seen["first"]
    if first is not None and seen["prompts"] > 1:
        found.append(f"- the first: {shorten(one_line(first['text']), 200)}")
    return found


def commit_lines(seen: Observation) -> list[str]:
    return [
        f"- {one['id']} {shorten(one_line(one['text']), 90)}" for one in reversed(seen["commits"])
    ]


def summary_lines(seen: Observation, transcript: str) -> list[str]:
    """When and where the client wrote one; its text stays there."""
    summary = seen.get("summary")
    if summary is None or not transcript:
        return []
    when = f"of {clock.minute(one_line(summary['at']))}, " if summary["at"] else ""
    ago = count_of(seen["calls"] - summary["call"], "tool call")
    return [f"- {when}{ago} ago, in {one_line(transcript)}"]
