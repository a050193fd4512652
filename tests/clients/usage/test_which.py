"""Which session is meant: the named one, the surrounding one, or the one at work here last."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.clients.discovery import sessions_since
from holdfast.kernel.errors import Usage
from tests.clients.usage.conftest import Home, answer, sample
from tests.clients.usage.test_others import CHAT, MODEL_THREAD


def _age(path: Path, seconds: int) -> None:
    os.utime(path, (seconds, seconds))


def test_without_any_clients_files_nothing_is_known(home: Home) -> None:
    spent = home.spent()
    assert spent["cost"] is None
    assert spent["sure"] == "unknown"
    assert spent["sources"] == []
    assert spent["context_percent"] is None


def test_the_newest_transcript_of_this_worktree(home: Home) -> None:
    _age(home.claude(answer(1), "older"), 1000)
    _age(home.claude(answer(1), "newer"), 2000)
    assert home.spent()["session"] == "newer"


def test_of_several_clients_the_one_that_wrote_last(home: Home) -> None:
    _age(home.claude(answer(1)), 1000)
    _age(home.codex(sample("codex.model.jsonl"), MODEL_THREAD), 3000)
    _age(home.gemini(sample("gemini.tool.jsonl"), CHAT), 2000)
    assert home.spent()["client"] == "codex"


def test_a_transcript_of_another_folder_is_not_ours(home: Home) -> None:
    home.codex(
        sample("codex.model.jsonl").replace("/home/dev/proj", "/home/dev/other"), MODEL_THREAD
    )
    home.gemini(sample("gemini.tool.jsonl"), CHAT)
    (home.root / ".gemini/tmp/project/.project_root").write_text("/home/dev/other")
    assert home.spent()["sources"] == []


@pytest.mark.parametrize(
    "variable", ["CLAUDE_CODE_SESSION_ID", "GEMINI_SESSION_ID", "CODEX_SESSION_ID"]
)
def test_the_session_that_we_run_in(
    home: Home, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    home.claude(answer(1), "newest-here")
    home.claude(answer(1) + answer(2), "mine")
    home.codex(sample("codex.model.jsonl"), MODEL_THREAD)
    home.gemini(sample("gemini.tool.jsonl"), CHAT)
    mine = {"CLAUDE": "mine", "CODEX_": MODEL_THREAD, "GEMINI": CHAT}[variable[:6]]
    monkeypatch.setenv(variable, mine)
    assert home.spent()["session"] == mine


def test_our_own_session_without_a_file_is_not_taken_for_another(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.claude(answer(1), "somebody-elses")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "mine")
    spent = home.spent()
    assert spent["session"] == "mine"
    assert spent["cost"] is None


def test_a_session_that_a_hook_captured_in_a_folder_below(home: Home) -> None:
    """Its transcript is filed under the folder in which the client was started."""
    path = home.claude(answer(1), "below")
    folder = path.parent.with_name(path.parent.name + "-source")
    folder.mkdir()
    path.rename(folder / path.name)
    assert home.spent()["sources"] == []
    from holdfast.cli.frame import run

    assert run(["checkpoint", "--session", "below", "--skip-git", "--skip-tracker"]) == 0
    assert home.spent()["session"] == "below"


@pytest.mark.parametrize("id", ["../../etc/passwd", "a/b", "..", "a\nb"])
def test_an_id_that_is_a_path_is_refused(home: Home, id: str) -> None:
    with pytest.raises(Usage):
        home.spent(id)


def test_another_home_of_claude_is_where_its_variable_says(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home.root / "elsewhere"))
    home.claude(answer(1))
    assert (home.root / "elsewhere/projects").is_dir()
    assert home.spent()["session"] == "s"


def test_all_sessions_since_an_instant_count_whichever_client_wrote_them(home: Home) -> None:
    _age(home.claude(answer(1), "older"), 1000)
    _age(home.claude(answer(1), "newer"), 2000)
    threads = [MODEL_THREAD, MODEL_THREAD.replace("0", "1")]
    for thread in threads:
        content = sample("codex.model.jsonl").replace(MODEL_THREAD, thread)
        _age(home.codex(content, thread), 3000)
    found = sessions_since(str(home.repository), 2_000_000)
    assert sorted(found) == sorted(["newer", *threads])


def test_a_database_of_opencode_is_where_its_variable_says(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.opencode().close()
    usual = home.root / ".local/share/opencode/opencode.db"
    elsewhere = usual.rename(home.root / "mine.db")
    assert home.spent()["sources"] == []
    monkeypatch.setenv("OPENCODE_DB", str(elsewhere))
    spent = home.spent()
    assert spent["client"] == "opencode"
    assert spent["cost"]
    assert [one["path"] for one in spent["sources"]] == [str(elsewhere)]
