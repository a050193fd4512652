"""The sessions of all clients in a folder, found without set-up; which client wrote a file."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from holdfast.clients import discovery, transcripts
from holdfast.clients.discovery import identify, session_at, sessions_in
from tests.clients.transcripts.conftest import SAMPLES, Hostile, sql

NOW = 1_794_840_000


def set_time(path: Path, seconds: int) -> Path:
    os.utime(path, (NOW + seconds, NOW + seconds))
    return path


class Home:
    """Writes sessions as the clients do."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def claude(self, cwd: Path | str, session: str, *, at: int = 0, prompt: str = "ask") -> Path:
        name = "".join(letter if letter.isalnum() else "-" for letter in str(cwd))
        lines: list[dict[str, Any]] = [
            {"type": "queue-operation", "sessionId": session, "content": prompt},
            {
                "type": "user",
                "message": {"role": "user", "content": prompt},
                "uuid": "u1",
                "cwd": str(cwd),
                "sessionId": session,
                "timestamp": "2026-11-16T10:00:00.000Z",
            },
        ]
        path = self.folder / ".claude" / "projects" / name / f"{session}.jsonl"
        return set_time(_write(path, lines), at)

    def codex(
        self, cwd: Path | str, session: str, *, at: int = 0, day: str = "2026/11/16", **meta: Any
    ) -> Path:
        payload = {"id": session, "cwd": str(cwd), "instructions": "be brief " * 2000, **meta}
        lines = [{"timestamp": "2026-11-16T10:00:00Z", "type": "session_meta", "payload": payload}]
        name = f"rollout-2026-11-16T10-00-00-{session}.jsonl"
        path = self.folder / ".codex" / "sessions" / day / name
        return set_time(_write(path, lines), at)

    def gemini(self, cwd: Path | str, session: str, *, at: int = 0, digest: bool = False) -> Path:
        name = hashlib.sha256(str(cwd).encode()).hexdigest() if digest else Path(cwd).name
        project = self.folder / ".gemini" / "tmp" / name
        head = {"sessionId": session, "projectHash": "p", "kind": "main"}
        path = project / "chats" / f"session-2026-11-16T10-00-{session}.jsonl"
        _write(path, [head])
        if not digest:
            (project / ".project_root").write_text(str(cwd))
        return set_time(path, at)

    def opencode(self, *sessions: tuple[str, Path | str, int]) -> Path:
        """(id, folder, time) each, in the database."""
        path = self.folder / ".local" / "share" / "opencode" / "opencode.db"
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(apsw.Connection(str(path))) as database:
            sql(database, "CREATE TABLE session (id, parent_id, directory, time_updated)")
            for id, cwd, at in sessions:
                row = (id, str(cwd), (NOW + at) * 1000)
                database.execute("INSERT INTO session VALUES (?, NULL, ?, ?)", row)
            sql(database, "INSERT INTO session SELECT 'child', id, directory, 9 FROM session")
        return path


def _write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def clients(home: Path) -> Home:
    return Home(home)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "proj"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def names(folder: Path | str, **options: Any) -> list[str]:
    return [session["session"] for session in sessions_in(str(folder), **options)]


def test_nobody_has_worked_here(home: Path, project: Path) -> None:
    assert sessions_in(str(project)) == []
    assert list(home.iterdir()) == [], "nothing was written"


def test_sessions_of_all_clients_come_newest_first(clients: Home, project: Path) -> None:
    clients.claude(project, "claude-1", at=10)
    clients.codex(project, "codex-1", at=30)
    clients.gemini(project, "gemini-1", at=20)
    clients.opencode(("ses_1", project, 40), ("ses_2", "/elsewhere", 50))
    found = sessions_in(str(project))
    assert [each["client"] for each in found] == ["opencode", "codex", "gemini", "claude"]
    assert {each["cwd"] for each in found} == {str(project)}
    assert [each["modified"] for each in found] == [(NOW + at) * 1000 for at in (40, 30, 20, 10)]


