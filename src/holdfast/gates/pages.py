"""Gates: those that wait, one in the format of its protocol, and the buttons to answer it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.gates import lookup, pictures
from holdfast.gates.answer import AnswerRequest, answer, facts, refused_attempts
from holdfast.gates.lookup import GateContext
from holdfast.gates.pictures import path_of
from holdfast.gates.rules import gate as rules
from holdfast.gates.rules.content import APPROVED, DONE, render
from holdfast.gates.rules.gate import GateState
from holdfast.kernel import clock
from holdfast.kernel.errors import Usage
from holdfast.kernel.rules import Person
from holdfast.kernel.workspace import Workspace, worktrees
from holdfast.web.table import Ask, Page, PageChange, PageContext, PageFile, Pages
from holdfast.web.work_tree import compare_with_commit
from holdfast.web.workspaces import ServedWorkspace

LONGEST = 10_000
BUTTONS = {
    "human-verify": (APPROVED, "issues"),
    "decision": ("choose", "no"),
    "human-action": (DONE, "issues"),
}


def gather(page: PageContext) -> dict[str, Any]:
    place = page.place
    workspace = place.workspace
    state = lookup.read(workspace, lookup.find_gate(workspace, page.words["id"]))
    over = rules.decide(state, {"do": "expire"}, lookup.agreed_time(workspace, page.now))
    state = lookup.after(state, over.records, clock.stamp(page.now), "holdfast")
    return {
        "workspace": place.key,
        **state,
        "pictures": [
            {**one, "is_here": bool(path_of(workspace, state, one))}
            for one in rules.pictures_of(state)
        ],
        "rendered": render(state["content"]),
        "facts": facts(state, page.now),
        "refused": refused_attempts(workspace, state["id"]),
        "changed": compare_with_commit(state["asked"]["worktree"], worktrees(workspace)),
        "place": place.name,
        "following": _next(page, state) if rules.is_over(state) else None,
    }


def _next(page: PageContext, state: GateState) -> dict[str, Any] | None:
    """The gate that waits longest after this one, and how many wait."""
    waiting: list[dict[str, Any]] = []

    def read(place: ServedWorkspace) -> None:
        waiting.extend({"workspace": place.key, **one} for one in list_gates(place, page))

    page.read_all(read)
    found = sorted((one for one in waiting if one["id"] != state["id"]), key=lambda one: one["at"])
    return {"count": len(found), "gate": found[0]} if found else None


def list_gates(place: ServedWorkspace, page: PageContext) -> list[dict[str, Any]]:
    """Return the gates that were put to a person and wait, those that expired left out."""
    if not place.workspace.exists():
        return []
    agreed = lookup.agreed_time(place.workspace, page.now)
    return [
        _show(one)
        for one in lookup.open_gates(place.workspace)
        # One that has expired is recorded by the next writer.
        if one["presented_at"] and not rules.decide(one, {"do": "expire"}, agreed).records
    ]


def _show(state: GateState) -> dict[str, Any]:
    asked, content = state["asked"], state["content"]
    return {
        "id": state["id"],
        "type": content["type"],
        "title": content["title"],
        "by": asked["agent"] or asked["by"],
        "at": asked["at"],
        "holds": state["holds"],
        "expires_at": state["expires_at"],
        "default": state["default"],
        "options": len(content["options"]),
    }


def answer_gate(workspace: Workspace, words: Mapping[str, str], person: Person) -> str:
    """`answer` is the button: `approved`, `done`, `choose` with an `option`, `issues` or `no` with a
    note that says why."""
    button = words.get("answer", "")
    asked = lookup.read(workspace, lookup.find_gate(workspace, words["id"]))["content"]
    if button not in BUTTONS[asked["type"]]:
        raise Usage(f"{button!r:.40} is no answer to this gate.", hint="Use a button of its page.")
    note = words.get("note", "").replace("\r\n", "\n").strip()
    if len(note) > LONGEST:
        raise Usage(f"A note has at most {LONGEST} characters.")
    if button in ("issues", "no"):
        if not note or note.casefold() in (APPROVED, DONE):
            raise Usage("What is wrong?", hint="Write it into the note.")
        request = AnswerRequest(gate=words["id"], text=note, no=button == "no", person=person)
    else:
        text = words.get("option", "") if button == "choose" else button
        if not text:
            raise Usage("Nothing was chosen.", hint="Go back and choose one of the options.")
        request = AnswerRequest(gate=words["id"], text=text, note=note, person=person)
    context = GateContext(workspace, person["name"], clock.parse(person["at"]))
    state = answer(context, request)
    return f"/w/{words['workspace']}/gates/{state['id']}"


def find_picture(workspace: Workspace, words: Mapping[str, str]) -> tuple[str, bytes]:
    """Return a picture by its digest; NotFound if the gate has no such picture, or its file is not here."""
    state = lookup.read(workspace, words["id"])
    picture, content = pictures.read(workspace, state, words["digest"])
    return picture["type"], content


PAGES = Pages(
    pages=(Page("gate", "/w/{workspace}/gates/{id}", gather, stream="gate"),),
    files=(PageFile("/w/{workspace}/gates/{id}/pictures/{digest}", find_picture),),
    changes=(PageChange("/w/{workspace}/gates/{id}", "answer gate {id}", answer_gate),),
    asks=(Ask("gates", list_gates, rank=10),),
)
