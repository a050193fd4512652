"""`holdfast` alone: where you are, and one command to type."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Holdfast


def test_a_saved_session_is_resumed(holdfast: Holdfast, repository: Path) -> None:
    holdfast("checkpoint", "--task", "Renderer", "--status", "half done", "--skip-git")
    answer = holdfast()
    assert answer.code == 0
    assert f"{repository}, branch main" in answer.out
    assert "saved" in answer.out
    assert "Renderer" in answer.out
    assert answer.out.splitlines()[-2] == "  holdfast resume"
    assert holdfast("resume").code == 0, "the command runs as it stands there"


def test_what_waits_comes_first(holdfast: Holdfast, repository: Path) -> None:
    holdfast("checkpoint", "--task", "Renderer", "--skip-git")
    holdfast("gate", "verify", "--built", "Dashboard", "--how", "look")
    data = holdfast("--json").data
    assert data["next"] == "holdfast gate list"
    assert "1 gate waits for a person; longest: Dashboard" in holdfast().out


def test_an_empty_repository_is_set_up_first(
    holdfast: Holdfast, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home" / ".claude").mkdir(parents=True)
    data = holdfast("--json").data
    assert (data["next"], data["set_up"], data["sessions"]) == ("holdfast init", False, [])
    assert not Path(".git/holdfast").exists(), "a look writes nothing"
    holdfast("init", "--client", "claude")
    data = holdfast("--json").data
    assert (data["next"], data["clients"]) == ("claude", ["claude"])
    assert "Set up for: Claude Code." in holdfast().out


def test_outside_of_a_project(
    holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "nothing"
    folder.mkdir()
    monkeypatch.chdir(folder)
    answer = holdfast()
    assert answer.code == 0
    assert "is in no project yet. Holdfast works in a git repository." in answer.out
    assert "To see what holdfast does, type:\n  holdfast demo\n" in answer.out


def test_another_folder(
    holdfast: Holdfast, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository.parent)
    assert holdfast("-C", str(repository), "--json").data["folder"] == str(repository)


def test_what_is_set_up_already_is_not_recommended_again(
    holdfast: Holdfast, repository: Path, tmp_path: Path
) -> None:
    for name in (".claude", ".codex"):
        (tmp_path / "home" / name).mkdir(parents=True)
    holdfast("init", "--client", "claude")
    assert holdfast("init", "--json").envelope["next"] == ["holdfast init --client codex"]
    assert "To do it: holdfast init --client codex\n" in holdfast("init").out
    holdfast("init", "--client", "codex")
    assert holdfast("init", "--json").envelope["next"] == []
    assert "Everything is in place already. Nothing was changed.\n" in holdfast("init").out
