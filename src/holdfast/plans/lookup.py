"""Which runs there are, which one is meant, and how far it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from holdfast.gates import lookup as gates
from holdfast.gates.rules.gate import is_open
from holdfast.kernel.errors import NotFound
from holdfast.kernel.state import load
from holdfast.plans.rules import run as rules
from holdfast.plans.rules.ready import waiting_gates
from holdfast.plans.rules.run_model import ASKED, DONE, OVER, SKIPPED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.kernel.workspace import Workspace
    from holdfast.plans.rules.run_model import PlanRun, RunState


class Count(TypedDict):
    done: int
    total: int


def read(workspace: Workspace, id: str) -> RunState:
    """A run by its whole id."""
    state: RunState = rules.initial(rules.stream_of(id))
    if workspace.exists():
        state = load(workspace.journal, rules, rules.stream_of(id))[0]
    if not state["status"]:
        raise NotFound(f"There is no run {id}.", hint="`holdfast plan show` lists them.")
    return state


def every(workspace: Workspace) -> Iterator[RunState]:
    """All runs, the newest first."""
    if not workspace.exists():
        return
    heads = workspace.journal.heads(rules.STREAMS)
    found = [load(workspace.journal, rules, head["stream"])[0] for head in heads]
    yield from sorted(
        (state for state in found if state["status"]),
        key=lambda state: (state["begun_at"], state["id"]),
        reverse=True,
    )


def unfinished(workspace: Workspace) -> list[RunState]:
    """The runs of this worktree that have not come to their end, the newest first."""
    return [
        state
        for state in every(workspace)
        if state["status"] not in OVER and state["root"] == workspace.root
    ]


def find_run(workspace: Workspace, word: str) -> RunState:
    """The run that an id or a unique beginning of one means; without a word the newest that is not
    finished, else the newest."""
    runs = list(every(workspace))
    if not word:
        here = [state for state in runs if state["root"] == workspace.root]
        for state in here:
            if state["status"] not in OVER:
                return state
        if here:
            return here[0]
        raise NotFound("There is no run here.", hint="Begin one with: holdfast plan run PATH...")
    rules.stream_of(word)
    found = [state for state in runs if state["id"].startswith(word)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFound(f"There is no run {word}.", hint="`holdfast plan show` lists them.")
    raise NotFound(f"{len(found)} runs begin with {word}.", hint="Give more letters.")


def paths_of(state: RunState) -> list[str]:
    """The plan files of a run."""
    return [plan["plan"]["path"] for plan in state["plans"].values()]


def find_gate_of_run(workspace: Workspace, name: str) -> str:
    """The id of the gate that a run waits for, by NAME in `{{gate.NAME}}`; empty if there is not exactly
    one."""
    found = [
        gate["gate"]
        for state in unfinished(workspace)
        for plan in state["plans"].values()
        for task in plan["plan"]["tasks"]
        if task["gate_name"] == name
        and (gate := plan["gates"].get(task["key"])) is not None
        and gate["status"] == ASKED
    ]
    return found[0] if len(found) == 1 else ""


def unanswered_gates(workspace: Workspace, state: RunState) -> list[tuple[str, str]]:
    """The gates that a run waits for and that no person has answered: plan and key. The run itself takes
    an answer up when it goes on."""
    found = []
    for plan, key in waiting_gates(state):
        try:
            if is_open(gates.read(workspace, state["plans"][plan]["gates"][key]["gate"])):
                found.append((plan, key))
        except NotFound:
            continue  # a crash came before it was asked
    return found


def count(state: RunState) -> Count:
    """How many tasks are done, of how many that are to be done."""
    return {"done": state["done"], "total": state["total"]}


def count_of(plan: PlanRun) -> Count:
    tasks = [task for task in plan["tasks"].values() if task["status"] != SKIPPED]
    return {"done": sum(task["status"] == DONE for task in tasks), "total": len(tasks)}


def resume_command(state: RunState) -> str:
    """What goes on with a run, where it was carried out."""
    on = state["life"].get("on", "") if state["life"] else ""
    return f"holdfast plan resume {state['id']}" + (f" --on {on}" if on else "")
