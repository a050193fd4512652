"""The prompts of a session on the page: what each changed, as a diff, with a button to take it back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.redact import Redactor
from holdfast.session import sessions
from holdfast.session.rules.session import stream_of
from holdfast.undo import ledger
from holdfast.undo.operations import UNDO, UndoRequest, list_prompts, undo
from holdfast.undo.store import Store
from holdfast.web.table import PageChange, Pages, Section, link_to

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.kernel.rules import Person
    from holdfast.kernel.workspace import Workspace
    from holdfast.undo.operations import Row
    from holdfast.undo.rules.prompts import Entry
    from holdfast.web.table import PageContext

PATH = "/w/{workspace}/sessions/{id}/prompts"
MOST_PROMPTS, MOST_LINES = 12, 400
LARGEST_DIFF = 200_000
PATCH = ("diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv")


def find_prompts(page: PageContext) -> dict[str, Any] | None:
    """Return the newest prompts of a session, each with its diff; None where no state of one is kept."""
    workspace = page.place.workspace
    session = sessions.check_id(page.words["id"])
    rows = list_prompts(workspace)
    mine = [row for row in rows if row["session"].startswith(session)]
    if not mine:
        return None
    known = {one["id"]: one for one in ledger.read(workspace)["entries"]}
    store = Store(workspace)
    return {
        "count": len(mine),
        "action": f"{link_to(page.place.key, stream_of(mine[0]['session']))}/prompts",
        "prompts": [_show(store, row, known[row["id"]]) for row in mine[:MOST_PROMPTS]],
        "can_redo": any(row["kind"] == "undo" and not row["is_undone"] for row in rows),
    }


def _show(store: Store, row: Row, entry: Entry) -> dict[str, Any]:
    lines, is_cut = [], False
    after = entry["after"]
    if after is not None and row["size"] and row["size"]["files"]:
        try:
            output = store.git(*PATCH, entry["before"]["files"], after["files"])
            text = Redactor().text(os.fsdecode(output[:LARGEST_DIFF]))
            lines = text.encode("utf-8", "replace").decode().splitlines()
        except HoldfastError:
            lines = ["This state is not kept any more."]
        is_cut = len(lines) > MOST_LINES
    return {**row, "diff": lines[:MOST_LINES], "is_cut": is_cut}


def take_back(workspace: Workspace, words: Mapping[str, str], person: Person) -> str:
    """Take back a prompt and the newer ones of its session, or with `redo` bring the last undo back."""
    if not words.get("redo") and not words.get("prompt"):
        raise Usage("No prompt was named.", hint="Use a button of the session's page.")
    request = UndoRequest(redo=True) if words.get("redo") else UndoRequest(id=words["prompt"])
    undo(
        workspace,
        request,
        actor=person["name"],
        now=clock.parse(person["at"]),
        person=person,
    )
    return f"{link_to(words['workspace'], stream_of(words['id']))}#prompts"


PAGES = Pages(
    changes=(PageChange(PATH, UNDO, take_back),),
    sections=(Section("prompts", "What each prompt changed", find_prompts, on="session"),),
)
