"""holdfast plan new, lint, graph"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import TEXT_OR_EMPTY, flag, verb
from holdfast.cli.terminal import one_line, safe, style, table
from holdfast.kernel import config
from holdfast.kernel.errors import HoldfastError, NotFound, Usage
from holdfast.kernel.text import fit, plural, quote
from holdfast.plans import runs
from holdfast.plans.discovery import AGENT_SETTING, NewPlanRequest, documents, files, write_plan
from holdfast.plans.rules import graph
from holdfast.plans.rules.document import where
from holdfast.plans.rules.graph import Phase, PlanNode
from holdfast.plans.rules.lint import findings
from holdfast.plans.rules.model import HAS_CHECKPOINT, SAID_SO, Kind, PlanFinding, kind_of
from holdfast.plans.rules.waves import WaveOrder
from holdfast.plans.screen import COLOURS

LONGEST = 4096
TITLE_COLUMNS = 40
# Reasons that the plan itself states.
STATED_KINDS = (SAID_SO, HAS_CHECKPOINT)


@click.command()
@click.argument("name", required=False, default="", metavar="[PHASE/PLAN]")
@click.option(
    "--title", type=TEXT_OR_EMPTY, default="", metavar="TEXT", help="Heading of the plan."
)
@flag("--ui", help="The plan changes what people see, so a person looks.")
@flag("--dry-run", help="Print the plan; write nothing.")
@verb
def new_command(call: Call, name: str, title: str, ui: bool, dry_run: bool) -> Reply:
    """Write a plan to begin with into .autopilot/phases. It runs as it is.

    Without PHASE/PLAN, the plan is the next one of the latest phase.
    """
    request = NewPlanRequest(name=name, title=title, ui=ui, dry_run=dry_run)
    made = write_plan(call.workspace, request)
    data = {**made, "dry_run": dry_run}
    if dry_run:
        return Reply(data, made["text"].splitlines())
    path = made["path"]
    next = [f"holdfast plan lint {quote(path)}", f"holdfast plan run {quote(path)}"]
    return Reply(data, [f"Wrote {safe(path)}. Edit it, then: holdfast plan run"], next=next)


@click.command()
@click.argument("paths", nargs=-1)
@click.option("--strict", is_flag=True, help="Treat every warning as an error.")
@verb
def lint_command(call: Call, paths: tuple[str, ...], strict: bool) -> Reply:
    """Check plan files, alone and together, and report all errors at once.

    Finds unknown fields, XML that is not closed, circular dependencies, dependencies on a later wave, a
    pause after a task that does not exist, plans of one wave that change the same files, and gates that
    ask people to do what a machine can do.

    PATHS are files and folders. Default: .autopilot/phases. Exits with 1 when there is an error.
    """
    meant = files(paths, call.folder, call.workspace.root)
    read = documents(meant, call.folder)
    agent = bool(config.load(call.workspace)[AGENT_SETTING].strip())
    found = findings(read, agent=agent, strict=strict)
    errors = sum(one["level"] == "error" for one in found)
    plans = [one["plan"] for one in read if one["plan"] is not None]
    data: dict[str, Any] = {
        "findings": found,
        "errors": errors,
        "warnings": len(found) - errors,
        "files": [one["path"] for one in read],
        "plans": [plan["id"] for plan in plans],
        "kinds": {plan["id"]: kind_of(plan) for plan in plans},
    }
    lines = [*_lines(found, errors, len(read)), *_kind_lines(data["kinds"])]
    return Reply(data, lines, exit_code=1 if errors else 0)


def _kind_lines(kinds: dict[str, Kind]) -> Iterator[str]:
    """Say of each plan whose type follows from the protocol's rules which it is, and why."""
    rows = []
    for id, kind in kinds.items():
        if kind["reason"] not in STATED_KINDS:
            how = "autonomous" if kind["autonomous"] else "human-verify"
            rows.append([safe(id), how, style(kind["reason"], dim=True)])
    yield from table(rows)


