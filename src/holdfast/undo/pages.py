"""The prompts of a session on the page: what each changed, as a diff, with a button to take it back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from holdfast.clients.table import title_of
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.redact import Redactor
from holdfast.session import sessions
from holdfast.undo import ledger
from holdfast.undo.operations import UNDO, UndoRequest, list_prompts, undo
from holdfast.undo.store import Store
from holdfast.web.table import Page, PageChange, Pages

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.kernel.rules import Person
    from holdfast.kernel.workspace import Workspace
    from holdfast.undo.operations import Row
    from holdfast.undo.rules.prompts import Entry
    from holdfast.web.table import PageContext

PATH = "/w/{workspace}/sessions/{id}/prompts"
MOST_PROMPTS, MOST_LINES = 30, 400
LARGEST_DIFF = 200_000
PATCH = ("diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv")


def gather(page: PageContext) -> dict[str, Any]:
    """Return the newest prompts of a session, each with its diff, and the undos since."""
    workspace = page.place.workspace
    session = sessions.check_id(page.words["id"])
    rows = list_prompts(workspace)
    mine = [row for row in rows if row["session"] == session]
    known = {one["id"]: one for one in ledger.read(workspace)["entries"]}
    store = Store(workspace)
    undos = [row for row in rows if row["kind"] == "undo" and not row["is_undone"]]
    return {
        "workspace": page.place.key,
        "session": session,
        "client": title_of(mine[0]["client"]) if mine else "",
        "prompts": [_show(store, row, known[row["id"]]) for row in mine[:MOST_PROMPTS]],
        "more": max(0, len(mine) - MOST_PROMPTS),
        "can_redo": bool(undos),
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
    request = UndoRequest(redo=True) if words.get("redo") else UndoRequest(id=words["prompt"])
    undo(
        workspace,
        request,
        actor=person["name"],
        now=clock.parse(person["at"]),
        person=person,
    )
    return PATH.format(workspace=quote(words["workspace"]), id=quote(words["id"], safe=""))


PAGES = Pages(
    pages=(Page("prompts", PATH, gather, beside="session", title="What each prompt changed"),),
    changes=(PageChange(PATH, UNDO, take_back),),
)
