"""What a phase was for: the artifacts its plans promise, and what a command of yours finds missing."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from holdfast.plans.rules.model import Plan
    from holdfast.plans.rules.run_model import RunState
    from holdfast.plans.worktrees import Worktrees

    # Given a phase and its plans, what of it is not met.
    OnGoals = Callable[[str, list[Plan]], Iterable[str]]

MOST = 50
SECONDS = 600


def unmet(
    worktrees: Worktrees,
    state: RunState,
    phase: str,
    settings: Mapping[str, Any],
    on_goals: OnGoals | None,
) -> list[str]:
    """The goals of a phase that are not met; AMB-PILOT-33."""
    plans = [
        state["plans"][id]["plan"]
        for each in state["phases"]
        if each["phase"] == phase
        for wave in each["waves"]
        for id in wave
    ]
    found = [
        f"{plan['id']}: {path} is not there"
        for plan in plans
        for path in _artifacts(plan)
        if not worktrees.has(state, path)
    ]
    command = str(settings["plan.goals"]).strip()
    if command:
        found += _asked(state["root"], command, phase, plans)
    if on_goals is not None:
        found += on_goals(phase, plans)
    return found[:MOST]


def _artifacts(plan: Plan) -> Iterator[str]:
    """The files that `must_haves` names."""
    named = plan["must_haves"].get("artifacts")
    for one in named if isinstance(named, list) else []:
        path = one.get("path") if isinstance(one, dict) else one
        if isinstance(path, str) and path.strip():
            yield path.strip()


def _asked(root: str, command: str, phase: str, plans: list[Plan]) -> Iterator[str]:
    """Each line that the command prints is a goal that is not met; so is its own failure."""
    given = json.dumps({"phase": phase, "plans": {one["id"]: one["must_haves"] for one in plans}})
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=root,
            env={**os.environ, "HOLDFAST_PHASE": phase},
            input=given,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        yield f"plan.goals had no end after {SECONDS} s"
        return
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    yield from lines
    if done.returncode and not lines:
        said = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        yield f"plan.goals failed: {said[0]}"
