"""A client that cannot be had is named with the reason, and is not called tested."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from scripts import clients


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(clients, "FOLDER", tmp_path)
    return tmp_path


def test_without_npm_each_client_says_why_it_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert clients.main(["codex"]) == 0, "the others are tested all the same"
    assert "codex 0.166.0: npm is not installed" in capsys.readouterr().err
    assert clients.why_missing("codex") == "codex: npm is not installed"


def test_what_npm_says_is_the_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    npm = programs / "npm"
    npm.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('npm error 404 Not Found')\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    assert clients.install("gemini") == "npm install failed: npm error 404 Not Found"


def test_one_that_was_never_installed_says_how() -> None:
    assert "make test-clients" in clients.why_missing("claude")


def test_another_version_than_the_one_that_was_looked_at_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    package = folder / "claude" / "node_modules" / "@anthropic-ai" / "claude-code"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": "2.1.197"}')
    program = clients.program_of("claude")
    program.parent.mkdir()
    program.touch()
    monkeypatch.setenv("PATH", str(folder))
    assert clients.install("claude") == "npm is not installed", "it is installed anew"


def test_a_name_that_is_no_clients_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert clients.main(["emacs"]) == 2
    assert "claude, codex, gemini, opencode, qwen, copilot, inspector" in capsys.readouterr().err
