"""holdfast plan show"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ago, one_line, safe, style, table
from holdfast.kernel.errors import NotFound, Usage
from holdfast.kernel.plain_file import read_plain
from holdfast.kernel.text import plural
from holdfast.plans import runs
from holdfast.plans.rules.ready import waiting_gates
from holdfast.plans.rules.run_model import ABANDONED, OVER, RunState
from holdfast.plans.runs import RunFolder
from holdfast.plans.screen import screen, status_word

LARGEST_LOG = 256 * 1024 * 1024


@click.command()
@click.argument("id", required=False, default="", metavar="[RUN]")
@click.option("--all", "every", is_flag=True, help="List all runs, one line each.")
@click.option("--tasks", is_flag=True, help="Show every task, not only the plans.")
@click.option(
    "--log", "task", metavar="PHASE/PLAN#KEY", help="Print the output of a task's program."
)
@verb
def command(call: Call, id: str, every: bool, tasks: bool, task: str | None) -> Reply:
    """Show where RUN is and why it waits. Without RUN, shows the newest unfinished run."""
    if every:
        return _all(call)
    state = runs.find_run(call.workspace, id)
    if task is not None:
        return _log(call, state, task)
    runner = runs.runner_of(call.workspace, state)
    lines = screen(state, now=call.now)
    lines += list(_why(call, state, runner))
    if tasks:
        lines += ["", *table(list(_tasks(state)), indent="  ")]
    refusals = call.journal.refusals(f"run:{state['id']}")
    if refusals or state["refused"]:
        count = len(refusals) + state["refused"]
        lines += ["", f"{plural(count, 'late completion')} refused, and kept for reading."]
    data: dict[str, Any] = {**state, "runner": runner, "refusals": refusals}
    is_settled = runner or state["status"] in OVER
    return Reply(data, lines, next=[] if is_settled else runs.find_ways_on(state))


def _why(call: Call, state: RunState, runner: str) -> Iterator[str]:
    if runner:
        yield ""
        yield f"Being run by process {safe(runner)}."
    elif state["status"] == "running":
        yield ""
        yield style("Its runner is gone; what was at work begins again at a resume.", "yellow")
    pause = state["pause"]
    if pause is not None:
        yield ""
        at = ago(pause["at"], call.now)
        what = "Abandoned" if state["status"] == ABANDONED else "Stands still"
        yield f"{style(what, 'yellow')} since {at}: {one_line(pause['text'], 300)}"
        unanswered = runs.unanswered_gates(call.workspace, state)
        for id, key in waiting_gates(state) if state["status"] not in OVER else ():
            word = "Waits for your answer" if (id, key) in unanswered else "Answered"
            yield f"{word}: {one_line(runs.title_of(state, id, key), 200)}"
        if pause["waypoint"]:
            yield f"Waypoint: {safe(pause['waypoint'])}"


def _tasks(state: RunState) -> Iterator[list[str]]:
    for id, plan in state["plans"].items():
        for task in plan["plan"]["tasks"]:
            key = task["key"]
            if task["gate"] is not None:
                gate = plan["gates"][key]
                said = f"{gate['answer']} {gate['text']}".strip()
                yield [f"{safe(id)}#{key}", gate["status"], "", one_line(said, 80)]
                continue
            run = plan["tasks"][key]
            # Only an attempt that came to its own end has a time.
            spent = f"{run['seconds']:.1f} s" if run["ended_at"] else ""
            said = run["why"] or run["said"]
            on = f"on {one_line(run['on'], 40)}" if run.get("on") else ""
            about = "  ".join(part for part in (on, one_line(said, 80)) if part)
            yield [f"{safe(id)}#{key}", run["status"], spent, about]


def _all(call: Call) -> Reply:
    found = list(runs.every(call.workspace))
    rows = []
    for state in found:
        done, begun = f"{state['done']}/{state['total']}", ago(state["begun_at"], call.now)
        plans = one_line(", ".join(state["plans"]), 60)
        rows.append([state["id"], status_word(state), done, begun, plans])
    data = [{"run": one["id"], "status": one["status"], **runs.count(one)} for one in found]
    return Reply({"runs": data}, list(table(rows)) or ["No run yet."])


def _log(call: Call, state: RunState, task: str) -> Reply:
    id, mark, key = task.rpartition("#")
    plan = state["plans"].get(id)
    if not mark or plan is None or key not in plan["tasks"]:
        raise Usage(f"{task!r:.60} is no task of the run.", hint="Such as 3/06#1.")
    name = plan["tasks"][key]["log"]
    if not name:
        raise NotFound(f"{task} has not begun.")
    try:
        log = RunFolder(call.workspace, state["id"]).log(name)
        text = read_plain(log, LARGEST_LOG).decode(errors="replace")
    except FileNotFoundError:
        raise NotFound(f"The output of {task} is not there any more.") from None
    data = {"run": state["id"], "task": task, "log": name, "text": text}
    return Reply(data, (safe(line) for line in text.splitlines()), pages=True)
