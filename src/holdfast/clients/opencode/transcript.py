"""opencode: the tables `message` and `part` of `opencode.db`.

A message is a row of its own, and what was said and done in it are its parts. A part changes until
its message is complete, so the next look begins with the oldest message that was not. Parts that
were read whole are told apart by their ids, which grow.
"""

from __future__ import annotations

import json

from holdfast.clients.conversation import (
    LONGEST_OUTPUT,
    LONGEST_TEXT,
    SessionEvent,
    note_place,
    shorten,
    words_of_the_person,
)
from holdfast.clients.lines import Unread
from holdfast.clients.opencode.sessions import Store
from holdfast.clients.tool_calls import call_event, edit_event, read_patch, result_event
from holdfast.kernel import clock
from holdfast.kernel.canonical_json import list_of, table_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypedDict

    from holdfast.clients.conversation import Change, Kind, ReaderState

    class OpencodeMark(TypedDict):
        """How far a session was read: from which message on (time and id) to look again, and what
        was told of each part since then."""

        since: int
        message: str
        parts: dict[str, int]

    class OpencodeMessage(TypedDict):
        """One message with its parts, by their ids."""

        id: str
        created: int
        data: dict[str, Any]
        parts: list[tuple[str, dict[str, Any]]]


# What was told of a part that was not complete: nothing, or that it began. A complete one is done.
WAITING, BEGUN, DONE = 1, 2, 3
_ENDED = ("completed", "error")
_SILENT_PARTS = frozenset(
    ("step-start", "step-finish", "snapshot", "patch", "reasoning", "file", "agent", "retry")
)
_TOOLS: dict[str, Kind] = {
    **dict.fromkeys(("bash", "shell"), "run"),
    **dict.fromkeys(("edit", "write", "multiedit"), "edit"),
    "read": "read",
    **dict.fromkeys(("grep", "glob", "list", "codesearch"), "search"),
    "todowrite": "tasks",
    "task": "agent",
    "plan_exit": "plan",
}
_FILE_CHANGES: dict[str, Change] = {"add": "created", "delete": "deleted"}
_KINDS_OF_CHANGE: dict[Change, str] = {"created": "add", "deleted": "delete", "edited": "update"}
_SINCE = (
    "FROM message {} WHERE message.session_id = ? AND message.time_created >= ? "
    "ORDER BY message.time_created, message.id"
)
_MESSAGES = "SELECT message.id, message.time_created, message.data " + _SINCE.format("")
_PARTS = (
    "SELECT part.message_id, part.id, part.data "
    + _SINCE.format("JOIN part ON part.message_id = message.id")
    + ", part.id"
)


def read(
    path: str,
    session: str,
    mark: OpencodeMark | None,
    state: ReaderState,
    events: list[SessionEvent],
) -> OpencodeMark:
    """Append what happened in a session since `mark`; the mark for the next time.

    `path` is the database. `Unread` when it cannot be read now.
    """
    before: OpencodeMark = mark or {"since": 0, "message": "", "parts": {}}
    with Store(path) as store:
        undone = _undone_in_database(store, session)
        messages = _messages_in_database(store, session, before["since"], state)
    return _read_messages(messages, before, undone, state, events)


def _read_messages(
    messages: Iterable[OpencodeMessage],
    before: OpencodeMark,
    undone: str,
    state: ReaderState,
    events: list[SessionEvent],
) -> OpencodeMark:
    """The model's newest message may still change; those before it do not."""
    since, first, parts = before["since"], before["message"], dict(before["parts"])
    for message in messages:
        id, created, data = message["id"], message["created"], message["data"]
        if (created, id) < (before["since"], before["message"]):
            continue
        if undone and id >= undone:
            break
        if data.get("role") == "assistant" and id != first:
            since, first, parts = created, id, {}
        cwd = text_of(table_of(data.get("path")).get("cwd"))
        note_place(cwd, _time(created), state, events)
        for part_id, part in message["parts"]:
            told = parts.get(part_id, 0)
            if told != DONE:
                parts[part_id] = _part(part, data, created, told, state, events)
    return {"since": since, "message": first, "parts": parts}


