"""The parts of a pack that come from the journal and the work tree, in words."""

from __future__ import annotations

import os

from holdfast.clients.table import title_of
from holdfast.kernel import clock
from holdfast.kernel.durations import describe_age
from holdfast.kernel.plain_file import read_plain
from holdfast.kernel.text import code, command
from holdfast.session.rules.fields import STORED, UNKNOWN_ISSUE, field_of, one_line
from holdfast.session.rules.handover import count_since_stated
from holdfast.session.rules.model import empty_progress
from holdfast.session.rules.progress import claim_line
from holdfast.session.rules.prompt import (
    files_in,
    is_composed,
    is_planned,
    next_action_of,
    protocol_lines,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from holdfast.clients.discovery import FoundSession
    from holdfast.observe.model import Observation
    from holdfast.pack.pack import StatedPart
    from holdfast.session.rules.fields import Field
    from holdfast.session.rules.model import Claim, Progress, SessionState

MOST_SINCE = 4
MOST_OF_FIELD = {"completed": 8}
# Where there is little room, these fields of the statement are cut, the last first.
CUT_FIRST = ("decisions", "remaining", "completed")
# A file that is read to see whether what was to be done stands in it by now.
LARGEST_FILE = 400_000
SHORTEST_TERM = 5
LACKING = (
    "{} shows the edits of that session that the work tree lacks; with --apply it brings them back."
)
STILL_AT_WORK = "That session is at work at this moment. Do not continue its work beside it without being asked."


def how_long(milliseconds: int) -> str:
    """A duration as people say it."""
    count, unit = describe_age(milliseconds // 1000)
    return "less than a minute" if unit == "s" else f"{count} {unit}"


def age_of(instant: int, now: int) -> str:
    """How long ago an instant was, or that the clock which gave it is ahead of this one."""
    if instant - now >= clock.MINUTE:
        return f"at {clock.stamp(instant)}, by a clock that is {how_long(instant - now)} ahead"
    return f"{how_long(max(0, now - instant))} ago"


def verdict_lines(
    state: SessionState,
    verdict: str,
    *,
    why: str = "",
    lacks_edits: bool = False,
    at_work: bool = False,
    is_accepted: bool = False,
    seen_in: str = "",
    now: int,
) -> list[str]:
    """The verdict, and which session it is about, in our own words. `lacks_edits`: files that the
    session edited are not as it left them. `at_work`: it runs at this moment.
    `is_accepted`: the person asked to continue work of another place. `seen_in`: the session whose work
    was seen, where the checkpoint was made outside of it, in a terminal."""
    last, observed = state["last"], state.get("observed")
    about = "A progress file that no record knows."
    if state["last"] is None and state["progress"] == empty_progress() and not observed:
        about, why = "No session was captured here; what else is on record follows.", ""
    elif state["session"]:
        client = title_of(observed["client"]) if observed else ""
        session = one_line(state["session"])[:12]
        when = f", captured {age_of(clock.parse(last['at']), now)}." if last else "."
        about = f"Session {session}{f' of {client}' if client else ''}{when}"
        if seen_in:
            about = f"Checkpoint {session} of a terminal{when}"
            about += f" What was seen is of session {one_line(seen_in)[:12]} of {client}."
    # That nothing was compared is no alarm: the word for programs stays in the JSON.
    said = why if verdict == "UNKNOWN" else f"{verdict}{f' ({why})' if why else ''}"
    lines = [f"Holdfast: {f'{said}. {about}' if said else about}"]
    if at_work:
        lines.append(STILL_AT_WORK)
    if verdict == "FOREIGN" and is_accepted:
        lines.append(
            "This work was done in another place. You were asked to continue it here: look at what is "
            "there before you change it."
        )
    elif verdict == "FOREIGN":
        lines.append("This work is of another place. Do not continue it here without being asked.")
    elif verdict == "DRIFTED":
        lines.append("Look at what changed before you continue.")
        if lacks_edits:
            lines.append(_lacking("--session", (seen_in or state["session"])[:12]))
    return lines


def _lacking(option: str, value: str) -> str:
    return LACKING.format(code(command("edits", option, value)))


def transcript_lines(
    found: FoundSession, *, lacks_edits: bool = False, at_work: bool = False, now: int
) -> list[str]:
    """The same for a session that only its transcript tells of."""
    client = title_of(found["client"])
    age = age_of(found["modified"], now) if found["modified"] else ""
    return [
        f"Holdfast: session {found['session'][:12]} of {client}"
        + (f", last written {age}." if age else "."),
        *([STILL_AT_WORK] if at_work else []),
        *([_lacking("--transcript", found["path"])] if lacks_edits else []),
    ]


def mark_missing_files(seen: Observation, root: str) -> Observation:
    """The observation with files that are no longer there marked as deleted, and without paths that
    a text named but that do not exist."""
    if not root or not os.path.isdir(root):
        return seen

    def is_there(name: str) -> bool:
        return os.path.lexists(os.path.join(root, name))

    here = {name for name in seen["files"] if is_there(name)}
    if not here:
        return seen  # the session worked somewhere else
    files: dict[str, Any] = {
        name: file if name in here else {**file, "state": "deleted"}
        for name, file in seen["files"].items()
    }
    glimpsed = {name: weight for name, weight in seen["glimpsed"].items() if is_there(name)}
    return {**seen, "files": files, "glimpsed": glimpsed}


def stated_part(
    state: SessionState, seen: Observation | None, root: str, *, now: int
) -> StatedPart | None:
    """What was stated on purpose, how old it is, and what was seen done since."""
    stated, last = state.get("stated"), state["last"]
    at = stated["at"] if stated else last["at"] if last else ""
    age = age_of(clock.parse(at), now) if at else "at an unknown time"
    edits, calls = (count_since_stated(state, what) for what in ("edits", "calls"))
    if edits:
        age += f", {edits} edit{'s' if edits != 1 else ''} before now"
    since: list[str] = []
    done = ""
    failing: set[str] = set()
    if seen is not None and stated is not None and calls:
        failing = {
            one_line(one["text"])
            for one in seen["commands"].values()
            if one["failed"] and one["call"] > stated["calls"]
        }
        edited = edited_since(seen, stated["calls"])
        since = tell_since(seen, stated["calls"], edited)
        done = _done_since(next_action_of(state["progress"]["prompt"]), edited, root)
    known = {name for name, file in seen["files"].items() if file["edits"]} if seen else set()
    lines = list(_stated_lines(state, known, went_on=edits > 0, done=done, failing=failing))
    return {"age": age, "lines": [*since, *lines]} if lines else None


def _stated_lines(
    state: SessionState, known: set[str], *, went_on: bool, done: str, failing: set[str]
) -> Iterator[str]:
    """The lines of what was stated. They say so of a status or a next action if work went on since. `known`
    files are listed as edited, and need not be named again."""
    progress, last = state["progress"], state["last"]
    prompt = progress["prompt"]
    if prompt and not is_composed(prompt):
        yield from (line for line in prompt.split("\n") if line.strip())
    elif progress["issue"] != UNKNOWN_ISSUE and prompt and not went_on:
        # A task that is next because it is the current one has its own line below.
        has_own_line = is_planned(next_action_of(prompt), progress)
        yield from protocol_lines(prompt)[: 1 if has_own_line else None]
    elif prompt:
        if progress["issue"] != UNKNOWN_ISSUE:
            yield f"Issue: {progress['issue']}"
        yield from _known_of(prompt, progress, known, went_on=went_on, done=done)
    values: dict[str, Any] = {**empty_progress(), **progress}
    if progress["current"] and progress["status"]:
        values["current"] += f" ({'then ' if went_on else ''}{progress['status']})"
    for field in STORED:
        if field.name not in CUT_FIRST:
            yield from _lines_of_field(field, values[field.name])
    stated = state.get("stated")
    by = f", by {stated['by']}" if stated and stated["by"] else ""
    for claim in last["claims"] if last else []:
        then = "failed since, was " if _fails_now(claim, failing) else ""
        yield f"Claim: {then}{claim_line(claim)}{by}"
    for name in CUT_FIRST:
        yield from _lines_of_field(field_of(name), values[name])
    yield from (line for line in progress["extra"].split("\n") if line.strip())


def _lines_of_field(field: Field, value: Any) -> list[str]:
    """Return the lines of a field with its word before each; of a list that only grows, the newest first."""
    members = value if field.is_list else [value] if value else []
    if field.adds:
        members = members[::-1]
    shown = members[: MOST_OF_FIELD.get(field.name)] if field.in_pack else []
    return [f"{field.in_pack}: {field.say(one)}" for one in shown]


def _fails_now(claim: Claim, failing: set[str]) -> bool:
    """Whether the command behind a claim was seen to fail after it was stated."""
    return claim["ok"] and one_line(str(claim["probe"].get("run", ""))) in failing


def _known_of(
    prompt: str, progress: Progress, known: set[str], *, went_on: bool, done: str
) -> Iterator[str]:
    """What a composed prompt does say: the next action, or that it was done, and the files."""
    action = next_action_of(prompt)
    files = [name for name in files_in(prompt) if name not in known]
    if action and not is_planned(action, progress):
        yield done or f"Next action{' then' if went_on else ''}: {action}"
    if files:
        yield f"Key files: {', '.join(files)}"


def edited_since(seen: Observation, calls: int) -> list[str]:
    """The files that were edited after so many calls and are still there, the latest first."""
    files = seen["files"]
    edited = [
        name
        for name, file in files.items()
        if file["edits"] and file["call"] > calls and file["state"] != "deleted"
    ]
    return sorted(edited, key=lambda name: (-files[name]["call"], name))


def tell_since(seen: Observation, calls: int, edited: list[str]) -> list[str]:
    """What was seen done after the statement, in one line."""
    ran = [
        one
        for one in seen["commands"].values()
        if one["call"] > calls and not one["text"].startswith("holdfast ")
    ]
    ran.sort(key=lambda one: -one["call"])
    did = []
    if edited:
        did.append(f"edited {', '.join(edited[:MOST_SINCE])}")
    for one in ran[:2]:
        if one["failed"] is not None:
            how = "failed" if one["failed"] else "passed"
            did.append(f"`{one_line(one['text'])[:80]}` {how}")
    return [f"Seen since it was stated: {'; '.join(did)}."] if did else []


def _done_since(action: str, edited: list[str], root: str) -> str:
    """That a next action was done, where its code stands in a file that was edited since."""
    for term in _terms(action):
        where = next((name for name in edited if _holds(os.path.join(root, name), term)), "")
        if where:
            return f"Done since: {action} (`{term}` is in {where} now)."
    return ""


def _terms(action: str) -> list[str]:
    """The words of an action that look like code."""
    words = [word.strip("`'\"(),;:.!?") for word in action.split()]
    return [
        word
        for word in words
        if (len(word) >= SHORTEST_TERM and any(letter in word for letter in "._("))
        or (word != word.lower() and word != word.title())
    ]


def _holds(path: str, term: str) -> bool:
    try:
        return term in read_plain(path, LARGEST_FILE).decode(errors="replace")
    except OSError:
        return False