def test_the_variables_of_the_clients_are_heeded(
    clients: Home, project: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    clients.claude(project, "claude-1")
    clients.codex(project, "codex-1")
    clients.gemini(project, "gemini-1")
    clients.opencode(("ses_1", project, 0))
    monkeypatch.setenv("HOME", "/nowhere")
    assert names(project) == []
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / ".claude"))
    monkeypatch.setenv("CODEX_HOME", str(home / ".codex"))
    monkeypatch.setenv("GEMINI_CLI_HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / ".local" / "share"))
    assert sorted(names(project)) == ["claude-1", "codex-1", "gemini-1", "ses_1"]
    monkeypatch.setenv("OPENCODE_DB", "another.db")
    assert "ses_1" not in names(project)


def test_a_folder_below_belongs_to_its_work_tree(clients: Home, project: Path) -> None:
    below = project / "src" / "pkg"
    below.mkdir(parents=True)
    for make in (clients.claude, clients.codex, clients.gemini):
        make(below, f"{make.__name__}-below")
    clients.opencode(("opencode-below", below, 0))
    everywhere = {f"{client}-below" for client in ("claude", "codex", "gemini", "opencode")}
    assert set(names(project)) == everywhere
    assert set(names(below)) == everywhere
    clients.codex(project, "at-the-root", at=60)
    assert names(below)[0] == "at-the-root"
    assert names(project / "docs") == ["at-the-root"], "not what was done in src"


def test_another_work_tree_below_is_not_part_of_it(clients: Home, project: Path) -> None:
    other = project / ".worktrees" / "other"
    other.mkdir(parents=True)
    (other / ".git").write_text("gitdir: /somewhere/else\n")
    clients.claude(other, "claude-other")
    clients.codex(other, "codex-other")
    assert names(project) == []
    assert sorted(names(other)) == ["claude-other", "codex-other"]


def test_a_neighbour_with_a_similar_name_is_somebody_else(clients: Home, tmp_path: Path) -> None:
    for name in ("app", "app-two", "app/two", "apple"):
        (tmp_path / name).mkdir()
        session = name.replace("/", " below ")
        clients.claude(tmp_path / name, f"claude {session}")
        clients.codex(tmp_path / name, f"codex {session}")
    below = ["claude app below two", "codex app below two"]
    assert sorted(names(tmp_path / "app-two")) == ["claude app-two", "codex app-two"]
    assert sorted(names(tmp_path / "app/two")) == below
    assert sorted(names(tmp_path / "app")) == sorted(["claude app", "codex app", *below])


def test_a_folder_is_the_same_by_any_of_its_names(clients: Home, project: Path) -> None:
    link = project.parent / "link"
    link.symlink_to(project)
    clients.codex(link, "by-link", at=1)
    clients.claude(project, "by-name", at=2)
    assert names(project) == ["by-name", "by-link"]
    assert names(link) == ["by-name", "by-link"]


def test_a_rollout_that_was_taken_up_again_is_new(clients: Home, project: Path) -> None:
    clients.codex(project, "began-long-ago", at=90, day="2025/01/02")
    clients.codex(project, "began-today", at=10)
    assert names(project) == ["began-long-ago", "began-today"]
    assert names(project, enough=1) == ["began-long-ago"]


def test_subagents_are_no_sessions(clients: Home, project: Path) -> None:
    clients.codex(project, "child", session_id="parent")
    clients.codex(project, "spawned", source={"subagent": {"other": "x"}})
    clients.codex(project, "parent", session_id="parent")
    path = clients.claude(project, "claude-1")
    path.rename(path.with_name("agent-1.jsonl"))
    assert names(project) == ["parent"]


def test_an_old_rollout_names_its_folder_further_below(clients: Home, project: Path) -> None:
    path = clients.codex(project, "old")
    head: dict[str, Any] = {
        "id": "old",
        "timestamp": "2025-08-01T10:00:00Z",
        "instructions": None,
        "git": {},
    }
    text = f"<environment_context>\n<cwd>{project}</cwd>\n</environment_context>"
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    _write(path, [head, said])
    assert names(project) == ["old"]
    assert identify(str(path)) == "codex"


def test_a_long_first_prompt_hides_nothing(clients: Home, project: Path) -> None:
    clients.claude(project, "long", prompt="word " * 60_000)
    assert names(project) == ["long"]


def test_gemini_folders_named_by_a_digest(clients: Home, project: Path) -> None:
    clients.gemini(project, "x", digest=True)
    assert names(project) == ["x"]


def test_no_more_than_enough_of_each_client(clients: Home, project: Path) -> None:
    for number in range(8):
        clients.codex(project, f"codex-{number}", at=number)
        clients.claude(project, f"claude-{number}", at=number)
    assert names(project, enough=2) == ["claude-7", "codex-7", "claude-6", "codex-6"]
    assert names(project, enough=0) == []


@pytest.mark.matrix
@pytest.mark.parametrize("client", ["claude", "codex", "gemini", "opencode"])
def test_what_is_no_transcript_is_passed_over(
    clients: Home, project: Path, home: Path, hostile: Hostile, client: str
) -> None:
    paths = {
        "claude": lambda: clients.claude(project, "x").parent / "y.jsonl",
        "codex": lambda: clients.codex(project, "x").with_name("rollout-y.jsonl"),
        "gemini": lambda: clients.gemini(project, "x").with_name("session-y.jsonl"),
        "opencode": lambda: clients.opencode(("x", project, 0)).with_name("opencode-dev.db"),
    }
    path = paths[client]()
    path.parent.mkdir(parents=True, exist_ok=True)
    hostile(path)
    assert names(project) == ["x"]
    assert identify(str(path)) == ""
    assert session_at(str(path)) is None


@pytest.mark.matrix
@pytest.mark.parametrize("at", [".claude/projects", ".codex/sessions", ".gemini/tmp", ".local"])
def test_a_home_that_is_none_is_no_error(
    home: Path, project: Path, hostile: Hostile, at: str
) -> None:
    path = home / at
    path.parent.mkdir(parents=True, exist_ok=True)
    hostile(path)
    assert sessions_in(str(project)) == []


def test_a_folder_that_is_gone_is_asked_for(clients: Home, tmp_path: Path) -> None:
    clients.codex(tmp_path / "gone", "codex-1")
    clients.claude(tmp_path / "gone", "claude-1")
    assert sorted(names(tmp_path / "gone")) == ["claude-1", "codex-1"]


def test_each_clients_transcript_is_recognised(clients: Home, project: Path) -> None:
    made = {
        "claude": clients.claude(project, "claude-1"),
        "codex": clients.codex(project, "codex-1"),
        "gemini": clients.gemini(project, "gemini-1"),
        "opencode": clients.opencode(("ses_1", project, 0)),
    }
    assert {name: identify(str(path)) for name, path in made.items()} == {
        name: name for name in made
    }
    listed = {each["client"]: each for each in sessions_in(str(project))}
    for name, path in made.items():
        assert session_at(str(path)) == listed[name]  # type: ignore[index]


def test_other_files_are_no_clients(tmp_path: Path) -> None:
    for text in (
        '{"type":"user"}\n',
        '{"name":"package"}\n',
        "[]\n",
        "hello\n",
        '{"payload":{}}\n',
    ):
        path = tmp_path / "file.jsonl"
        path.write_text(text)
        assert identify(str(path)) == "", text
    with closing(apsw.Connection(str(tmp_path / "other.db"))) as database:
        sql(database, "CREATE TABLE session (id)")
    assert identify(str(tmp_path / "other.db")) == ""
    assert identify(str(tmp_path / "nul\0")) == ""


def test_a_session_is_described_in_one_line(home: Path, project: Path) -> None:
    chats = home / ".gemini" / "tmp" / "proj" / "chats"
    chats.mkdir(parents=True)
    (chats.parent / ".project_root").write_text(str(project))
    sample = (SAMPLES / "gemini.jsonl").read_bytes()
    (chats / "session-1.jsonl").write_bytes(sample)
    (found,) = sessions_in(str(project))
    about = transcripts.describe(found, [], str, now=found["modified"] + 3_600_000)
    assert about["request"] == "Keep the quotes in parser.py. Do not touch the tests."
    assert about["edits"] == 2, "the one that failed is none"
    assert about["open_tasks"] == ["Make the test pass"]
    assert about["age"] == 3_600_000
    assert about["alive"] == "ended"
    assert about["problem"] == ""


def test_a_long_request_is_one_short_line(clients: Home, project: Path) -> None:
    clients.claude(project, "long", prompt="keep\nthe   quotes " * 5000)
    (found,) = sessions_in(str(project))
    line = transcripts.describe(found, [], str, now=0)["request"]
    assert line.startswith("keep the quotes keep the quotes")
    assert len(line) == transcripts.LONGEST_REQUEST
    assert line.endswith("…")


def test_a_session_that_cannot_be_read_is_described_all_the_same(
    clients: Home, project: Path
) -> None:
    path = clients.codex(project, "codex-1")
    (found,) = sessions_in(str(project))
    path.unlink()
    about = transcripts.describe(found, [], str, now=0)
    assert about["problem"] == "is gone"
    assert about["request"] == ""


def test_only_new_lines_are_read_and_a_replaced_transcript_is_read_again(
    clients: Home, project: Path
) -> None:
    path = clients.claude(project, "s", prompt="first")
    (found,) = sessions_in(str(project))
    first = transcripts.read_new(found)
    assert [event.text for event in first["events"] if event.kind == "prompt"] == ["first"]
    kept = json.loads(json.dumps(first["progress"]))
    again = transcripts.read_new(found, kept)
    assert (again["events"], again["restarted"]) == ([], False)
    path.unlink()
    clients.claude(project, "s", prompt="other and longer than the first one")
    replaced = transcripts.read_new(found, again["progress"])
    assert replaced["restarted"]
    assert [event.text for event in replaced["events"] if event.kind == "prompt"] == [
        "other and longer than the first one"
    ]


def test_thousands_of_rollouts_of_other_folders_do_not_hide_ours(
    clients: Home, project: Path
) -> None:
    clients.codex(project, "ours", at=-1000)
    for number in range(1000):
        clients.codex(f"/other/{number % 7}", f"other-{number}", at=number)
    assert names(project) == ["ours"]
    assert discovery.MOST_FILES > 1000
