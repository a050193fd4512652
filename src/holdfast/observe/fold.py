"""What a session did, as far as its client wrote it down: a pure fold over events.

`observe(state, events)` takes and returns plain JSON data. The data stays below 64 KB whatever
comes in, the same events give the same bytes, and folding in parts equals folding at once.
"""

from __future__ import annotations

from holdfast.clients.conversation import COUNTED_CALL, LONGEST_REPLY, TOOL_CALLS, is_reply
from holdfast.kernel.patterns import DOTALL, compile_later
from holdfast.kernel.text import HANDED_OVER, one_line
from holdfast.observe.commands import COMMAND_STEPS, end_call, take_back_call
from holdfast.observe.files import FILE_STEPS, GLIMPSED_IN, NAMED_IN, glimpse, name_all
from holdfast.observe.mentions import whole_words
from holdfast.observe.model import (
    ROOM,
    clipped,
    clipped_end,
    new,
    newest,
    oldest,
    size_of,
    wait_for_end,
)
from holdfast.observe.open_calls import close_call, open_call, refuse_call
from holdfast.observe.outline import outline
from holdfast.observe.story import (
    ASKED,
    HEARD,
    SAID,
    close_turn,
    is_pasted,
    sum_up,
    take_back_heard,
    tell,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from holdfast.clients.conversation import SessionEvent, Task
    from holdfast.observe.model import ChosenAnswer, Observation, Said

LONGEST_QUESTION = 800
LONGEST_HEARD = 300
# A longer prompt is pasted text; what it forbids, the person did not.
LONGEST_RULED = 3000
_RULING = compile_later(
    r"(?i)\b(?:don'?t|do not|never|always|must|instead|only|should ?n[o']t|shouldn'?t|no need|rather|prefer|make sure|"
    r"keep|avoid|stop|nicht|nie|niemals|immer|keine?n?|nur|statt|lieber|jamais|toujours|seulement|plut[oô]t|nunca|"
    r"siempre|solo)\b"
)
_FENCED = compile_later(r"```.*?(?:```|\Z)", DOTALL)
_SENTENCE = compile_later(r"(?<=[.!?\n])\s+")


def observe(state: Observation | None, events: Iterable[SessionEvent]) -> Observation:
    """The observation after these events. The state that came in is used up."""
    # A state of an older version gets the fields that it lacks.
    seen: Observation = new() if state is None else {**new(), **state}
    for event in events:
        if event is COUNTED_CALL:
            seen["calls"] += 1
            continue
        if event.at:
            seen["at"] = event.at[:40]
            seen["started_at"] = seen["started_at"] or event.at[:40]
        if event.kind in TOOL_CALLS and not event.again:
            seen["calls"] += 1
        if event.id:
            open_call(seen, event)
        step = STEPS.get(event.kind)
        if step is not None:
            step(seen, event)
    return seen


# Calls


def _end_call(seen: Observation, event: SessionEvent) -> None:
    call = close_call(seen, event)
    if event.end == "refused":
        take_back_call(seen, event.id)
        refuse_call(seen, call, event.text)
        tell(seen, HEARD, event.text)
        _rule(seen, event.text)
    elif event.end == "blocked":
        take_back_call(seen, event.id)
    else:
        end_call(seen, event)


# Words


def _add_prompt(seen: Observation, event: SessionEvent) -> None:
    said = _quote(seen, outline(event.text, ROOM["request"] - 200), ROOM["request"] - 200)
    if seen["said"] and is_reply(said["text"]):
        said["after"] = _end_of(seen["said"][-1]["text"], LONGEST_QUESTION)
    close_turn(seen)
    seen["prompts"] += 1
    tell(seen, ASKED, event.text.removeprefix(HANDED_OVER))
    seen["asked"] = _last_whole_request(seen) if len(said["text"]) <= LONGEST_REPLY else None
    same = _quote(seen, event.text, LONGEST_HEARD)["text"]
    seen["heard"] = [one for one in seen["heard"] if one["text"] != same]
    if seen["first"] is None:
        seen["first"] = _quote(seen, event.text, ROOM["first"] - 200)
    before = seen["request"]
    if before is not None and seen["prompts"] > 2:
        before["text"] = clipped(one_line(before["text"]), 300)
        before.pop("after", None)
        seen["earlier"] = newest([*seen["earlier"], before], 8, ROOM["earlier"])
    seen["request"] = said
    _rule(seen, event.text)
    scanned = whole_words(event.text)
    name_all(seen, scanned, NAMED_IN["prompt"], -1)
    glimpse(seen, scanned, GLIMPSED_IN["prompt"])


def _last_whole_request(seen: Observation) -> Said | None:
    """The last request that says what to do, before a short prompt."""
    before = seen["request"]
    if before is None or len(before["text"]) <= LONGEST_REPLY:
        return seen["asked"]
    return {**before, "text": clipped(before["text"], ROOM["asked"] - 200)}


def _hear(seen: Observation, event: SessionEvent) -> None:
    """Keep what the person typed while the agent worked, until they take it back."""
    taken = [one for one in seen["heard"] if one["at"] == event.id]
    heard = [one for one in seen["heard"] if one["at"] != event.id]
    if event.text:
        said = {
            **_quote(seen, event.text, LONGEST_HEARD),
            "at": event.id[:40],
            "turn": seen["prompts"],
        }
        heard.append(said)  # type: ignore[arg-type]
        tell(seen, HEARD, event.text)
        _rule(seen, event.text)
        name_all(seen, whole_words(event.text), NAMED_IN["prompt"], -1)
    for one in taken:
        if not event.text:
            take_back_heard(seen, one["text"])
        seen["rulings"] = [
            rule for rule in seen["rulings"] if rule["text"] not in one_line(one["text"])
        ]
    seen["heard"] = newest(heard, 10, ROOM["heard"])


def _end_of(text: str, most: int) -> str:
    """The end of a text, from a sentence's beginning where there is one: there stands the question."""
    end = clipped_end(text, most - 2)
    if len(end) < len(text):
        start = end.find(". ") + 2  # 1 where there is none
        end = end[start:] if 2 <= start < most // 3 else f"… {end.partition(' ')[2]}"
    return end


def _rule(seen: Observation, text: str) -> None:
    """Sentences in which the person ruled something in or out."""
    if len(text) > LONGEST_RULED or not _RULING.search(text):
        return
    found = list(seen["rulings"])
    if "```" in text:
        text = _FENCED.sub("\n", text)
    for part in _SENTENCE.split(text):
        sentence = one_line(part)
        if _RULING.search(sentence) and _is_said(sentence):
            found = [one for one in found if one["text"] != sentence]
            said: Said = {"text": sentence, "at": "", "call": seen["calls"]}
            found.append({**said, "turn": seen["prompts"]})
    if found != seen["rulings"]:
        seen["rulings"] = newest(found, 20, ROOM["rulings"])


def _is_said(sentence: str) -> bool:
    """Whether a person may have said it: a log or code is neither so short, so long nor so shaped."""
    return 12 <= len(sentence) <= 300 and not is_pasted(sentence)


def _add_answer(seen: Observation, event: SessionEvent) -> None:
    answer: ChosenAnswer = {
        "about": clipped(one_line(event.about), 120),
        "text": clipped(one_line(event.text), 300),
        "call": seen["calls"],
    }
    seen["answers"] = newest([*seen["answers"], answer], 10, ROOM["answers"])
    _rule(seen, event.text)


def _keep_last_words(seen: Observation, event: SessionEvent) -> None:
    most = ROOM["said"] - 200
    said = _quote(seen, _end_of(event.text.strip(), most), most)
    seen["said"] = [{**said, "edits": seen["edits"]}]
    tell(seen, SAID, event.text)
    scanned = whole_words(event.text)
    name_all(seen, scanned, NAMED_IN["said"], -1)
    glimpse(seen, scanned, GLIMPSED_IN["said"])


def _keep_plan(seen: Observation, event: SessionEvent) -> None:
    lines = [line.strip() for line in event.text.split("\n") if line.strip()]
    heads = [one_line(line.lstrip("# ")) for line in lines if line.startswith("#")]
    if heads or lines:
        heads = [clipped(head, 100) for head in heads or lines[:6]]
        seen["plan"] = oldest(heads, 12, ROOM["plan"])


def _quote(seen: Observation, text: str, most: int) -> Said:
    return {"text": clipped(text.strip(), most), "at": seen["at"], "call": seen["calls"]}


# Tasks


def _replace_tasks(seen: Observation, event: SessionEvent) -> None:
    tasks = [_task(task) for task in event.tasks if task["text"]]
    seen["listed"] = seen["calls"]
    seen["tasks"] = _bound_tasks(tasks)


def _change_tasks(seen: Observation, event: SessionEvent) -> None:
    tasks = seen["tasks"]
    seen["listed"] = seen["calls"]
    grown = False
    for change in event.tasks:
        # An older observation has the numbers without their sign.
        key = change["key"].removeprefix("#")
        known = next((task for task in tasks if task["key"].removeprefix("#") == key), None)
        grown = grown or bool(change["text"])
        if known is None:
            if change["text"]:
                tasks.append(_task(change))
        else:
            known["state"] = change["state"] or known["state"]
            known["text"] = clipped(one_line(change["text"]), 160) or known["text"]
    if grown:
        seen["tasks"] = _bound_tasks(tasks)


def _task(task: Task) -> Task:
    return {
        "key": task["key"][:40],
        "text": clipped(one_line(task["text"]), 160),
        "state": task["state"] or "open",
    }


def _bound_tasks(tasks: list[Task]) -> list[Task]:
    """All that fit, in order; tasks that are done go first, the oldest of them before all."""
    # A state may become longer without being measured again: "open", then "dropped".
    room = ROOM["tasks"] - size_of(tasks) - 3 * len(tasks)
    if room >= 0:
        return tasks
    kept = list(tasks)
    for over in ("dropped", "done", "open", "active"):
        for task in [task for task in tasks if task["state"] == over]:
            if room >= 0:
                return kept
            kept.remove(task)
            room += size_of(task) + 5
    return kept


# Subagents and compaction


def _add_agent(seen: Observation, event: SessionEvent) -> None:
    seen["agents"][event.id[:60]] = clipped(one_line(event.text), 100)
    while size_of(seen["agents"]) > ROOM["agents"]:
        del seen["agents"][next(iter(seen["agents"]))]
    name_all(seen, event.text, NAMED_IN["call"], -1)
    wait_for_end(seen, event.id, "agent", "")


def _drop_agent(seen: Observation, event: SessionEvent) -> None:
    seen["agents"].pop(event.id[:60], None)


def _count_compaction(seen: Observation, event: SessionEvent) -> None:
    seen["compactions"] += 1


def _note_summary(seen: Observation, event: SessionEvent) -> None:
    # Its text stays in the transcript; here it is only known when it was written.
    seen["summary"] = {"text": "", "at": seen["at"], "call": seen["calls"]}
    sum_up(seen, event.text)


STEPS: dict[str, Any] = {
    **FILE_STEPS,
    **COMMAND_STEPS,
    "prompt": _add_prompt,
    "heard": _hear,
    "said": _keep_last_words,
    "plan": _keep_plan,
    "tasks": _replace_tasks,
    "task": _change_tasks,
    "answer": _add_answer,
    "agent": _add_agent,
    "agent_end": _drop_agent,
    "result": _end_call,
    "compact": _count_compaction,
    "summary": _note_summary,
}