def _is_complete(message: dict[str, Any]) -> bool:
    if message.get("role") != "assistant":
        return True
    return bool(table_of(message.get("time")).get("completed")) or bool(message.get("error"))


# Parts


def _part(
    part: dict[str, Any],
    message: dict[str, Any],
    created: Any,
    told: int,
    state: ReaderState,
    events: list[SessionEvent],
) -> int:
    """Append what a part says that was not told yet; what was told of it by now."""
    kind, role = text_of(part.get("type")), message.get("role")
    if kind == "text":
        return _text(part, message, created, told, events)
    if kind == "tool":
        return _tool(part, created, told, events)
    if kind == "compaction":
        events.append(SessionEvent("compact", at=_time(created)))
    elif kind == "subtask":
        text = text_of(part.get("prompt")) or text_of(part.get("description"))
        events.append(SessionEvent("agent", at=_time(created), text=shorten(text, LONGEST_TEXT)))
    elif kind not in _SILENT_PARTS or role not in ("user", "assistant"):
        state["unknown"] += 1
    return DONE


def _text(
    part: dict[str, Any],
    message: dict[str, Any],
    created: Any,
    told: int,
    events: list[SessionEvent],
) -> int:
    text, times = text_of(part.get("text")), table_of(part.get("time"))
    at = _time(times.get("start") or created)
    if message.get("role") == "user":
        words = words_of_the_person(_unquoted(text))
        if words and not part.get("synthetic"):
            events.append(SessionEvent("prompt", at=at, text=shorten(words, LONGEST_TEXT)))
        return DONE
    is_whole = bool(times.get("end")) or _is_complete(message)
    # A client that was killed leaves its last words without an end: they are told as they are.
    if text.strip() and (is_whole or told != BEGUN):
        kind: Kind = "summary" if message.get("summary") is True else "said"
        events.append(SessionEvent(kind, at=at, text=shorten(text.strip(), LONGEST_TEXT)))
        told = BEGUN
    return DONE if is_whole else told or WAITING


def _unquoted(text: str) -> str:
    """`opencode run` puts its words in quotes when one of them has blanks."""
    text = text.strip()
    is_quoted = len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1]
    return text[1:-1] if is_quoted else text


def _tool(part: dict[str, Any], created: Any, told: int, events: list[SessionEvent]) -> int:
    tool, id = text_of(part.get("tool")), text_of(part.get("callID"))
    did = table_of(part.get("state"))
    status, times = did.get("status"), table_of(did.get("time"))
    given, details = table_of(did.get("input")), table_of(did.get("metadata"))
    if status == "pending" and not given:
        return WAITING
    if told != BEGUN:
        at = _time(times.get("start") or created)
        _called(tool, id, given, details, at, events)
    if status not in _ENDED:
        return BEGUN
    at = _time(times.get("end") or times.get("start") or created)
    _ended(tool, id, did, given, details, at, events)
    return DONE


def _called(
    tool: str,
    id: str,
    given: dict[str, Any],
    details: dict[str, Any],
    at: str,
    events: list[SessionEvent],
) -> None:
    kind = _TOOLS.get(tool, "call")
    if kind == "edit":
        change: Change = "created" if details.get("exists") is False else "edited"
        events.append(edit_event(given, id=id, at=at, change=change))
    elif tool in ("apply_patch", "patch"):
        _patch(given, details, id, at, events)
    else:
        events.append(call_event(kind, tool, given, id=id, at=at))


