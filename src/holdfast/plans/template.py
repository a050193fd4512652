"""A plan to begin with: a file that runs as it is, and shows what a plan is made of."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from holdfast.kernel.errors import Conflict, Usage
from holdfast.plans import discovery
from holdfast.plans.rules.kind import LAST_EARLY_PHASE, number_of
from holdfast.plans.rules.waves import natural

if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace

NAME = re.compile(r"(\w[\w.+-]{0,63})/(\w[\w.+-]{0,63})")
HEAD = """\
---
phase: {phase}
plan: {plan}
autonomous: {autonomous}
{kind}---

# {title}

<task type="auto">
  <name>First step</name>
  <action>Say here what an agent is to do. With a run element, the command is executed instead.</action>
  <run>echo "Replace this command, or take the run element out and set plan.agent"</run>
</task>
"""
LOOK = """
<task type="checkpoint:human-verify" gate="blocking">
  <what-built>{title}</what-built>
  <how-to-verify>
    1. Say here what a person should see
  </how-to-verify>
  <resume-signal>Type "approved" or describe issues</resume-signal>
</task>
"""


@dataclass(frozen=True, kw_only=True)
class NewPlanRequest:
    """`name` is PHASE/PLAN; without it, the next plan of the latest phase. `ui`: a person looks at it."""

    name: str = ""
    title: str = ""
    ui: bool = False
    dry_run: bool = False


class NewPlan(TypedDict):
    """The plan that was written, or would be."""

    plan: str
    path: str
    text: str


def write_plan(workspace: Workspace, request: NewPlanRequest) -> NewPlan:
    """Write a plan file below `.autopilot/phases`. A file that is there is never written over."""
    phase, plan = _named(request.name) if request.name else _next(workspace)
    folder = phase.zfill(3) if phase.isascii() and phase.isdigit() else phase
    path = os.path.join(discovery.PHASES, folder, f"{plan}.md")
    title = " ".join(request.title.split()) or f"Plan {plan} of phase {phase}"
    looks = request.ui or number_of(phase) > LAST_EARLY_PHASE
    text = HEAD.format(
        phase=phase,
        plan=plan,
        autonomous="false" if looks else "true",
        kind="has_ui_changes: true\n" if request.ui else "",
        title=title,
    )
    text += LOOK.format(title=_escaped(title)) if looks else ""
    if not request.dry_run:
        target = os.path.join(workspace.root, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        try:
            with open(target, "x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            raise Conflict(
                f"{path} is there already.", hint="Name another plan: holdfast plan new PHASE/PLAN"
            ) from None
    return {"plan": f"{phase}/{plan}", "path": path, "text": text}


def _named(name: str) -> tuple[str, str]:
    found = NAME.fullmatch(name)
    if found is None:
        raise Usage(f"{name!r:.60} cannot name a plan.", hint="Such as 1/01 or 3/06: PHASE/PLAN.")
    return found[1], found[2]


def _next(workspace: Workspace) -> tuple[str, str]:
    """The number after the last plan of the latest phase; 1/01 where there is none."""
    if not discovery.has_plans(workspace, ()):
        return "1", "01"
    read = discovery.documents(discovery.files((), workspace.root, workspace.root), workspace.root)
    plans = [one["plan"] for one in read if one["plan"] is not None]
    if not plans:
        return "1", "01"
    latest = max((plan["phase"] for plan in plans), key=natural)
    numbers = [number_of(plan["plan"]) for plan in plans if plan["phase"] == latest]
    return latest, f"{max(numbers) + 1:02d}"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
