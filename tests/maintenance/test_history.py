"""History in the words of people, and ids that are too short to act on."""

from __future__ import annotations

import os
import pty
import re
import sys
from pathlib import Path

import pytest

from holdfast.kernel import clock
from holdfast.session import client_process
from tests import warm
from tests.cli.conftest import Holdfast
from tests.conftest import Git

pytestmark = pytest.mark.usefixtures("repository")

PROGRAM = "import sys; from holdfast.cli.frame import run; sys.exit(run(sys.argv[1:]))"


def on_a_terminal(*words: str, columns: int = 80, typed: bytes = b"") -> str:
    """What a person sees in a terminal of this width."""
    ours, theirs = pty.openpty()
    program = f"import os; os.get_terminal_size = lambda *_: os.terminal_size(({columns}, 24))\n"
    child = warm.start(
        [sys.executable, "-c", program + PROGRAM, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "PAGER": "cat", "NO_COLOR": "1", "COLUMNS": str(columns)},
    )
    os.close(theirs)
    os.write(ours, typed)
    seen = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not chunk:
            break
        seen += chunk
    child.wait(30)
    os.close(ours)
    return seen.decode().replace("\r", "")


def test_a_checkpoint_says_what_was_done(holdfast: Holdfast) -> None:
    holdfast("checkpoint", "--task", "Renderer", "--status", "half done", "--remaining", "Parser")
    holdfast("checkpoint", "--done", "Renderer", "--decision", "TOML: simple")
    holdfast("checkpoint", "--status", "lexer works", "--blocker", "no grammar")
    holdfast("checkpoint", "--blocker", "")
    records = holdfast("history", "session:*", "--json").data["records"]
    assert [record["text"] for record in records] == [
        "no longer blocked",
        "Parser: lexer works · blocked: no grammar",
        "Renderer: half done → done · Parser: not started · decided: TOML",
        "Renderer: half done",
    ]


def test_a_checkpoint_that_only_states_the_next_action_says_it(holdfast: Holdfast) -> None:
    holdfast("checkpoint", "--next", "run the tests")
    holdfast("checkpoint", "--next", "run the tests")
    holdfast("checkpoint", "--auto", "--next", "something else")
    records = holdfast("history", "session:*", "--json").data["records"]
    texts = [record["text"] for record in records if record["kind"] == "captured"]
    assert texts[-1] == "next: run the tests"
    assert not [text for text in texts[:-1] if "next:" in text]


def test_a_checkpoint_that_states_nothing_new_says_so(holdfast: Holdfast, git: Git) -> None:
    holdfast("checkpoint")
    holdfast("checkpoint", "--next", "run the tests")
    holdfast("checkpoint")
    holdfast("checkpoint", "--reason", "session-split")
    records = holdfast("history", "session:*", "--kind", "captured", "--json").data["records"]
    nothing = f"no new task or next action, at commit {git('rev-parse', 'HEAD')[:8]}"
    texts = [record["text"] for record in records]
    assert texts == ["session-split", nothing, "next: run the tests", nothing]


def test_history_has_one_line_a_record_at_80_columns(holdfast: Holdfast) -> None:
    holdfast("checkpoint", "--task", "Renderer", "--status", "half done")
    holdfast("checkpoint", "--done", "Renderer", "--task", "A very long name of a task " * 5)
    holdfast("note", "text " * 60)
    holdfast("agent", "start", "Secondary-A", "--feature", "f1")
    holdfast("gate", "verify", "--built", "Dashboard", "--how", "look")
    count = len(holdfast("history", "--json").data["records"])
    lines = [line for line in on_a_terminal("history").splitlines() if line]
    lines = [line for line in lines if not line.startswith("next:")]
    assert len(lines) == count
    assert max(map(len, lines)) <= 80
    assert all(re.match(r"[0-9a-f]{8}  ", line) for line in lines)
    assert any("Renderer: half done → done" in line for line in lines)
    assert "captured" not in "\n".join(lines)


def test_the_list_of_snapshots_counts_what_show_lists(holdfast: Holdfast) -> None:
    for name in ("one", "two", "three"):
        Path(name).write_text(name)
        holdfast("snapshot", "create")
    Path("README.md").unlink(missing_ok=True)
    holdfast("snapshot", "create")
    listed = holdfast("snapshot", "list", "--json").data["snapshots"]
    assert len(listed) == 4
    for one in listed:
        shown = holdfast("snapshot", "show", one["id"], "--json").data
        assert one["holds"] == len(shown["changes"])
        count = "1 path" if one["holds"] == 1 else f"{one['holds']} paths"
        assert f"{count} differ" in holdfast("snapshot", "show", one["id"]).out
        (line,) = (
            line for line in holdfast("snapshot", "list").out.splitlines() if one["id"][:12] in line
        )
        assert count in line


def test_a_short_id_is_asked_about(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    (first,) = holdfast("history", "--json").data["records"]
    holdfast("note", "two")
    short = first["id"][:3]
    refused = holdfast("restore", short)
    assert refused.code == 2
    assert first["id"][:12] in refused.err
    assert "two" in Path(".notes/default.md").read_text()
    assert holdfast("restore", short, "--dry-run").code == 0
    asked = on_a_terminal("restore", short, typed=b"n\n")
    assert f"{short} is {first['id'][:12]}, note of note:default" in asked
    assert "two" in Path(".notes/default.md").read_text()
    on_a_terminal("restore", short, typed=b"y\n")
    assert "two" not in Path(".notes/default.md").read_text()
    assert holdfast("restore", first["id"][:6]).code == 0


def test_a_short_id_of_a_snapshot_is_asked_about(holdfast: Holdfast) -> None:
    Path("one").write_text("one")
    made = holdfast("snapshot", "create", "--json").data["id"]
    Path("one").write_text("changed")
    assert holdfast("snapshot", "restore", made[:4]).code == 2
    assert Path("one").read_text() == "changed"
    assert holdfast("snapshot", "restore", made[:6]).code == 0
    assert Path("one").read_text() == "one"


def test_a_checkpoint_of_a_terminal_does_not_stay_at_work(holdfast: Holdfast) -> None:
    holdfast("checkpoint", "--task", "Renderer")
    (one,) = holdfast("resume", "--list", "--json").data["sessions"]
    assert one["checkpoint"] == "saved"
    assert ", saved" in holdfast("resume", "--list").out


def test_a_session_of_a_running_client_is_at_work(holdfast: Holdfast) -> None:
    from holdfast.kernel.workspace import discover
    from holdfast.processes.agent_process import own_process
    from holdfast.session import session_files

    holdfast("checkpoint", "--session", "s1", "--task", "Renderer")
    workspace = discover()
    kept = {"client": "claude", "session": "s1", "process": None, "server": own_process()}
    session_files.keep(workspace, "s1", client_process.NAME, kept)
    (one,) = holdfast("resume", "--list", "--json").data["sessions"]
    assert one["checkpoint"] == "at work"
    assert client_process.lives(workspace, "s1", clock.now())
