"""What a pack carries over from the conversation: requests, rulings, answers, tasks, failures, last words."""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.session.pack import SHARES, clean, count_of, one_line, shorten
from holdfast.session.rules.handover import spoke_before_request
from holdfast.session.rules.observed import edits_since, is_stale, telling_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.session.observed_state import Observation
    from holdfast.session.pack import PackRoom

REPLY_TO = "in reply to the agent: "
# Less of the agent's last words says nothing.
FEWEST_LAST_WORDS = 30
# Their share of the room in a small pack.
SAID_TIGHT = 0.07
_MARKS = {"done": "[x]", "active": "[>]", "open": "[ ]"}


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
