"""Records for people: one line each, with a tone, one page at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict
from urllib.parse import quote

from holdfast.kernel.errors import Usage
from holdfast.loop.history import line
from holdfast.rfc.rules.model import heading_of

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal, Record

    class RecordLine(TypedDict):
        """One record as a line. `tone` is `good`, `bad`, `wait` or empty; `href` is the page of its
        subject."""

        seq: int
        id: str
        stream: str
        version: int
        at: str
        actor: str
        kind: str
        word: str
        what: str
        tone: str
        href: str

    class RecordPage(TypedDict):
        """Some records of a stream, newest first. `older` and `newer` are versions for the address:
        continue before them; 0 for none."""

        records: list[RecordLine]
        older: int
        newer: int
        total: int


MOST_TOLD = 40
LONGEST = 200
LARGEST_NUMBER = 2**53
PAGES = {"session": "sessions", "loop": "tracks", "run": "runs", "rfc": "rfcs", "gate": "gates"}
TONES = {
    "good": ("passed", "task_done", "answered", "plan_closed", "run_ended", "completed", "acknowledged"),
    "bad": ("failed", "task_failed", "stopped", "task_lost", "refused", "completion_refused"),
    "wait": ("blocked", "escalated", "gate_asked", "run_paused", "opened", "prepared", "expired"),
}  # fmt: skip
# What people call a kind of record.
WORDS = {"captured": "checkpoint", "checked": "budget checked", "opened": "asked"}
_TONE_OF = {kind: tone for tone, kinds in TONES.items() for kind in kinds}
_TEXTS = ("text", "reason", "message", "summary", "notes", "title", "path")


def told(key: str, record: Record) -> RecordLine:
    """A record of the workspace with this key, as a line."""
    return {
        "seq": record["seq"],
        "id": record["id"],
        "stream": record["stream"],
        "version": record["version"],
        "at": record["at"],
        "actor": record["actor"],
        "kind": record["kind"],
        "word": WORDS.get(record["kind"], record["kind"].replace("_", " ")),
        "what": "erased" if record["erased"] else _shortened(said(record)),
        "tone": _tone(record),
        "href": page_of(key, record["stream"]),
    }


def stretch(
    journal: Journal, key: str, stream: str, before: int | None = None, most: int = MOST_TOLD
) -> RecordPage:
    """The newest records of a stream, or those before a version. It uses the index, so length does
    not matter."""
    head = journal.head(stream)
    if head is None:
        return {"records": [], "older": 0, "newer": 0, "total": 0}
    newest, first = head["version"], head["anchor_version"]
    until = newest if before is None else max(first, min(before - 1, newest))
    after = max(first, until - most)
    found = journal.read(stream, after=after, limit=until - after) if until > after else []
    return {
        "records": [told(key, record) for record in reversed(found)],
        "older": after + 1 if after > first else 0,
        "newer": until + most + 1 if until < newest else 0,
        "total": newest - first,
    }


def tail(journal: Journal, stream: str, most: int) -> list[Record]:
    """The last records of a stream, oldest first."""
    head = journal.head(stream)
    if head is None:
        return []
    return journal.read(stream, after=max(head["anchor_version"], head["version"] - most))


def page_of(key: str, stream: str) -> str:
    """The page of a stream; empty if it has none."""
    kind, _, name = stream.partition(":")
    if kind in PAGES:
        return f"/w/{quote(key)}/{PAGES[kind]}/{quote(name, safe='')}"
    return {"budget": "/budget", "agent": "/fleet"}.get(kind, "")


def number(words: Mapping[str, str], name: str) -> int | None:
    """A number in an address; anything else is refused."""
    text = words.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 16 or int(text) > LARGEST_NUMBER:
        raise Usage(f"{name}={text!r:.40} is no number.", hint="Follow the links of the page.")
    return int(text)


# What a record says


def said(record: Record) -> str:
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
    flat = {name: value for name, value in body.items() if isinstance(value, (str, int, float))}
    return ", ".join(f"{name}: {value}" for name, value in flat.items() if value not in ("", False))


def _captured(record: Record, body: dict[str, Any]) -> str:
    parts = [body["reason"] or body["profile"], body["set"].get("current") or ""]
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


_SAYS: dict[str, Callable[[Record, dict[str, Any]], str]] = {
    "captured": _captured,
    **dict.fromkeys(("task_started", "task_done", "task_failed", "task_lost"), _of_task),
    **dict.fromkeys(("started", "passed", "failed", "blocked", "advanced", "attempt_begun"), _of_step),
    **dict.fromkeys(("opened", "answered", "expired", "gate_asked", "gate_answered"), _of_gate),
    **dict.fromkeys(("beat", "sync", "phase", "unblock"), _of_beat),
    **dict.fromkeys(("life_begun", "run_begun", "begun"), _begun),
    "moved": _moved,
    "written": _written,
}  # fmt: skip


def _tone(record: Record) -> str:
    body = record["body"] if isinstance(record["body"], dict) else {}
    if record["kind"] == "gate_answered" or record["kind"] == "answered":
        return "bad" if body.get("verdict") == "no" else "good"
    if record["kind"] == "opened" and not record["stream"].startswith("gate:"):
        return ""
    if record["kind"] == "checked":
        how = {one.get("how") for one in body.get("handled") or [] if isinstance(one, dict)}
        return "bad" if "stopped" in how else "wait" if how & {"waiting", "warned"} else ""
    return _TONE_OF.get(record["kind"], "")


def _shortened(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST else flat[: LONGEST - 1] + "…"
