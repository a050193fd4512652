"""The command as a process among others: signals, pipes, a full disk, a machine without git."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import holdfast
from holdfast.kernel import clock
from holdfast.kernel.errors import StoreAway

HOLDFAST = [sys.executable, "-m", "holdfast"]


def call(
    *words: str, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*HOLDFAST, *words], capture_output=True, text=True, check=False, cwd=cwd, env=env
    )


def test_a_closed_pipe_ends_quietly(repository: Path) -> None:
    with holdfast.open() as workspace:
        for number in range(300):
            workspace.note(f"{number} " + "x" * 300, name="long")
    command = f"{' '.join(HOLDFAST)} export | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.returncode == 0
    assert json.loads(done.stdout)["holdfast_export"] == 1


def test_control_c_ends_quietly_with_130(repository: Path) -> None:
    with holdfast.open() as workspace:
        workspace.note("one")
    # `note -` waits for its text; that is where the person changes their mind.
    waiting = subprocess.Popen(
        [*HOLDFAST, "note", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(0.7)
    waiting.send_signal(signal.SIGINT)
    _, said = waiting.communicate(timeout=20)
    assert waiting.returncode == 130
    assert said.strip() == ""


def test_a_full_disk_is_said_and_nothing_is_lost(repository: Path) -> None:
    with holdfast.open() as workspace:
        workspace.note("one")
        journal = workspace.journal
        pages = journal.connection().pragma("page_count")  # type: ignore[attr-defined]
        journal.connection().pragma("max_page_count", pages)  # type: ignore[attr-defined]
        with pytest.raises(StoreAway) as failure:
            workspace.note("x" * 90_000)
        assert failure.value.kind == "disk_full"
        assert failure.value.exit_code == 75
        assert [record["body"]["text"] for record in workspace.history()] == ["one"]
    with holdfast.open() as workspace:
        workspace.note("two")
        assert len(workspace.history()) == 2


def test_a_clock_that_steps_back_is_no_error(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instants = iter([5 * clock.DAY, 3 * clock.DAY, 4 * clock.DAY])
    monkeypatch.setattr(clock, "now", lambda: next(instants))
    with holdfast.open() as workspace:
        for text in ("one", "two", "three"):
            workspace.note(text)
        assert [record["body"]["text"] for record in workspace.history()] == ["three", "two", "one"]
    assert "all whole" in call("verify").stdout


def test_a_machine_without_git(repository: Path) -> None:
    environment = {**os.environ, "PATH": "/nonexistent"}
    assert call("note", "one", env=environment).returncode == 0
    assert call("status", env=environment).returncode == 0
    assert call("doctor", env=environment).returncode == 0
    done = call("demo", env=environment)
    assert done.returncode == 1
    assert "git is not installed" in done.stderr


def test_a_folder_without_git_but_with_a_config(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text("")
    assert call("note", "one", cwd=tmp_path).returncode == 0
    assert not (tmp_path / ".holdfast/journal.db").exists()
    assert (tmp_path / ".notes/default.md").exists()


def test_the_demo_ends_well_and_leaves_nothing(tmp_path: Path) -> None:
    done = call("demo", env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    pack = done.stdout.partition("$ holdfast resume")[2].partition("3. A question")[0]
    for known in (
        "Don't change the signature of parse()",
        "python3 -m unittest -q test_parser (failed in the last call)",
        "ValueError: No closing quotation",
        "Next I pass",
    ):
        assert known in pack
    assert "Only a person may answer gate quotes" in done.stdout
    assert "deny: Stop now, checkpoint: Cost at $55.00" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert list(tmp_path.iterdir()) == []