def _patch(
    given: dict[str, Any], details: dict[str, Any], id: str, at: str, events: list[SessionEvent]
) -> None:
    """One event a file. What a patch did is known when it has ended; before, its text tells."""
    text = text_of(given.get("patchText"))
    files = [
        (text_of(each.get("filePath")), text_of(each.get("type")))
        for each in map(table_of, list_of(details.get("files"))[:200])
    ]
    told = read_patch(text)
    if not files:
        files = [(one["path"], _KINDS_OF_CHANGE[one["change"]]) for one in told]
    for place, (path, what) in enumerate(files):
        # Both name the same files in the same order; where they do not, what was changed is not known.
        one = told[place] if len(told) == len(files) else None
        change = _FILE_CHANGES.get(what, "edited")
        kept = shorten(text, LONGEST_TEXT) if not place else ""
        events.append(
            SessionEvent(
                "edit",
                at=at,
                id=id,
                path=one["path"] if one and one["origin"] else path,
                text=kept,
                change=change,
                again=place > 0,
                exact=one["exact"] if one else (),
                about=one["origin"] if one else "",
            )
        )
    if not files:
        events.append(SessionEvent("call", at=at, id=id, text=shorten(f"patch {text}", 2000)))


def _ended(
    tool: str,
    id: str,
    did: dict[str, Any],
    given: dict[str, Any],
    details: dict[str, Any],
    at: str,
    events: list[SessionEvent],
) -> None:
    failed: bool | None = did.get("status") == "error"
    output = text_of(did.get("output")) or text_of(did.get("error"))
    if _TOOLS.get(tool) == "run" and not failed:
        code = details.get("exit")
        # Without a code the command was stopped, or runs on behind the session.
        failed = code != 0 if isinstance(code, int) else None
    text = shorten(output.strip(), LONGEST_OUTPUT)
    events.append(result_event(id, at=at, text=text, failed=failed))
    if tool == "task":
        events.append(SessionEvent("agent_end", at=at, id=id))
    elif tool == "question":
        _answers(given, details, at, events)


def _answers(
    given: dict[str, Any], details: dict[str, Any], at: str, events: list[SessionEvent]
) -> None:
    answers = list_of(details.get("answers"))
    for each, chosen in zip(list_of(given.get("questions"))[:20], answers, strict=False):
        words = [text_of(one) for one in list_of(chosen)] or [text_of(chosen)]
        text = ", ".join(word for word in words if word)
        if text:
            about = text_of(table_of(each).get("question"))
            events.append(SessionEvent("answer", at=at, text=text, about=about))


# The messages


def _undone_in_database(store: Store, session: str) -> str:
    """The first message that the person has taken back; empty when there is none."""
    try:
        rows = store.ask("SELECT revert FROM session WHERE id = ?", (session,))
    except Unread:
        rows = store.ask("SELECT NULL FROM session WHERE id = ?", (session,))
    if not rows:
        raise Unread("has no such session")
    return _undone(rows[0][0])


def _messages_in_database(
    store: Store, session: str, since: int, state: ReaderState
) -> list[OpencodeMessage]:
    found: dict[str, OpencodeMessage] = {}
    for id, created, data in store.ask(_MESSAGES, (session, since)):
        found[id] = {
            "id": id,
            "created": _whole(created),
            "data": _object(data, state),
            "parts": [],
        }
    for message, id, data in store.ask(_PARTS, (session, since)):
        found[message]["parts"].append((id, _object(data, state)))
    return list(found.values())


def _undone(revert: Any) -> str:
    if isinstance(revert, str):
        try:
            revert = json.loads(revert)
        except (ValueError, RecursionError):
            return ""
    return text_of(table_of(revert).get("messageID"))


def _object(data: Any, state: ReaderState) -> dict[str, Any]:
    try:
        value = json.loads(data) if data else {}
    except (TypeError, ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        state["unknown"] += 1
        return {}
    return value


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**53 else 0


def _time(milliseconds: Any) -> str:
    return clock.precise(_whole(milliseconds)) if _whole(milliseconds) else ""
