"""Claude Code's status line: one line, whatever it is given."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.hooks.run import command
from holdfast.kernel import clock, failures
from holdfast.kernel.workspace import discover
from tests.budgets.world import Scene
from tests.hooks.world import SAMPLES
from tests.session import world as session_world
from tests.session.world import Holdfast

holdfast = session_world.holdfast


@pytest.fixture(autouse=True)
def without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


def line(**changes: Any) -> str:
    payload = json.loads((SAMPLES / "claude.statusline.json").read_text("utf-8"))
    here = {"cwd": str(Path.cwd()), "workspace": {"project_dir": str(Path.cwd())}}
    return shown(json.dumps({**payload, **here, **changes}).encode())


def shown(payload: bytes) -> str:
    done = subprocess.run(command("statusline"), input=payload, capture_output=True, check=True)
    assert done.stderr == b""
    assert done.stdout.count(b"\n") <= 1
    return done.stdout.decode().strip()


def test_context_and_cost(repository: Path) -> None:
    assert line(context_window={"used_percentage": 42.4}) == "context 42% · $0.0069"
    assert line(context_window={"used_percentage": None}) == "$0.0069"


@pytest.mark.parametrize("number", ["-5", "1e999", "NaN", "-1e999", "9" * 400, "true"])
def test_what_is_no_sensible_number_is_not_shown(repository: Path, number: str) -> None:
    told = (
        f'{{"cwd": {json.dumps(str(repository))}, "context_window": {{"used_percentage": {number}}}'
    )
    assert shown(f'{told}, "cost": {{"total_cost_usd": {number}}}}}'.encode()) == "holdfast"


def test_the_budget_the_gates_and_the_hooks_that_failed(
    repository: Path, holdfast: Holdfast
) -> None:
    session = json.loads((SAMPLES / "claude.statusline.json").read_text("utf-8"))["session_id"]
    scene = Scene(repository)
    scene.check(cost=26.5, session=session)
    words = ("--built", "Dashboard", "--how", "Open http://localhost:3000: cards show data")
    holdfast("gate", "verify", *words)
    failures.note(discover(), "claude Stop", "No space", clock.now())
    assert line(cost={"total_cost_usd": 26.5}) == (
        "ALERT: Cost at $26.50, the alert is at $25.00 (holdfast guard ack cost) · context 0% · "
        "$26.50 of $50 · 1 gate waits (holdfast gate list) · 1 hook failed (holdfast doctor)"
    )


def test_a_stop_stands_first(repository: Path, holdfast: Holdfast) -> None:
    holdfast("estop", "--reason", "Everybody\x1b[2J out " + "x" * 200)
    text = line()
    assert text.startswith("STOPPED: Everybody")
    assert "\x1b" not in text
    assert len(text) < 120


def test_what_the_client_tells_is_measured_by_the_budget(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("note", "There is a journal.")
    used = {"current_usage": {}, "context_window_size": 200_000, "total_input_tokens": 80_000}
    session = json.loads((SAMPLES / "claude.statusline.json").read_text("utf-8"))["session_id"]
    line(context_window=used, cost={"total_cost_usd": 12.5})
    spent = holdfast("guard", "report", "--session", session, "--json").data
    assert "12.5" in json.dumps(spent)


@pytest.mark.parametrize(
    "payload",
    [b"", b"{", b"[]", b'{"cost": 7, "context_window": [], "session_id": {}}', b'{"cwd": 7}'],
)
def test_nonsense_is_a_line_too(repository: Path, payload: bytes) -> None:
    assert shown(payload) in ("holdfast", "")


def test_outside_of_a_workspace_it_is_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shown(json.dumps({"cwd": str(tmp_path)}).encode()) == ""


def test_a_damaged_journal_is_said_and_named(repository: Path, holdfast: Holdfast) -> None:
    holdfast("note", "Something")
    for path in Path(".git/holdfast").glob("journal.db*"):
        path.write_bytes(b"garbage" * 999)
    assert line() == "holdfast: the status line failed; see holdfast doctor"
    assert failures.read(discover())[-1]["hook"] == "statusline"


def test_the_verb_says_the_same(repository: Path) -> None:
    words = [command("x")[0], "-m", "holdfast", "statusline"]
    payload = json.dumps({"cwd": str(repository), "cost": {"total_cost_usd": 1}})
    done = subprocess.run(words, input=payload, capture_output=True, text=True, check=True)
    assert done.stdout == "$1.00\n"
