"""Records in the words of people: what each one says, and whether it is good news."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.state import at_version, fold
from holdfast.kernel.text import one_line
from holdfast.loop.history import line
from holdfast.rfc.rules.model import heading_of
from holdfast.session.rules.progress import NO_STATUS
from holdfast.session.rules.prompt import is_stated, next_action_of
from holdfast.streams import rules_of

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal, Record
    from holdfast.session.rules.model import Progress, SessionState

LONGEST = 200
# A state is made anew from the first record of its stream; of a longer one only the record is read.
LONGEST_WAY = 3_000
TONES = {
    "good": ("passed", "task_done", "answered", "plan_closed", "run_ended", "completed", "acknowledged"),
    "bad": ("failed", "task_failed", "stopped", "task_lost", "refused", "completion_refused"),
    "wait": ("blocked", "escalated", "gate_asked", "run_paused", "opened", "prepared", "expired"),
}  # fmt: skip
# What people call a kind of record.
WORDS = {
    "captured": "checkpoint",
    "checked": "budget checked",
    "noted": "note",
    "observed": "seen at work",
    "surveyed": "work tree looked at",
    "commented": "tracker updated",
    "adopted": "taken over",
    "sent": "message",
    "edited_outside": "edited by hand",
    "removed_outside": "removed by hand",
}
# Why an automated checkpoint was made.
BY_ITSELF = {
    "session-split": "the session ended",
    "context-threshold": "before a compaction",
    "handoff": "the agent stopped",
}
# `opened` is the first record of several kinds of stream.
OPENED = {"gate": "asked", "comms": "channel opened"}
# Streams whose name tells a person nothing.
UNNAMED = ("session", "gate", "budget", "estop")
_TONE_OF = {kind: tone for tone, kinds in TONES.items() for kind in kinds}
# Fields that a line of the history has already, or that tell a person nothing.
_UNTOLD = ("at", "session", "digest", "sender", "receiver")
_TEXTS = ("text", "reason", "message", "summary", "subject", "notes", "title", "path")


def word_of(record: Record) -> str:
    """What people call the kind of a record."""
    if record["kind"] == "opened":
        return OPENED.get(record["stream"].partition(":")[0], "opened")
    return WORDS.get(record["kind"], record["kind"].replace("_", " "))


def subject_of(stream: str) -> str:
    """The name that people know a stream by; empty when they know none."""
    kind, _, name = stream.partition(":")
    return "" if kind in UNNAMED or name == "default" else name


def describe(record: Record, before: SessionState | None = None) -> str:
    """What a record says, on one line. `before` is the state of a session ahead of its checkpoint."""
    if record["erased"]:
        return "erased"
    if record["kind"] == "captured" and before is not None:
        try:
            body = record["body"]
            changed = _changes_between(before["progress"], body["set"])
            changed = changed or _new_next_action(before["progress"], body) or _place_of(body)
        except (KeyError, TypeError, AttributeError):
            changed = ""  # what another version wrote
        if changed:
            return one_line(changed, LONGEST)
    return one_line(text_of(record), LONGEST)


def describe_all(journal: Journal, records: Sequence[Record]) -> dict[str, str]:
    """The line of each record, by its id. A checkpoint says what it changed."""
    before: dict[str, SessionState] = {}
    captures: dict[str, list[Record]] = {}
    for record in records:
        if record["kind"] == "captured" and not record["erased"]:
            captures.setdefault(record["stream"], []).append(record)
    for stream, wanted in captures.items():
        before |= _states_before(journal, stream, sorted(one["version"] for one in wanted))
    return {
        record["id"]: describe(record, before.get(f"{record['stream']}@{record['version']}"))
        for record in records
    }


def _states_before(journal: Journal, stream: str, versions: list[int]) -> dict[str, SessionState]:
    """The state ahead of each of these versions; nothing when `gc` removed what it was made of."""
    rules, first = rules_of(stream), versions[0]
    if versions[-1] > LONGEST_WAY:
        return {}
    try:
        state = (
            at_version(journal, rules, stream, first - 1) if first > 1 else rules.initial(stream)
        )
    except HoldfastError:
        return {}
    found, wanted = {}, set(versions)
    for record in journal.read(stream, after=first - 1, limit=versions[-1] - first + 1):
        if record["version"] in wanted:
            found[f"{stream}@{record['version']}"] = state
        state = fold(rules, state, [record])
    return found


def _changes_between(before: Progress, changed: dict[str, Any]) -> str:
    """What a checkpoint says anew, such as `Renderer: half done → done`."""
    task, status = before["current"], before["status"]
    parts = []
    for done in changed.get("completed") or []:
        if done not in before["completed"]:
            was = f"{status} → " if done == task and status else ""
            parts.append(f"{done}: {was}done")
    current = changed.get("current", task)
    if current and current != task:
        parts.append(f"{current}: {changed.get('status') or NO_STATUS}")
    elif current and changed.get("status"):
        was = f"{status} → " if status else ""
        parts.append(f"{current}: {was}{changed['status']}")
    for name, key, word in (
        ("decisions", "decision", "decided"),
        ("blockers", "blocker", "blocked"),
    ):
        known: Any = before[name]  # type: ignore[literal-required]
        parts += [f"{word}: {one[key]}" for one in changed.get(name) or [] if one not in known]
    if "blockers" in changed and not changed["blockers"]:
        parts.append("no longer blocked")
    if not parts and changed.get("remaining"):
        parts.append(f"left: {', '.join(changed['remaining'])}")
    return " · ".join(parts)


def _new_next_action(before: Progress, body: dict[str, Any]) -> str:
    """The next action that a person or an agent stated, where it is another one. Checkpoints that are made
    by themselves name one at every turn."""
    action = next_action_of(body["set"].get("prompt") or "")
    is_new = is_stated(action) and action != next_action_of(before["prompt"])
    return f"next: {action}" if is_new and body["profile"] != "automated" else ""


def _place_of(body: dict[str, Any]) -> str:
    """The commit at which a checkpoint was asked for that says nothing new of the work."""
    if body["profile"] == "automated" or body["reason"] != "handoff":
        return ""  # the reason says more
    commit = body["world"]["commit"]
    return f"no new task or next action{f', at commit {commit[:8]}' if commit else ''}"


def tone_of(record: Record) -> str:
    """`good`, `bad`, `wait` or empty."""
    body = record["body"] if isinstance(record["body"], dict) else {}
    if record["kind"] == "gate_answered" or record["kind"] == "answered":
        return "bad" if body.get("verdict") == "no" else "good"
    if record["kind"] == "opened" and not record["stream"].startswith("gate:"):
        return ""
    if record["kind"] == "checked":
        how = {one.get("how") for one in body.get("handled") or [] if isinstance(one, dict)}
        return "bad" if "stopped" in how else "wait" if how & {"waiting", "warned"} else ""
    return _TONE_OF.get(record["kind"], "")


# What a record of one kind says


def text_of(record: Record) -> str:
    """The text of a record of any stream."""
    body = record["body"]
    if isinstance(body, str):
        return body
    if not isinstance(body, dict):
        return "" if body is None else json.dumps(body, ensure_ascii=False)
    own = _SAYS.get(record["kind"])
    try:
        spoken = own(record, body) if own else ""
    except (KeyError, TypeError, AttributeError):
        spoken = ""  # what another version wrote
    return spoken or _fields_in_words(body)


def _fields_in_words(body: dict[str, Any]) -> str:
    for name in _TEXTS:
        if isinstance(body.get(name), str) and body[name]:
            return str(body[name])
    flat = {
        name: value
        for name, value in body.items()
        if name not in _UNTOLD and isinstance(value, (str, int, float))
    }
    return ", ".join(f"{name}: {value}" for name, value in flat.items() if value not in ("", False))


def _captured(record: Record, body: dict[str, Any]) -> str:
    reason = body["reason"] or body["profile"]
    if body["profile"] == "automated":
        reason = BY_ITSELF.get(reason, reason)
    parts = [reason, body["set"].get("current") or ""]
    done = body["set"].get("completed")
    parts.append(f"{len(done)} done" if done else "")
    return " · ".join(part for part in parts if part)


def _of_task(record: Record, body: dict[str, Any]) -> str:
    if "plan" not in body:
        return " ".join(str(body.get(name) or "") for name in ("step", "task", "commit")).strip()
    parts = [f"{body['plan']}#{body['task']}", str(body.get("why") or body.get("said") or "")]
    parts.insert(1, f"{body['seconds']:.1f} s" if "seconds" in body else "")
    return " · ".join(part for part in parts if part)


def _of_step(record: Record, body: dict[str, Any]) -> str:
    if "checkpoint" in body:  # an agent's start, not a step's
        known = body["checkpoint"]
        return " · ".join(str(known[name]) for name in ("feature", "stage") if known.get(name))
    happened = line(record)
    names = ("step", "from", "agent", "number", "task", "notes", "reason")
    return " · ".join(str(happened[name]) for name in names if happened.get(name))


def _of_gate(record: Record, body: dict[str, Any]) -> str:
    if record["kind"] == "opened":
        return str((body.get("content") or {}).get("title") or "")
    by = body.get("by") or (body.get("person") or {}).get("name") or ""
    where = f"{body['plan']}#{body['key']}" if "plan" in body else ""
    parts = [where, body.get("answer") or body.get("gate"), body.get("text"), by]
    return " · ".join(str(part) for part in parts if part)


def _of_beat(record: Record, body: dict[str, Any]) -> str:
    return str((body.get("set") or {}).get("current_step") or "")


def _claimed(record: Record, body: dict[str, Any]) -> str:
    return f"by {body['agent']}"


def _moved(record: Record, body: dict[str, Any]) -> str:
    restart = ", and a fresh context" if body["restart"] else ""
    return f"{body['name']} → {body['set']['current_phase']}{restart}"


def _written(record: Record, body: dict[str, Any]) -> str:
    bullets = sum(len(section["bullets"]) for section in body["sections"])
    return f"{heading_of(body['group'])}: {bullets} notes"


def _begun(record: Record, body: dict[str, Any]) -> str:
    if record["kind"] == "life_begun":
        return f"process {body['life']['pid']} on {body['life']['host']}"
    if record["kind"] == "run_begun":
        return f"{len(body['plans'])} plans in {len(body['phases'])} phases"
    return str(body["fields"].get("strictness") or "")


def _observed(record: Record, body: dict[str, Any]) -> str:
    """What was new in the transcript: a request, edited files, what fails, tasks, commits."""
    change = body["change"]
    put, members = change.get("put", {}), change.get("members", {})
    seen = {**put, **{name: one["put"] for name, one in members.items()}}
    parts = []
    if request := (put.get("request") or {}).get("text"):
        parts.append(f"asked: {' '.join(request.split())[:90]}")
    edited = [path for path, file in (seen.get("files") or {}).items() if file.get("edits")]
    if edited:
        more = f" and {len(edited) - 3} more" if len(edited) > 3 else ""
        parts.append(f"edited {', '.join(edited[:3])}{more}")
    if put.get("failures"):
        parts.append(f"failing: {', '.join(one['text'] for one in put['failures'][:2])}")
    if done := sum(one.get("state") == "done" for one in put.get("tasks") or []):
        parts.append(f"{done} of {len(put['tasks'])} tasks done")
    if put.get("commits"):
        parts.append(f"committed: {put['commits'][-1]['text']}")
    if not parts and "calls" in put:
        parts.append(f"{put['calls']} tool calls so far")
    return " · ".join(parts) or "the work tree changed"


def _adopted(record: Record, body: dict[str, Any]) -> str:
    return f"by session {body['by'][:12]}"


_SAYS: dict[str, Callable[[Record, dict[str, Any]], str]] = {
    "captured": _captured,
    **dict.fromkeys(("task_started", "task_done", "task_failed", "task_lost"), _of_task),
    **dict.fromkeys(("started", "passed", "failed", "blocked", "advanced", "attempt_begun"), _of_step),
    **dict.fromkeys(("opened", "answered", "expired", "gate_asked", "gate_answered"), _of_gate),
    **dict.fromkeys(("beat", "sync", "phase", "unblock"), _of_beat),
    **dict.fromkeys(("life_begun", "run_begun", "begun"), _begun),
    "moved": _moved,
    "observed": _observed,
    "adopted": _adopted,
    "claimed": _claimed,
    "written": _written,
}  # fmt: skip
