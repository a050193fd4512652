"""`LOGBOOK.md`, one a phase, a section a plan: the rules of `logbook:<phase>@<worktree>` streams.

The file is people's as much as ours: a section is added once, and nothing in the file is ever rewritten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.kernel.errors import Usage
from holdfast.kernel.merge import merge_lines
from holdfast.kernel.rules import Decision
from holdfast.kernel.text import harmless, one_line
from holdfast.plans.rules.run_model import PASSED, SKIPPED, PlanRun, RunState

if TYPE_CHECKING:
    from holdfast.journal.interface import Event
    from holdfast.kernel.views.reconcile import Change


class LogbookState(TypedDict):
    """The text of the file; `sections` are the plans of runs that it has."""

    path: str
    phase: str
    text: str
    sections: dict[str, str]


FOLDER = ".autopilot/phases"
NAME = "LOGBOOK.md"
MOST_SAID = 200


def path_of(phase: str, plan_path: str) -> str:
    """The logbook of a phase: in the folder of its plan if that is below `.autopilot/phases`, else in a
    folder with the phase's number in three digits, as upstream names them."""
    parts = plan_path.split("/")
    if plan_path.startswith(f"{FOLDER}/") and len(parts) > 3:
        return "/".join([FOLDER, parts[2], NAME])
    name = phase.zfill(3) if phase.isascii() and phase.isdigit() else _folder(phase)
    return f"{FOLDER}/{name}/{NAME}"


def _folder(phase: str) -> str:
    kept = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in phase)
    return kept.strip("-") or "phase"


def stream_of(path: str, worktree: str) -> str:
    return f"logbook:{path.split('/')[-2]}@{worktree}"


def initial(stream: str) -> LogbookState:
    return {"path": "", "phase": "", "text": "", "sections": {}}


def decide(state: LogbookState, command: Any, now: int) -> Decision:
    """`add` the section of a plan, once in each run."""
    if command["do"] != "add":
        raise Usage(f"A logbook cannot {command['do']!r:.40}.")
    if command["section"] in state["sections"]:
        return Decision()
    names = ("path", "phase", "section", "text")
    return Decision([("section_added", {name: command[name] for name in names})])


def apply(state: LogbookState, event: Event) -> LogbookState:
    body = event["body"]
    if event["kind"] == "section_added":
        text = state["text"] or f"# Logbook: Phase {body['phase']}\n"
        return {
            **state,
            "path": body["path"],
            "phase": body["phase"],
            "text": f"{text.rstrip()}\n\n{body['text'].rstrip()}\n",
            "sections": {**state["sections"], body["section"]: body["text"]},
        }
    if event["kind"] == "edited_outside":
        return {**state, "text": body["text"]}
    return state


def absorb(
    state: LogbookState, base: LogbookState, change: Change, now: int
) -> list[tuple[str, Any]]:
    """Both sides' lines: what the editor changed, and the sections that were added since."""
    if change["kind"] != "edited":
        return []
    text = merge_lines(base["text"], state["text"], change["text"])
    return [("edited_outside", {"text": text})] if text != state["text"] else []


def render(state: LogbookState) -> dict[str, str]:
    return {state["path"]: state["text"]} if state["path"] else {}


# A plan's section


def section(state: RunState, plan: PlanRun, facts: Mapping[str, Any], ended: str) -> str:
    """The summary of a plan that is done."""
    return harmless("\n".join(_section(state, plan, facts, ended)) + "\n")


def _section(state: RunState, plan: PlanRun, facts: Mapping[str, Any], ended: str) -> Iterator[str]:
    how = "autonomous" if plan["autonomous"] else "human-verify"
    yield f"## Plan {one_line(plan['plan']['plan'], MOST_SAID)}"
    yield ""
    yield f"- **Run:** {state['id']}, {how} ({one_line(plan['reason'], MOST_SAID)})"
    yield f"- **Wave:** {plan['plan']['wave'] or 1}"
    yield f"- **Time:** {plan['began_at']} to {ended}"
    if facts.get("branch"):
        yield f"- **Branch:** {facts['branch']}"
    yield ""
    yield "| Task | Result | Time | Attempts | Last words |"
    yield "|------|--------|------|----------|------------|"
    for task in plan["plan"]["tasks"]:
        key = task["key"]
        if task["gate"] is not None:
            gate = plan["gates"][key]
            answer = f"{gate['answer']} by {gate['by']}" if gate["status"] == PASSED else "-"
            title = _cell(task["gate"]["title"])
            yield f"| {key} {title} | {gate['status']} | - | {gate['round']} | {_cell(answer)} |"
            continue
        run = plan["tasks"][key]
        name, said = _cell(task["name"]), _cell(run["said"])
        if run["status"] == SKIPPED:
            yield f"| {key} {name} | skipped | - | - | - |"
        else:
            seconds = f"{run['seconds']:.1f} s"
            yield f"| {key} {name} | {run['status']} | {seconds} | {run['attempts']} | {said} |"
    issues = [(key, text) for key, gate in plan["gates"].items() for text in gate["issues"]]
    if issues:
        yield ""
        yield from (f"- Issues at {key}: {one_line(text, MOST_SAID)}" for key, text in issues)


def _cell(text: str) -> str:
    return one_line(text, MOST_SAID).replace("|", "\\|") or "-"
