"""Messages between two agents: the rules of the `comms:<epic path>/<sender>_to_<receiver>` streams.

The view is `agent_comms/<sender>_to_<receiver>.md` in the epic's folder. Other programs write it too, with
a shell, at any time; their messages and ours are merged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.fleet.rules.messages import (
    FIELDS,
    compose,
    empty,
    insert,
    mark_read,
    merge,
    next_number,
    put_back_unseen,
    split,
)
from holdfast.fleet.rules.model import COMMS, EPIC_README, check_agent, readme_key, stem_of
from holdfast.kernel import clock
from holdfast.kernel.errors import Usage
from holdfast.kernel.rules import Decision

if TYPE_CHECKING:
    from typing import Any, TypedDict

    from holdfast.journal.interface import Event
    from holdfast.kernel.views.reconcile import Change

    class CommsState(TypedDict):
        """`warned` and `escalated` are the last_checkpoint that each happened for; AMB-FLEET-03."""

        stream: str
        sender: str
        receiver: str
        text: str
        warned: str
        escalated: str


ARCHIVE = f"{COMMS}/archive"
LONGEST_FIELD = 100_000
_ENDING = ".md"


def channel_of(sender: str, receiver: str) -> str:
    """The last part of the stream's name: `primary_to_secondary_a`."""
    return f"{stem_of(sender)}_to_{stem_of(receiver)}"


def view_of(stream: str) -> str:
    """The file of a stream, from the worktree's top."""
    folder, slash, channel = stream.partition(":")[2].rpartition("/")
    return f"{folder}{slash}{COMMS}/{channel}{_ENDING}"


def archive_name(channel: str, now: int, copy: int = 1) -> str:
    """`agent_comms/archive/<channel>_YYYYMMDD_HHMM.md`; a second one of a minute has a number."""
    stamp = clock.stamp(now)
    when = f"{stamp[:10].replace('-', '')}_{stamp[11:16].replace(':', '')}"
    number = f"_{copy}" if copy > 1 else ""
    return f"{ARCHIVE}/{channel}_{when}{number}{_ENDING}"


def initial(stream: str) -> CommsState:
    return {
        "stream": stream,
        "sender": "",
        "receiver": "",
        "text": "",
        "warned": "",
        "escalated": "",
    }


def decide(state: CommsState, command: Any, now: int) -> Decision:
    """`open`, `send`, `escalate`, `read`, `archive`; each but `escalate` names sender and receiver."""
    what = command["do"]
    if what == "escalate":
        return _escalate(state, command)
    opened = _open(state, command)
    if what == "open":
        return Decision(opened)
    if what == "send":
        return _send(state, opened, command, now)
    if what == "read":
        if mark_read(state["text"], command["numbers"]) == state["text"]:
            return Decision(opened)
        return Decision([*opened, ("read", {"numbers": command["numbers"]})])
    if what == "archive":
        if not split(state["text"])[1]:
            return Decision(opened)
        record = ("archived", {"path": command["to"]})
        return Decision([*opened, record], moves=[(view_of(state["stream"]), command["to"])])
    raise Usage(f"Messages cannot {what!r}.")


def _open(state: CommsState, command: Any) -> list[tuple[str, Any]]:
    """The record of sender and receiver, made once. It also makes the file known, so that an existing file
    is taken in."""
    if state["sender"]:
        return []
    sender, receiver = check_agent(command["sender"]), check_agent(command["receiver"])
    channel = channel_of(sender, receiver)
    if sender == receiver:
        raise Usage(f"{sender} cannot write to itself.", hint="Name another agent: --from AGENT")
    if state["stream"].replace(":", "/").rpartition("/")[2] != channel:
        raise Usage(f"{state['stream']} does not carry messages from {sender} to {receiver}.")
    return [("opened", {"sender": sender, "receiver": receiver})]


def _send(state: CommsState, opened: list[tuple[str, Any]], command: Any, now: int) -> Decision:
    warns = command.get("warns", "")
    if warns and warns == state["warned"]:
        return Decision()
    fields = {name: str(command["fields"].get(name) or "") for name in FIELDS}
    if not fields["subject"].strip():
        raise Usage("A message needs a subject.", hint='--subject "what it is about"')
    for name, text in fields.items():
        if len(text) > LONGEST_FIELD:
            raise Usage(
                f"{name} has {len(text)} characters; {LONGEST_FIELD} is the most.",
                hint="Put it into a file and name that.",
            )
    said = {name: text for name, text in fields.items() if text}
    body = {"number": next_number(state["text"]), "at": clock.stamp(now), **said}
    return Decision([*opened, ("sent", {**body, "warns": warns} if warns else body)])


def _escalate(state: CommsState, command: Any) -> Decision:
    """Escalate once for each last_checkpoint; the command's other fields go to EPIC_README.md's edit."""
    about = command["about"]
    if about == state["escalated"]:
        return Decision()
    agent = check_agent(command["agent"])
    known = ("do", "about", "sender", "receiver")
    more = {name: value for name, value in command.items() if name not in known}
    key = readme_key(state["stream"].partition(":")[2].rpartition("/")[0], agent, "stale")
    return Decision(
        [("escalated", {"about": about, "agent": agent})],
        [{"kind": EPIC_README, "key": key, "body": {"change": "stale", **more}}],
    )


def apply(state: CommsState, event: Event) -> CommsState:
    kind, body = event["kind"], event["body"]
    if kind == "opened":
        text = state["text"] if state["text"].strip() else empty(body["sender"], body["receiver"])
        return {**state, "sender": body["sender"], "receiver": body["receiver"], "text": text}
    if kind == "sent":
        message = compose(body["number"], clock.parse(body["at"]), body)
        warned = body.get("warns") or state["warned"]
        return {**state, "text": insert(state["text"], message), "warned": warned}
    if kind == "read":
        return {**state, "text": mark_read(state["text"], body["numbers"])}
    if kind in ("archived", "reinitialised"):
        return {**state, "text": _fresh(state)}
    if kind == "escalated":
        return {**state, "escalated": body["about"]}
    if kind == "edited_outside":
        return {**state, "text": body["text"]}
    return state


def _fresh(state: CommsState) -> str:
    return empty(state["sender"], state["receiver"]) if state["sender"] else ""


def absorb(state: CommsState, base: CommsState, change: Change, now: int) -> list[tuple[str, Any]]:
    """The records for an edit; any text is valid. An emptied file begins anew, and its old content is
    recorded. An unread message that its author has not seen is put back."""
    if change["kind"] != "edited":
        return []
    if not change["text"].strip():
        if state["text"] == _fresh(state):
            return []
        return [("reinitialised", {"path": change["path"], "held": state["text"]})]
    text = merge(base["text"], state["text"], change["text"])
    familiar = change["familiar"]["text"] if change["familiar"] else ""
    text = put_back_unseen(state["text"], change["text"], text, familiar)
    if text == state["text"]:
        return []
    return [("edited_outside", {"path": change["path"], "text": text})]


def render(state: CommsState) -> dict[str, str]:
    return {view_of(state["stream"]): state["text"]} if state["text"] else {}
