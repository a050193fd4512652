"""What a person reads while the server is away: what lies on this disk needs no server."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

import holdfast as library
from tests.cli.conftest import Holdfast
from tests.remote.world import Machine, Outage

SESSION = "11111111-2222-4333-8444-555555555555"
REQUEST = "Make the greeting polite"
AWAY = "The server is away, so this is what this machine knows"


@pytest.fixture
def transcript(machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A session of Claude Code that edited a file; the edit was lost since."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    root = machine.root.resolve()
    (root / "greeting.txt").write_text("hello\n")
    edit = {
        "file_path": str(root / "greeting.txt"),
        "old_string": "hello",
        "new_string": "good day",
    }
    facts = {"sessionId": SESSION, "cwd": str(root)}
    lines = [
        {"type": "user", "message": {"role": "user", "content": REQUEST}},
        {
            "type": "assistant",
            "message": {
                "id": "m1",
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "Edit", "input": edit}],
            },
        },
        {
            "type": "user",
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}],
            },
            "toolUseResult": {"filePath": edit["file_path"], "originalFile": "hello\n"},
        },
    ]
    folder = tmp_path / "home/.claude/projects" / re.sub(r"[^A-Za-z0-9]", "-", str(root))
    folder.mkdir(parents=True)
    path = folder / f"{SESSION}.jsonl"
    stamped = [
        {**facts, "uuid": f"u{number}", "timestamp": f"2026-11-17T10:00:0{number}.000Z", **line}
        for number, line in enumerate(lines)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in stamped))
    machine.go()
    return path


def test_resume_reads_the_transcript_that_is_on_this_disk(
    transcript: Path, outage: Outage, holdfast: Holdfast
) -> None:
    outage.begin()
    for words in (("resume",), ("resume", "--transcript", str(transcript))):
        said = holdfast(*words)
        assert said.code == 0, said
        assert REQUEST in said.out
        assert said.err.count(AWAY) == 1, "said once"
        assert "notes, and the work of other machines, are missing" in said.err
        assert "postgresql://" in said.err
        assert "Kept here" not in said.err, "a reader keeps nothing"


def test_the_list_and_the_overview_come_from_transcripts(
    transcript: Path, outage: Outage, holdfast: Holdfast
) -> None:
    outage.begin()
    for words in (("resume", "--list"), ()):
        said = holdfast(*words)
        assert said.code == 0, said
        assert REQUEST in said.out
        assert AWAY in said.err
    assert holdfast("resume", "--list", "--json").data["sessions"][0]["session"] == SESSION


def test_edits_need_no_server_at_all(transcript: Path, outage: Outage, holdfast: Holdfast) -> None:
    outage.begin()
    said = holdfast("edits")
    assert (said.code, said.err) == (0, "")
    assert "+good day" in said.out
    assert holdfast("edits", "--apply").code == 0
    assert Path("greeting.txt").read_text() == "good day\n"


def test_resume_shows_the_checkpoint_that_this_machine_keeps(
    machine: Machine, outage: Outage, holdfast: Holdfast
) -> None:
    said = holdfast("checkpoint", "--session", "s1", "--task", "on the way", "--skip-git")
    assert said.code == 0, said
    machine.forward()
    outage.begin()
    found = holdfast("resume")
    assert found.code == 0, found
    assert "on the way" in found.out
    assert AWAY in found.err


def test_nothing_to_resume_says_that_the_server_may_know_more(
    machine: Machine, outage: Outage, holdfast: Holdfast
) -> None:
    outage.begin()
    refused = holdfast("resume")
    assert refused.code == 3
    assert "That is what this machine knows" in refused.err
    assert "No server answers" in refused.err


def test_a_network_that_swallows_everything_is_waited_for_once(
    transcript: Path, outage: Outage, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_URL", f"{outage.network.url}?connect_timeout=2")
    outage.network.swallows = True
    start = time.monotonic()
    said = holdfast("resume")
    assert time.monotonic() - start < 4, "one wait"
    assert said.code == 0, said
    assert REQUEST in said.out


def test_a_program_learns_why_it_got_less(transcript: Path, outage: Outage) -> None:
    with library.open() as workspace:
        assert workspace.resume()["session"] == SESSION
        assert workspace.away == ""
    outage.begin()
    with library.open() as workspace:
        assert REQUEST in workspace.resume()["pack"]
        assert "No server answers" in workspace.away
        assert [one["session"] for one in workspace.sessions()] == [SESSION]
