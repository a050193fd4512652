"""The hook path: light, durable, and it never fails its host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

import holdfast
from holdfast.hooks.run import command
from holdfast.kernel import failures, latch
from holdfast.kernel.text import split_words
from holdfast.kernel.workspace import discover
from tests.hooks.loaded import loaded_by_entry

# What may be loaded besides our own modules: the interpreter's, and these. design.md has the prices.
ALLOWED = {
    "gc",
    "apsw",
    "_ctypes",
    "fcntl",
    "errno",
    "time",
    "pwd",
    "_json",
    "_sha256",
    "_sha2",
}
STARTUP = set(
    split_words(
        "__future__ __main__ _abc _codecs _collections _collections_abc _io "
        "_frozen_importlib _frozen_importlib_external _imp _operator _signal _stat "
        "_struct _thread _warnings _weakref abc builtins codecs collections "
        "collections.abc encodings encodings.aliases encodings.utf_8 genericpath io "
        "itertools keyword marshal operator os os.path posix posixpath reprlib stat "
        "struct sys types zipimport _types _datetime"
    )
)
PAYLOAD = {"text": "Halfway through the parser.", "by": "agent-7"}


def start(payload: bytes | dict[str, Any], *arguments: str) -> subprocess.CompletedProcess[bytes]:
    text = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    words = arguments or ("note",)
    return subprocess.run(command(*words), input=text, capture_output=True, check=False)


def answer(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert isinstance(value, dict)
    return value


def test_a_hook_makes_a_durable_record_and_a_view(repository: Path) -> None:
    said = answer(start(PAYLOAD))
    with holdfast.open() as workspace:
        (record,) = workspace.history()
    assert record["id"] == said["id"]
    assert record["actor"] == "agent-7"
    assert "agent-7: Halfway through the parser." in Path(".notes/default.md").read_text()


def test_only_modules_of_the_list_are_loaded(repository: Path) -> None:
    """Twice: the first run makes the journal, the second is what happens a thousand times a day."""
    start(PAYLOAD)
    loaded = loaded_by_entry(command("note"), json.dumps(PAYLOAD).encode())
    assert "holdfast.kernel.writer" in loaded
    foreign = {name for name in loaded if not name.startswith("holdfast")} - STARTUP - ALLOWED
    assert foreign == set()


def test_a_sessions_start_with_a_pack_loads_no_heavy_module(repository: Path) -> None:
    """It asks git, and renders the pack of a session that was read before: no pattern is compiled."""
    with holdfast.open() as workspace:
        workspace.checkpoint(session="before", next="keep the quotes")
    told = {"session_id": "s1", "cwd": str(repository), "source": "startup"}
    answered = start({**told, "session_id": "s0"}, "claude", "SessionStart")
    assert b"keep the quotes" in answered.stdout
    loaded = loaded_by_entry(command("claude", "SessionStart"), json.dumps(told).encode())
    heavy = {"re", "json", "enum", "typing", "subprocess", "contextlib", "threading", "tomllib"}
    assert "holdfast.git.status" in loaded
    assert heavy & set(loaded) == set()
    assert [name for name in loaded if name.endswith(".transcript")] == []


def test_text_that_looks_like_a_secret_may_load_the_rules(repository: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    answer(start({"text": f"use {token}"}))
    assert token not in Path(".notes/default.md").read_text()


def test_the_same_id_again_changes_nothing(repository: Path) -> None:
    for _ in range(2):
        answer(start({**PAYLOAD, "id": "turn-12"}))
    with holdfast.open() as workspace:
        assert len(workspace.history()) == 1


@pytest.mark.parametrize(
    "payload",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"text": ""}', b'{"text": 7, "name": "../../up"}'],
)
def test_a_bad_payload_lets_the_agent_go_on_and_is_written_down(
    repository: Path, payload: bytes
) -> None:
    said = answer(start(payload))
    assert said["failed"]
    (failure,) = failures.read(discover())
    assert failure["reason"] == said["failed"]
    assert failure["hook"] == "note"


def test_an_unknown_hook_lets_the_agent_go_on(repository: Path) -> None:
    done = start(PAYLOAD, "claude", "Dance")
    assert (done.returncode, done.stdout) == (0, b""), "a client gets nothing it cannot read"
    (failure,) = failures.read(discover())
    assert "no hook for Claude's Dance" in failure["reason"]


def test_outside_of_any_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "in no workspace" in answer(start(PAYLOAD))["failed"]
    assert list(tmp_path.iterdir()) == []


def test_a_newer_journal_is_refused(repository: Path) -> None:
    start(PAYLOAD)
    other = apsw.Connection(".git/holdfast/journal.db")
    other.execute("PRAGMA user_version = 99").fetchall()
    assert "format 99" in answer(start(PAYLOAD))["failed"]


def test_the_latch_is_told_even_when_the_journal_is_damaged(repository: Path) -> None:
    start(PAYLOAD)
    latch.engage(discover(), "The budget is spent.", by="guard", now=0)
    assert answer(start(PAYLOAD))["stopped"] == "The budget is spent."
    for name in os.listdir(".git/holdfast"):
        if name.startswith("journal.db"):
            Path(".git/holdfast", name).write_bytes(b"garbage" * 999)
    said = answer(start(PAYLOAD))
    assert said["stopped"] == "The budget is spent."
    assert "damaged" in said["failed"]


def test_a_closed_standard_output_does_not_matter(repository: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        command("note"), input=json.dumps(PAYLOAD).encode(), stdout=writing, check=False
    )
    os.close(writing)
    assert done.returncode == 0
    with holdfast.open() as workspace:
        assert len(workspace.history()) == 1


def test_python_startup_settings_of_the_user_do_not_matter(repository: Path) -> None:
    """A PYTHONPATH with a broken `json` in it must not break the hook."""
    Path("json.py").write_text("raise RuntimeError('not mine')")
    environment = {**os.environ, "PYTHONPATH": str(repository), "PYTHONSTARTUP": "json.py"}
    done = subprocess.run(
        command("note"), input=json.dumps(PAYLOAD).encode(), capture_output=True, env=environment
    )
    assert "failed" not in answer(done)
    assert sys.executable == command("note")[0]