def _lines(found: list[PlanFinding], errors: int, count: int) -> Iterator[str]:
    for one in found:
        colour = "red" if one["level"] == "error" else "yellow"
        head = style(f"{one['level']}:", colour, bold=True)
        yield f"{one_line(where(one), LONGEST)}: {head} {safe(one['what'])} ({one['code']})"
        if one["instead"]:
            yield f"   {style('instead:', 'cyan')} {safe(one['instead'])}"
    if not found:
        yield style(f"{plural(count, 'plan file')}, and nothing is wrong.", "green")
    else:
        warnings = plural(len(found) - errors, "warning")
        yield f"{plural(errors, 'error')}, {warnings} in {plural(count, 'plan file')}."


@click.command()
@click.argument("paths", nargs=-1)
@click.option("--run", "run", metavar="ID", help="Show the plans of this run with their status.")
@click.option("--mermaid", is_flag=True, help="Print a Mermaid flowchart instead.")
@verb
def graph_command(call: Call, paths: tuple[str, ...], run: str | None, mermaid: bool) -> Reply:
    """Show the waves of the plans in PATHS, their dependencies and their checkpoints.

    PATHS are files and folders. Default: .autopilot/phases.
    """
    if run is not None and paths:
        raise Usage("A run has its own plans.", hint="Give paths or --run, not both.")
    phases = _of_files(call, paths) if run is None else _of_run(call, run)
    chart = list(graph.draw_mermaid(phases)) if mermaid else []
    data = {"phases": phases, "mermaid": "\n".join(chart)}
    return Reply(data, chart or _graph_lines(phases))


def _graph_lines(phases: list[Phase]) -> Iterator[str]:
    for phase in phases:
        count = plural(sum(len(wave["plans"]) for wave in phase["waves"]), "plan")
        waves = plural(len(phase["waves"]), "wave")
        head = style(f"Phase {safe(phase['phase'])}", bold=True)
        yield f"{head}  {style(f'{count} in {waves}', dim=True)}"
        nodes = [node for wave in phase["waves"] for node in wave["plans"]]
        lines = table([_graph_row(node, phase["phase"]) for node in nodes], indent="    ")
        for wave in phase["waves"]:
            head = style(f"wave {wave['wave']}", "cyan")
            yield f"  {head}  {style(graph.describe_wave(wave), dim=True)}".rstrip()
            yield from islice(lines, len(wave["plans"]))


def _graph_row(node: PlanNode, phase: str) -> list[str]:
    mark = f"{graph.MARKS[node['state']]} " if node["state"] else ""
    needs = graph.shorten_ids(phase, node["depends_on"])
    after = f"after {safe(', '.join(needs))}" if needs else ""
    pauses = style(", ".join(f"◆ {pause}" for pause in node["pauses"]), "yellow")
    return [
        style(mark + safe(node["name"]), COLOURS.get(node["state"]), bold=not mark),
        fit(node["title"], TITLE_COLUMNS),
        plural(node["tasks"], "task"),
        "  ".join(part for part in (style(after, dim=True), pauses) if part),
        *([style(node["reason"], dim=True)] if node["reason"] not in STATED_KINDS else []),
    ]


def _of_files(call: Call, paths: tuple[str, ...]) -> list[Phase]:
    read = documents(files(paths, call.folder, call.workspace.root), call.folder)
    plans = [one["plan"] for one in read if one["plan"] is not None]
    if not plans:
        hint = "holdfast plan lint says why."
        raise HoldfastError("None of these files is a plan.", hint=hint, kind="bad_plan")
    order = WaveOrder(plans)
    problems = [problem["level"] for one in read for problem in one["problems"]]
    if order.troubles or "error" in problems or len(order.plans) < len(read):
        warn("There are errors in these plans; `holdfast plan lint` lists them.")
    return graph.build_graph(order.plans)


def _of_run(call: Call, word: str) -> list[Phase]:
    if not word.strip():
        raise NotFound("A run has an id.", hint="`holdfast plan show` lists them.")
    state = runs.find_run(call.workspace, word)
    plans = [one["plan"] for one in state["plans"].values()]
    return graph.build_graph(plans, graph.find_states(state))
