"""A session belongs to the project that it began in, wherever its agent goes later."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from holdfast.clients.table import CLIENTS
from holdfast.hooks import handlers
from holdfast.kernel import latch
from holdfast.kernel.workspace import discover
from holdfast.processes import relaunch
from tests.budgets.world import Scene
from tests.conftest import Git
from tests.hooks.test_limits import bash
from tests.hooks.world import STOP, TOOL, ask, denied, said, send
from tests.session import world as session_world
from tests.session.world import Holdfast, wait_for

holdfast = session_world.holdfast
PROJECT_VARIABLES = {
    name: facts.project_variable for name, facts in CLIENTS.items() if facts.project_variable
}
GOES = tuple(PROJECT_VARIABLES)


@pytest.fixture
def vendor(repository: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository within the project, and an agent that went there."""
    folder = repository / "vendor"
    folder.mkdir()
    git("init", "--quiet", at=folder)
    for name in PROJECT_VARIABLES.values():
        monkeypatch.setenv(name, str(repository))
    # What Claude Code's hooks have, and what tells them from Copilot's in the same settings.
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s1")
    return folder


@pytest.mark.matrix
@pytest.mark.parametrize("client", GOES)
@pytest.mark.parametrize("place", ["vendor", "outside", "subfolder"])
def test_a_stop_holds_an_agent_that_went_elsewhere(
    vendor: Path, holdfast: Holdfast, tmp_path: Path, client: str, place: str
) -> None:
    folder = {"vendor": vendor, "outside": tmp_path / "x", "subfolder": vendor.parent / "src"}
    folder[place].mkdir(exist_ok=True)
    cwd = str(folder[place])
    assert ask(client, TOOL[client], cwd=cwd, **bash("make")) == {}
    holdfast("estop", "--reason", "Everybody out")
    assert "Everybody out" in denied(client, ask(client, TOOL[client], cwd=cwd, **bash("make")))


@pytest.mark.parametrize("client", GOES)
def test_an_alert_holds_it_too(vendor: Path, client: str) -> None:
    Scene(vendor.parent).check(cost=26.5)
    assert denied(client, ask(client, TOOL[client], cwd=str(vendor), **bash("make")))


def test_the_stop_of_where_it_went_holds_there(vendor: Path) -> None:
    latch.engage(discover(str(vendor)), "Not in here", by="tester", now=0)
    reason = denied("claude", ask("claude", "PreToolUse", cwd=str(vendor), **bash("make")))
    assert "Not in here" in reason
    assert ask("claude", "PreToolUse", **bash("make")) == {}


@pytest.mark.parametrize("client", GOES)
def test_its_work_is_kept_where_it_began(vendor: Path, holdfast: Holdfast, client: str) -> None:
    done = send(client, STOP[client], {"session_id": "s1", "cwd": str(vendor)})
    assert said(client, STOP[client], done) == {}
    (one,) = holdfast("resume", "--list", "--json").data["sessions"]
    assert one["session"] == "s1"
    assert not (vendor / ".git" / "holdfast").exists()
    assert not (vendor / ".holdfast").exists()


def test_a_session_of_a_linked_worktree_stays_there(
    repository: Path, git: Git, monkeypatch: pytest.MonkeyPatch, holdfast: Holdfast
) -> None:
    side = repository.parent / "side"
    git("worktree", "add", "--quiet", str(side))
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(side))
    ask("claude", "Stop", cwd=str(side))
    (one,) = holdfast("resume", "--list", "--json").data["sessions"]
    assert one["last"]["world"]["worktree"] == str(side)


@pytest.mark.parametrize("project", ["", "/nowhere", "/", "with\0null"])
def test_a_project_that_is_none_leaves_the_agents_own_folder(
    repository: Path, project: str
) -> None:
    from holdfast.hooks.run import respond_to

    latch.engage(discover(), "Everybody out", by="tester", now=0)
    payload = {"session_id": "s1", "cwd": str(repository), **bash("make")}
    answer = respond_to("claude", "PreToolUse", payload, project=project)
    assert "Everybody out" in denied("claude", answer)


def test_the_status_line_is_of_the_project(vendor: Path) -> None:
    from holdfast.hooks.status_line import line

    latch.engage(discover(), "Everybody out", by="tester", now=0)
    places = {"project_dir": str(vendor.parent), "current_dir": str(vendor)}
    assert "Everybody out" in line({"session_id": "s1", "cwd": str(vendor), "workspace": places})


# An id is a client's to choose


@pytest.mark.parametrize(
    "odd", ["a\nb", "\x1b[31mred", "../../up", "x" * 500, "\ud800", "s 1", "é"]
)
def test_an_odd_id_is_known_by_a_plain_one(
    repository: Path, holdfast: Holdfast, odd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        ask("claude", "Stop", session_id=odd)
    (one,) = holdfast("resume", "--list", "--json").data["sessions"]
    assert one["session"].isalnum()
    assert odd not in json.dumps(one, ensure_ascii=False)
    told = holdfast("history", "--json").out
    assert one["session"][:8] in told
    assert odd not in told


# What we start ourselves


def test_nothing_in_the_work_tree_is_run_outside_of_the_sandbox(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = f"open({str(repository / 'was-run')!r}, 'w').close()\n"
    for name in ("click.py", "holdfast.py", "json.py", "sitecustomize.py"):
        (repository / name).write_text(hostile)
    monkeypatch.setenv("PYTHONPATH", str(repository))
    payload = {"session_id": "s1", "cwd": str(repository)}
    done = send("claude", "PreCompact", payload, leaves=True)
    assert said("claude", "PreCompact", done) == {}
    monkeypatch.delenv("PYTHONPATH")
    wait_for(lambda: bool(holdfast("snapshot", "list", "--json").data["snapshots"]))
    assert not (repository / "was-run").exists()


def test_so_we_are_started_everywhere(repository: Path) -> None:
    (repository / "click.py").write_text("raise SystemExit('run')\n")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        relaunch.command("status", "--json"), env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    source = Path(handlers.__file__).parents[1]
    own = [path for path in source.rglob("*.py") if path.name != "itself.py"]
    assert [path for path in own if '"-m", "holdfast"]' in path.read_text("utf-8")] == []
