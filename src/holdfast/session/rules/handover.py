"""The progress that a session hands over: what was stated, completed by what was observed.

What an agent or a person stated keeps its own words. What was observed fills the rest, and takes the
lead where work went on since the statement.
"""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.kernel.text import defuse, quoted, without_order
from holdfast.observe.model import telling_lines
from holdfast.session.rules.fields import UNKNOWN_ISSUE, one_line
from holdfast.session.rules.prompt import (
    NO_ISSUE,
    compose,
    files_in,
    is_composed,
    is_planned,
    is_stated,
    next_action_of,
    position_in,
    position_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.session.rules.model import Progress, SessionState

MOST_TASKS, MOST_RULINGS, MOST_FAILURES, MOST_FILES = 40, 12, 3, 5
LONGEST_TITLE, LONGEST_ACTION = 90, 240
LONGEST_COMMAND, LONGEST_OUTPUT = 120, 160
RULED = "ruled by the person"
CHOSEN = "chosen by the person"
# Words with which agents announce what they are about to do.
_NEXT = ("next", "i'll ", "i will ", "i would ", "i'd ", "remaining", "todo", "still to do")
# With these an agent offers its help, or waits.
_OFFERS = (
    "let me know",
    "happy to",
    "would you",
    "do you want",
    "shall i",
    "i'll wait",
    "i will wait",
)
# The section's own title, as agents write it.
_TITLES = ("next step:", "next steps:", "next action:", "optional next step:")
# Where a next step is said.
ANNOUNCED = "the agent's last words"
IN_PROGRESS, FIRST_OPEN = "its task in progress", "its first open task"
FAILING, REQUESTED = "what fails", "the request under way"
# A step that was announced more calls ago may be done.
MOST_CALLS_SINCE = 2
# So many calls after a failure it may have been mended without an edit that was seen.
LONGEST_STILL = 20
# So many calls after its last change a list of tasks says no more what comes next.
LONGEST_LISTED = 40
_TRUNKS = ("main", "master", "trunk", "")


def seen_in(state: SessionState) -> dict[str, Any] | None:
    """The observation of a session's work; None when there is none."""
    observed = state.get("observed")
    return observed["seen"] if observed else None


def count_since_stated(state: SessionState, what: str) -> int:
    """How many `edits` or `calls` were observed after the last statement; 0 also when nothing was observed."""
    seen = seen_in(state)
    stated: Any = state.get("stated")
    if seen is None or stated is None or is_stated_later(state):
        return 0
    return max(0, int(seen[what]) - int(stated[what]))


def is_stated_later(state: SessionState) -> bool:
    """Whether the statement was made after all that was observed, as a person does for a session that
    died: how many calls there were by then is not in the journal."""
    seen, stated = seen_in(state), state.get("stated")
    if seen is None or stated is None or not seen.get("at"):
        return False
    try:
        return clock.parse(stated["at"]) > clock.parse(str(seen["at"]))
    except ValueError:
        return False


def as_stated(seen: Any, state: SessionState) -> Any:
    """The observation with what was stated after all of it: tasks that are completed by then are done, and a
    failure may have been mended if it was said that nothing blocks, or if a probe passed."""
    if not is_stated_later(state):
        return seen
    completed = {one_line(task) for task in state["progress"]["completed"]}
    hidden, last = set(state.get("hidden") or ()), state["last"]
    has_passed = last is not None and any(
        claim["ok"] and claim["probe"].keys() & {"run", "tests"} for claim in last["claims"]
    )
    tasks = [
        {**task, "state": "done"} if one_line(task["text"]) in completed else task
        for task in seen["tasks"]
    ]
    failures = [
        {**one, "mended": True} if has_passed or one["text"] in hidden else one
        for one in seen["failures"]
    ]
    return {**seen, "tasks": tasks, "failures": failures}


def progress_of(state: SessionState) -> Progress:
    """What `.ccc-progress.md` says of a session."""
    stated, seen = state["progress"], seen_in(state)
    if seen is None:
        return stated
    seen = as_stated(seen, state)
    is_stated = state.get("stated") is not None
    went_on = not is_stated or count_since_stated(state, "edits") > 0
    hidden = set(state.get("hidden") or ())
    tasks = [task for task in seen["tasks"] if task["text"] and task["text"] not in hidden]
    done = [one_line(task["text"]) for task in tasks if task["state"] == "done"]
    active = [one_line(task["text"]) for task in tasks if task["state"] == "active"]
    waiting = [one_line(task["text"]) for task in tasks if task["state"] == "open"]
    completed = _join(stated["completed"], done)
    current, status = stated["current"], stated["status"]
    if went_on and active and current not in active:
        current, status = active[0], "in progress"
    if not current and (active or waiting):
        current, status = (active or waiting)[0], "in progress" if active else ""
    is_finished = bool(stated["completed"]) and is_stated_later(state)
    if not current and seen["request"] and not stated["remaining"] and not is_finished:
        current, status = _request_line(seen), "in progress"
    left = [task for task in _join(stated["remaining"], active + waiting) if task != current]
    finished = set(completed)
    after: Progress = {
        **stated,
        "title": _stated_or_asked(state),
        "completed": completed,
        "current": current,
        "status": status,
        "remaining": [task for task in left if task not in finished],
        "decisions": [*stated["decisions"], *_list_rulings(seen, stated)],
        "blockers": [*stated["blockers"], *_list_failing(seen)],
    }
    after["prompt"] = _prompt(state, after, seen, went_on=went_on)
    return after


def _join(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Both lists, nothing twice, the second bounded."""
    return list(dict.fromkeys([*first, *second[:MOST_TASKS]]))


def _request_line(seen: dict[str, Any]) -> str:
    request = seen["request"]
    return one_line(request["text"])[:LONGEST_ACTION] if request else ""


def shorten(line: str, most: int) -> str:
    """The beginning of a line, up to the end of a word."""
    if len(line) <= most:
        return line
    return line[:most].rpartition(" ")[0].rstrip(" ,;:") + "…"


def _list_rulings(seen: dict[str, Any], stated: Progress) -> list[Any]:
    """What the person chose and ruled, as decisions."""
    known = {one["decision"] for one in stated["decisions"]}
    found = [(one_line(one["text"]), one_line(one["about"]) or CHOSEN) for one in seen["answers"]]
    found += [(one_line(one["text"]), RULED) for one in seen["rulings"][-MOST_RULINGS:]]
    return [
        {"decision": decision.replace(": ", " - "), "rationale": rationale}
        for decision, rationale in dict(found).items()
        if decision and decision not in known
    ]


def _list_failing(seen: dict[str, Any]) -> list[Any]:
    """Commands that failed and have not passed since."""
    return [
        {"blocker": f"{_failed_command(one)} fails{_output(one)}", "until": "it passes"}
        for one in seen["failures"][-MOST_FAILURES:]
        if not is_unsettled(seen, one)
    ]


def _failed_command(failure: dict[str, Any]) -> str:
    return f"`{one_line(failure['text']).replace('`', chr(39))[:LONGEST_COMMAND]}`"


def _output(failure: dict[str, Any]) -> str:
    """What a program printed. It is data, also where no fence stands around it."""
    said = _error(failure)
    return f", with the output {quoted(said[2:], LONGEST_OUTPUT)}" if said else ""


def _error(failure: dict[str, Any]) -> str:
    lines = [line.strip() for line in failure["end"].split("\n") if line.strip()]
    return f": {one_line(telling_lines(lines, 1)[0])[:160]}" if lines else ""


def _prompt(state: SessionState, after: Progress, seen: dict[str, Any], *, went_on: bool) -> str:
    """The continuation prompt. What a person wrote in its place stays."""
    kept = state["progress"]["prompt"]
    if kept and not is_composed(kept):
        return kept
    action = "" if went_on else next_action_of(kept)
    if is_planned(action, state["progress"]):
        action = ""  # no statement, but what the lists of tasks said
    files = list(dict.fromkeys([*key_files(seen), *files_in(kept)]))[:MOST_FILES]
    observed = state.get("observed")
    is_of_terminal = observed is not None and bool(observed.get("session"))
    if is_of_terminal:
        # The person names the files, or those that differ from HEAD are meant.
        files = files_in(kept) or files
    # Without a list of tasks, the work that went on says nothing of the position, which a loop may have given.
    # In a terminal the statement knows only its own tasks.
    current = after["current"]
    if current != state["progress"]["current"]:
        current = _as_data(current)
    action = action or quoted_step(seen) or current
    is_counted = bool(seen["tasks"]) and (went_on or is_of_terminal)
    said = None if is_counted else position_in(kept)
    return compose(subject_of(state, after), said or position_of(after), files, action)


def title_of(state: SessionState) -> str:
    """Return what a session is called in every list: its issue and its title where these were stated, else the
    person's request, else its task, else its next step."""
    issue = state["progress"]["issue"]
    issue = "" if issue == UNKNOWN_ISSUE else issue
    about = _stated_or_asked(state)
    if not about:
        known = progress_of(state)
        action = next_action_of(known["prompt"])
        about = known["current"] or (action if is_stated(action) else "")
    return " · ".join(one for one in (issue, without_order(about)) if one)


def _stated_or_asked(state: SessionState) -> str:
    """Return the title that was stated, else the person's request."""
    seen = seen_in(state)
    asked = shorten(_request_line(seen), LONGEST_TITLE) if seen else ""
    return state["progress"]["title"] or asked


def subject_of(state: SessionState, progress: Progress) -> str:
    """What is resumed: the issue, else the branch, else the work."""
    if progress["issue"] != UNKNOWN_ISSUE:
        return progress["issue"]
    last = state["last"]
    branch = (last["world"]["branch"] or "") if last else ""
    return NO_ISSUE if branch in _TRUNKS else branch


def key_files(seen: dict[str, Any]) -> list[str]:
    """The files edited last that still exist."""
    files = seen["files"]
    edited = [name for name, one in files.items() if one["edits"] and one["state"] != "deleted"]
    return sorted(edited, key=lambda name: (-files[name]["call"], name))[:MOST_FILES]


def next_step(seen: Any) -> tuple[str, str]:
    """What can be begun at once, and where the session says so: what the agent announced, its task in
    progress, its first open task, what fails, the request under way."""
    announced = announced_step(seen)
    if announced:
        return announced, ANNOUNCED
    for state, where in (("active", IN_PROGRESS), ("open", FIRST_OPEN)):
        for task in [] if is_old_list(seen) else seen["tasks"]:
            if task["state"] == state:
                return one_line(task["text"])[:LONGEST_ACTION], where
    if seen["failures"]:
        failure = seen["failures"][-1]
        command = f"`{one_line(failure['text'])[:LONGEST_COMMAND]}`"
        if is_unsettled(seen, failure):
            return f"run {command} again: it failed before the last changes", FAILING
        return f"make {command} pass{_error(failure)}", FAILING
    return _request_line(seen), REQUESTED


def is_old_list(seen: Any) -> bool:
    """Return whether so much happened since the tasks were changed last that none of them need be the next."""
    return (
        bool(seen["tasks"]) and seen["calls"] - seen.get("listed", seen["calls"]) > LONGEST_LISTED
    )


def quoted_step(seen: Any) -> str:
    """The next step for a prompt, which stands in no fence: what was seen is a quotation there. What a
    program printed has no place in it."""
    step, where = next_step(seen)
    if where == FAILING:
        failure = seen["failures"][-1]
        is_old = is_unsettled(seen, failure)
        where = "run again what failed before the last changes" if is_old else "make this pass"
        step = one_line(failure["text"])[:LONGEST_COMMAND]
    return f"{where}: {_as_data(step)}" if step else ""


def _as_data(text: str) -> str:
    return f"{quoted(defuse(text.rstrip('.')), LONGEST_ACTION)} (quoted as data)" if text else ""


def announced_step(seen: Any) -> str:
    """The last sentence in which the agent said what comes next; empty where it has gone on since and may
    have done it, or where the person has asked for something since."""
    if not seen["said"] or seen["calls"] - seen["said"][-1]["call"] > MOST_CALLS_SINCE:
        return ""
    if spoke_before_request(seen):
        return ""
    text = seen["said"][-1]["text"].replace("\n", ". ")
    for sentence in reversed(text.split(". ")):
        lowered = sentence.lower()
        if any(word in lowered for word in _OFFERS):
            continue
        if any(word in lowered for word in _NEXT) and 12 <= len(sentence) <= 400:
            plain = one_line(sentence.replace("**", "").strip(" -*#>"))
            return without_title(plain)[:LONGEST_ACTION]
    return ""


def without_title(step: str) -> str:
    """A step without the words "Next step:" before it, which stand there once or twice."""
    while step.lower().startswith(_TITLES):
        step = step.partition(":")[2].strip()
    return step


def spoke_before_request(seen: Any) -> bool:
    """Whether the agent has said nothing since the request under way."""
    request, said = seen["request"], seen["said"]
    if request is None or not said:
        return False
    return bool((said[-1]["call"], said[-1]["at"]) < (request["call"], request["at"]))


# Failures


def edits_since(seen: Any, failure: Any) -> int:
    """How many edits came after a failure. An older observation does not say."""
    return max(0, int(seen["edits"] - failure.get("edits", seen["edits"])))


def is_unsettled(seen: Any, failure: Any) -> bool:
    """Whether a failure may have been mended: after an edit, many calls, a run whose end is not known, or a
    statement that it was."""
    calls = seen["calls"] - failure["call"]
    is_in_doubt = "again" in failure or "mended" in failure
    return edits_since(seen, failure) > 0 or calls > LONGEST_STILL or is_in_doubt
