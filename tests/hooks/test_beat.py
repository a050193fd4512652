"""Heartbeats through the hooks' entry: as light as a note, and never a failure of the host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from holdfast.hooks.run import command
from holdfast.kernel import failures
from holdfast.kernel.workspace import discover
from tests import warm
from tests.fleet.world import A, Scene
from tests.hooks.loaded import loaded_by_script
from tests.hooks.test_entry import ALLOWED, STARTUP

PROBE = """
import sys
sys.path[0:0] = sys.argv[1:3]
from holdfast.hooks.run import respond
answer = respond(["beat", "Secondary-A"])
assert "failed" not in answer, answer
print(" ".join(sys.modules))
"""


def _beat(payload: dict[str, Any], *words: str) -> dict[str, Any]:
    done = warm.run(
        command("beat", *words), input=json.dumps(payload), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def test_a_heartbeat_by_a_hook(repository: Path) -> None:
    scene = Scene(repository)
    scene.start()
    answer = _beat({"step": "By a hook", "done": ["One"], "files": ["a.md"]}, A)
    assert answer["fence"] == 1
    assert answer["said"] == ["Checkpoint updated", "Checkpoint valid"]
    saved = scene.file()
    assert (saved["current_step"], saved["completed_steps"][-1]) == ("By a hook", "One")
    assert saved["files_modified"] == ["a.md"]


def test_what_a_hook_cannot_do_is_said_and_written_down(repository: Path) -> None:
    scene = Scene(repository)
    assert "has no checkpoint" in _beat({}, A)["failed"]
    assert "names its agent" in _beat({})["failed"]
    scene.start()
    scene.takeover(A, A)
    assert "taken over" in _beat({"fence": 1}, A)["failed"]
    assert len(failures.read(discover())) == 3


def test_a_heartbeat_loads_nothing_heavy(repository: Path) -> None:
    Scene(repository).start()
    words = command("beat", A)
    libraries = [words[3].rpartition("/holdfast/")[0], words[4]]
    modules = loaded_by_script(words[:3], PROBE, *libraries, payload=b"{}")
    loaded = {name for name in modules if not name.startswith("holdfast")}
    # Git is asked which files changed; its runner needs these four.
    git = {"select", "contextlib", "functools", "_functools"}
    assert loaded <= ALLOWED | STARTUP | {"_ast"} | git, sorted(loaded - ALLOWED - STARTUP)
