"""What a person can change on the page: answer a gate, answer an alert, decide about a silent agent.
`holdfast.web.table` lists it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from holdfast.budgets.acknowledge import acknowledge
from holdfast.budgets.check import Budget
from holdfast.budgets.rules.thresholds import STOP, UNITS, number_at
from holdfast.fleet.context import FleetContext
from holdfast.fleet.epic import Epic
from holdfast.fleet.recovery import absorb, defer
from holdfast.gates import lookup
from holdfast.gates.answer import AnswerRequest, answer
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules.content import APPROVED, DONE
from holdfast.kernel import clock
from holdfast.kernel.errors import NotFound, Usage
from holdfast.remote import server_time
from holdfast.web.pages.board import LONGEST_TYPED, problem_of

if TYPE_CHECKING:
    from holdfast.kernel.rules import Person
    from holdfast.kernel.workspace import Workspace

LONGEST = 10_000
BUTTONS = {
    "human-verify": (APPROVED, "issues"),
    "decision": ("choose", "no"),
    "human-action": (DONE, "issues"),
}
OPERATIONS = {"defer": defer, "absorb": absorb}


def answer_gate(workspace: Workspace, words: Mapping[str, str], person: Person) -> str:
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


def answer_alert(workspace: Workspace, words: Mapping[str, str], person: Person) -> str:
    answer, type = words.get("answer", ""), words["type"]
    if answer not in ("ack", "stop"):
        raise Usage("An alert is answered with ack or stop.")
    budget = Budget(workspace, actor=person["name"])
    state = budget.state()
    pending = state["pending"].get(type)
    typed = words.get("until", "").strip() if answer == "ack" and pending else ""
    if (
        pending
        and typed
        and problem_of(type, typed, pending["value"], number_at(state["limits"], STOP, type))
    ):
        # The board says what is wrong with it, in the place where it was typed.
        place = f"{words['workspace']}-{type}"
        return f"/board?{urlencode({'alert': place, 'until': typed[:LONGEST_TYPED]})}#alert-{place}"
    until = UNITS[type](typed) if typed else None
    now = clock.parse(person["at"])
    acknowledge(budget, type, until=until, now=now, person=person, goes_on=answer == "ack")
    return "/board"


def recover_agent(workspace: Workspace, words: Mapping[str, str], person: Person) -> str:
    operation = OPERATIONS.get(words.get("decision", ""))
    if operation is None:
        raise Usage(f"The decision is one of {', '.join(OPERATIONS)}.")
    folder = words.get("epic", "")
    if os.path.isabs(folder) or ".." in folder.split("/"):
        raise NotFound("There is no such epic.")
    context = FleetContext(
        *(Epic(workspace, folder), workspace), actor=person["name"], now=server_time.now(workspace)
    )
    # A person's word counts as --yes does. What the person saw may be old: so only if still silent.
    operation(context, {"agent": words["agent"], "yes": True, "only_silent": True})
    return "/board"
