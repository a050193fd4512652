"""A person answers a gate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.gates import lookup
from holdfast.gates.answer import AnswerRequest, answer
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules.content import APPROVED, DONE
from holdfast.kernel import clock
from holdfast.kernel.errors import Usage

if TYPE_CHECKING:
    from holdfast.kernel.rules import Person
    from holdfast.kernel.workspace import Workspace

LONGEST = 10_000
BUTTONS = {
    "human-verify": (APPROVED, "issues"),
    "decision": ("choose", "no"),
    "human-action": (DONE, "issues"),
}


def apply(workspace: Workspace, words: Mapping[str, str], person: Person) -> str:
    """`answer` is the button: `approved`, `done`, `choose` with an `option`, `issues` or `no` with a
    note that says why."""
    button = words.get("answer", "")
    asked = lookup.read(workspace, lookup.find_gate(workspace, words["id"]))["content"]
    if asked is None or button not in BUTTONS[asked["type"]]:
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
