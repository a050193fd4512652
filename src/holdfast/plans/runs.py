"""The runs of plans: which there are, which one is meant, how far it is, and a run as its runner holds it.

A `RunStream` is the run's stream with a fence on every write, its folder, and its lock.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.gates import lookup as gates
from holdfast.gates.rules.gate import is_open
from holdfast.kernel import clock
from holdfast.kernel.commit import Order, commit
from holdfast.kernel.errors import Conflict, NotFound, StoreAway
from holdfast.kernel.lock import WorkspaceLock
from holdfast.kernel.state import fold, load, load_all
from holdfast.kernel.text import quote, safe
from holdfast.kernel.workspace import Workspace
from holdfast.kernel.writer import Writer
from holdfast.plans.rules import run as rules
from holdfast.plans.rules import run_model
from holdfast.plans.rules.ready import waiting_gates
from holdfast.plans.rules.run_model import ASKED, DONE, OVER, SKIPPED, PlanRun, RunLife, RunState
from holdfast.runner.checks import journal_away, refuse_queued
from holdfast.runner.folder import RunnerFolder

if TYPE_CHECKING:
    from holdfast.journal.interface import Record
    from holdfast.kernel.commit import Outcome


FOLDER = "plans"


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
    found = load_all(workspace.journal, rules, rules.STREAMS)
    known = [state for state, _ in found if state["status"]]
    yield from sorted(known, key=lambda state: (state["begun_at"], state["id"]), reverse=True)


def list_unfinished(workspace: Workspace) -> list[RunState]:
    """The runs of this worktree that have not come to their end, the newest first."""
    return [
        state
        for state in every(workspace)
        if state["status"] not in OVER and state["root"] == workspace.root
    ]


def find_run(workspace: Workspace, word: str) -> RunState:
    """The run with this id or this unique beginning of it [default: the newest unfinished one, else the
    newest]."""
    runs = list(every(workspace))
    if not word:
        here = [state for state in runs if state["root"] == workspace.root]
        unfinished = [state for state in here if state["status"] not in OVER]
        if here:
            return (unfinished or here)[0]
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
    """The id of the gate called NAME in `{{gate.NAME}}` that a run waits for; empty if there is not
    exactly one."""
    found = [
        gate["gate"]
        for state in list_unfinished(workspace)
        for plan in state["plans"].values()
        for task in plan["plan"]["tasks"]
        if task["gate_name"] == name
        and (gate := plan["gates"].get(task["key"])) is not None
        and gate["status"] == ASKED
    ]
    return found[0] if len(found) == 1 else ""


def asked_gates(state: RunState) -> list[str]:
    """The ids of the gates that a run asked and took no answer of."""
    return [state["plans"][plan]["gates"][key]["gate"] for plan, key in waiting_gates(state)]


def title_of(state: RunState, plan: str, key: str) -> str:
    """What a person is asked at a place of a run."""
    task = next(one for one in state["plans"][plan]["plan"]["tasks"] if one["key"] == key)
    return task["gate"]["title"] if task["gate"] else task["name"]


def unanswered_gates(workspace: Workspace, state: RunState) -> list[tuple[str, str]]:
    """The gates that a run waits for and that no person has answered: plan and key. The run takes an
    answer when it continues."""
    found = []
    for plan, key in waiting_gates(state):
        try:
            if is_open(gates.read(workspace, state["plans"][plan]["gates"][key]["gate"])):
                found.append((plan, key))
        except NotFound:
            continue  # a crash came before it was asked
    return found


def why_stalled(state: RunState) -> str:
    """Why a run stands still that no process carries out and that waits for no person."""
    pause = state["pause"]
    if pause is None:
        return "its runner is gone"
    if waiting_gates(state):
        return "its question is answered"
    held = "a budget's alert holds it: " if pause["reason"] == run_model.ALERT_WAITS else ""
    return f"{held}{pause['text']}"


def runner_of(workspace: Workspace, state: RunState) -> str:
    """The process that carries a run out now; empty if none does."""
    return RunFolder(workspace, state["id"]).find_runner()


def find_command_after_gate(workspace: Workspace, gate: str) -> str:
    """Return the command that continues the run which waits for a gate, if no process carries it out."""
    for state in list_unfinished(workspace):
        if gate in asked_gates(state) and not runner_of(workspace, state):
            return resume_command(state)
    return ""


def count(state: RunState) -> Count:
    """How many tasks are done, and how many there are to do."""
    return {"done": state["done"], "total": state["total"]}


def count_of(plan: PlanRun) -> Count:
    tasks = [task for task in plan["tasks"].values() if task["status"] != SKIPPED]
    return {"done": sum(task["status"] == DONE for task in tasks), "total": len(tasks)}


def resume_command(state: RunState) -> str:
    """The command that continues a run, on the cluster where it ran."""
    on = state["life"].get("on", "") if state["life"] else ""
    return f"holdfast plan resume {quote(state['id'])}" + (f" --on {quote(on)}" if on else "")


def find_ways_on(state: RunState, alerts: Sequence[str] = ()) -> list[str]:
    """What to type, in this order, so that a run that stands still goes on. `alerts` are the types of
    those that wait."""
    again, pause = resume_command(state), state["pause"]
    reason = pause["reason"] if pause is not None else ""
    if pause is not None and reason == run_model.ALERT_WAITS:
        alerts = alerts or pause["text"].split(", ")
    if reason == run_model.EDITED:
        return [f"{again} --edited old", f"{again} --edited new"]
    if reason == run_model.STOPPED:
        return ["holdfast status", again]
    ways = [f"holdfast guard ack {quote(safe(type))}" for type in alerts]
    ways += [f"holdfast gate answer {quote(gate)}" for gate in asked_gates(state)]
    return [*ways, again]


class RunFolder(RunnerFolder):
    """The folder of a run outside the work tree, for what is no record."""

    def __init__(self, workspace: Workspace, id: str) -> None:
        self.id = id
        self.stream = rules.stream_of(id)
        super().__init__(os.path.join(workspace.home, FOLDER, id))


class RunStream:
    """The stream of a run during one life of its runner. The next life takes it over."""

    def __init__(self, writer: Writer, place: RunFolder, *, actor: str) -> None:
        self.writer = writer
        self.place = place
        self.actor = actor
        self.fence: int | None = None
        self.state: RunState = read(writer.workspace, place.id)

    def live(self, life: RunLife) -> None:
        """Begin a life. From here on, every earlier runner is refused."""
        order = Order(self.place.stream, {"do": "live", "life": life}, grant=True)
        outcome = execute_now(self.writer, order, actor=self.actor)
        self.fence = outcome["fence"]
        self.state = read(self.writer.workspace, self.place.id)

    def execute(self, command: dict[str, Any]) -> Sequence[Record]:
        """Record what happened, and return the records. FenceLost when another runner has the run."""
        stream, order = self.place.stream, rules.RunnerCommand(command)
        outcome = self.writer.execute(
            stream, order, actor=self.actor, now=clock.now(), fence=self.fence
        )
        refuse_queued(outcome)
        self.state = fold(rules, self.state, outcome["records"])
        return outcome["records"]


def execute_now(writer: Writer, order: Order, *, actor: str) -> Outcome:
    """Execute an order now or not at all: from the inbox, a run would begin long after the person asked
    for it."""
    order.command = rules.RunnerCommand(order.command)  # type: ignore[arg-type]
    try:
        (outcome,) = commit(writer, [order], actor=actor, now=clock.now())
    except StoreAway as error:
        raise (journal_away() if error.kind == "read_only" else error) from error
    return outcome


# One at a time


@contextmanager
def one_at_a_time(workspace: Workspace) -> Iterator[None]:
    """Let one process at a time begin runs and save waypoints. So the second of two finds what the first
    one made."""
    lock = WorkspaceLock(os.path.join(workspace.home, FOLDER))
    try:
        lock.acquire()
    except OSError as error:
        raise journal_away() from error
    try:
        yield
    finally:
        lock.release()


def refuse_alive(workspace: Workspace, paths: Collection[str], *, but: str = "") -> None:
    """Refuse plan files that a live run has: two runs of one file would overwrite each other's work."""
    for state in list_unfinished(workspace):
        shared = [path for path in paths_of(state) if path in paths]
        if state["id"] == but or not shared:
            continue
        holder = runner_of(workspace, state)
        if holder:
            raise Conflict(
                f"{shared[0]} is being run already: by the run {state['id']}, process {holder}.",
                hint=f"`holdfast plan show {quote(state['id'])}` shows it; let it end, or interrupt it.",
                kind="running",
            )
