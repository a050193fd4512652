"""The prompts of one worktree: what each began from, what it left, and what was taken back.

The stream `prompts:<worktree>` belongs to one worktree on one machine, because the states that it names are git
objects there.
"""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.kernel.errors import Usage
from holdfast.kernel.rules import Decision, absorb_nothing, render_nothing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from holdfast.journal.interface import Event

    class TreeState(TypedDict):
        """A kept state of the work tree. `files` is its tree, `extras` what a tree does not hold; `index` is the
        tree of the user's index, empty when there was none or it could not be read."""

        id: str
        commit: str
        files: str
        extras: str
        head: str
        branch: str
        index: str
        at: str

    class Size(TypedDict):
        files: int
        added: int
        removed: int

    class Entry(TypedDict):
        """One prompt, or one undo (`kind` undo or redo, with the entries `of` that it took back). `how`: interrupted
        when no stop was seen, late when the first tool did not wait for the state."""

        id: str
        kind: str
        client: str
        session: str
        text: str
        began_at: str
        ended_at: str
        before: TreeState
        after: TreeState | None
        size: Size | None
        how: str
        of: list[str]
        is_undone: bool

    class PromptsState(TypedDict):
        entries: list[Entry]


# The oldest are forgotten beyond it; `gc` removes their states.
MOST_ENTRIES = 300
LONGEST_TEXT = 160


def initial(stream: str) -> PromptsState:
    return {"entries": []}


def decide(state: PromptsState, command: Any, now: int) -> Decision:
    """`begin`, `end`, `undo` and `redo`, `forget`: see the functions of `ledger` that send them."""
    what, at = command["do"], clock.precise(now)
    if what == "begin":
        body = {**_named(command, "id", "client", "session", "before", "how"), "at": at}
        text = " ".join(str(command["text"]).split())
        body["text"] = f"{text[: LONGEST_TEXT - 1]}…" if len(text) > LONGEST_TEXT else text
        if any(one["id"] == body["id"] for one in state["entries"]):
            return Decision([])
        return Decision([("began", body)])
    if what == "end":
        if open_entry(state, command["session"]) is None:
            return Decision([])
        return Decision(
            [("ended", {**_named(command, "session", "after", "size", "how"), "at": at})]
        )
    if what in ("undo", "redo"):
        if any(one["id"] == command["id"] for one in state["entries"]):
            return Decision([])
        named = _named(command, "id", "of", "before", "after", "size", "whole")
        return Decision([("undone" if what == "undo" else "redone", {**named, "at": at})])
    if what == "forget":
        known = {one["id"] for one in state["entries"]}
        gone = [id for id in command["ids"] if id in known]
        return Decision([("forgotten", {"ids": gone})] if gone else [])
    raise Usage(f"There is nothing to {what} with prompts.")


def _named(command: Any, *names: str) -> dict[str, Any]:
    return {name: command[name] for name in names}


def open_entry(state: PromptsState, session: str) -> Entry | None:
    """Return the prompt of a session that has not ended."""
    found = [one for one in state["entries"] if one["session"] == session and not one["ended_at"]]
    return found[-1] if found else None


def apply(state: PromptsState, event: Event) -> PromptsState:
    body, entries = event["body"], state["entries"]
    if event["kind"] == "began":
        entry: Entry = {
            "id": body["id"],
            "client": body["client"],
            "session": body["session"],
            "text": body["text"],
            "before": body["before"],
            "how": body["how"],
            "kind": "prompt",
            "began_at": body["at"],
            "ended_at": "",
            "after": None,
            "size": None,
            "of": [],
            "is_undone": False,
        }
        return {"entries": [*entries, entry][-MOST_ENTRIES:]}
    if event["kind"] == "ended":
        last = open_entry(state, body["session"])
        if last is None:
            return state
        how = body["how"] or last["how"]
        ended: Entry = {**last, "ended_at": body["at"], "after": body["after"]}
        ended.update({"size": body["size"], "how": how})
        return {"entries": [ended if one is last else one for one in entries]}
    if event["kind"] in ("undone", "redone"):
        is_undo = event["kind"] == "undone"
        changed: list[Entry] = [
            {**one, "is_undone": is_undo if one["kind"] == "prompt" else True}
            if one["id"] in body["of"] and body["whole"]
            else one
            for one in entries
        ]
        entry = {
            "id": body["id"],
            "kind": "undo" if is_undo else "redo",
            "client": "",
            "session": "",
            "text": "",
            "began_at": body["at"],
            "ended_at": body["at"],
            "before": body["before"],
            "after": body["after"],
            "size": body["size"],
            "how": "",
            "of": body["of"],
            "is_undone": not is_undo,
        }
        return {"entries": [*changed, entry][-MOST_ENTRIES:]}
    if event["kind"] == "forgotten":
        return {"entries": [one for one in entries if one["id"] not in body["ids"]]}
    return state


absorb, render = absorb_nothing, render_nothing
