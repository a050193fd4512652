"""kill -9 at every system call of an RFC's checkpoint that changes anything: bootstrap works after it.

What was acknowledged is in the bootstrap; what was not is there whole or not at all; and the next write
leaves both files with one version.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from holdfast.kernel.workspace import discover
from holdfast.rfc.api import Rfc
from tests.proof.points import Point, listed, traced
from tests.rfc.world import DESIGN, DISCOVER, ID

pytestmark = pytest.mark.proof

COMMAND = [sys.executable, "-m", "holdfast", "rfc", "write", "design", "--from", "design.md"]


def prepared(template: Path, folder: Path) -> Path:
    """An RFC with a first checkpoint, about to get its second."""
    root = folder / "project"
    shutil.copytree(template, root)
    (root / "design.md").write_text(DESIGN)
    workspace = discover(str(root))
    rfc = Rfc(workspace, ID, actor="tester")
    rfc.begin()
    rfc.write("discover", DISCOVER)
    rfc.transition("discover-design")
    workspace.close()
    return root


def problems(root: Path, acknowledged: bool) -> list[str]:
    """What is wrong after a strike."""
    workspace = discover(str(root))
    try:
        rfc = Rfc(workspace, ID, actor="tester")
        found = rfc.bootstrap()
        written = "the queue won narrowly" in found["text"]
        wrong = []
        if (found["version"] == 2) is not written:
            wrong.append(f"version {found['version']}, and the group is there: {written}")
        if acknowledged and not written:
            wrong.append("acknowledged and lost")
        version = rfc.write("discover", DISCOVER.replace("Speed", "Haste"))["version"]
        state = json.loads((root / ".ohrfc" / ID / "state.json").read_text())
        text = (root / ".ohrfc" / ID / "checkpoint.md").read_text()
        if version != found["version"] + 1 or state["checkpoint_version"] != version:
            wrong.append(f"{found['version']}, then {version}, and state.json {state}")
        if f"- checkpoint_version: {version}\n" not in text or "Haste matters" not in text:
            wrong.append("checkpoint.md is not of the last write")
        return wrong
    finally:
        workspace.close()


def test_bootstrap_works_after_a_kill_at_every_call(
    strace: str, empty_repository: Path, tmp_path: Path
) -> None:
    for run in ("warm", "observed"):
        root = prepared(empty_repository, tmp_path / run)
        log = tmp_path / f"{run}.log"
        calm = traced(strace, [], COMMAND, root, log)
        assert calm.code == 0, calm.errors
    points = listed(log, root)
    touched = " ".join(point.file for point in points)
    assert touched.index("checkpoint.md") < touched.index("state.json")
    violations: list[str] = []
    struck = 0
    for position, point in enumerate(points):
        struck += _strike(strace, empty_repository, tmp_path / f"{position:03d}", point, violations)
    print(f"\n{len(points)} points, {struck} struck, {len(violations)} violations")
    assert not violations, "\n".join(violations)
    assert struck == len(points)


def _strike(strace: str, template: Path, folder: Path, point: Point, violations: list[str]) -> bool:
    root = prepared(template, folder)
    inject = f"inject={point.call}:signal=SIGKILL:when={point.number}"
    end = traced(strace, ["-e", inject], COMMAND, root, folder / "strace.log")
    acknowledged = "Wrote auth-model" in end.output
    violations += [f"{point}: {wrong}" for wrong in problems(root, acknowledged)]
    shutil.rmtree(root)
    return end.was_struck
