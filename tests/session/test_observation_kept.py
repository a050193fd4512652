"""What holdfast keeps of a client's transcript: redacted when it comes in, and erasable afterwards."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.hooks.after_turn import after_turn
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from tests.cli.conftest import Holdfast
from tests.clients.usage import conftest as usage
from tests.clients.usage.conftest import Home
from tests.session.world import every_byte_under

home, holdfast = usage.home, usage.holdfast

SECRET = "the-word-of-the-day"
KEY = "-----BEGIN DAY WORD-----\nbm90IGEga2V5\nb25seSBhIHRlc3Q\n-----END DAY WORD-----"
TOKEN = "ghp_" + "a1B2" * 9


def said_by_person(text: str, number: int = 0) -> str:
    return _line("user", number, text)


def call(tool: str, given: dict[str, Any], number: int) -> str:
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": given}
    return _line("assistant", number, [block])


def result(text: str, number: int, *, failed: bool) -> str:
    block = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}
    return _line("user", number, [{**block, "is_error": failed}])


def _line(role: str, number: int, content: Any) -> str:
    record = {
        "type": role,
        "uuid": f"{role}-{number}",
        "sessionId": "s",
        "cwd": str(Path.cwd()),
        "timestamp": clock.precise(clock.parse("2026-11-15T18:00:00Z") + number * 1000),
        "message": {"id": f"msg_{number}", "role": role, "content": content},
    }
    return json.dumps(record) + "\n"


def everything_kept(home: Home) -> bytes:
    """All bytes in the repository: journal, tally, views and the files beside them."""
    discover(str(home.repository)).close()
    files = [file for file in home.repository.rglob("*") if file.is_file()]
    return b"".join(file.read_bytes() for file in files)


def purge(holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert holdfast("purge", "--matching", "--yes").code == 0


def observe(home: Home, path: Path) -> None:
    after_turn(home.workspace, "claude", "s", str(path), usage.NOW)


def a_session_with(secret: str) -> str:
    return "".join(
        [
            said_by_person(f"Use the word {secret} and never print it."),
            call("TodoWrite", {"todos": [{"content": f"Send {secret}", "status": "pending"}]}, 1),
            result("ok", 1, failed=False),
            call("Bash", {"command": f"./send --word {secret}"}, 2),
            result(f"refused: {secret}", 2, failed=True),
            call("Edit", {"file_path": f"{secret}.py", "old_string": "a", "new_string": "b"}, 3),
            result("ok", 3, failed=False),
            call("Bash", {"command": f"cd {secret}"}, 4),
        ]
    )


def test_purge_reaches_the_observation_in_records_state_view_and_tally(
    home: Home, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home.claude(a_session_with(SECRET))
    observe(home, path)
    assert holdfast("checkpoint", "--session", "s", "--auto").code == 0
    assert SECRET.encode() in everything_kept(home)
    purge(holdfast, monkeypatch, SECRET)
    assert SECRET.encode() not in everything_kept(home)
    assert "whole" in holdfast("verify").out


def test_a_purged_secret_does_not_come_back_with_the_next_turn(
    home: Home, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home.claude(a_session_with(SECRET))
    observe(home, path)
    purge(holdfast, monkeypatch, SECRET)
    path.write_text(path.read_text() + call("Bash", {"command": "make test"}, 5))
    observe(home, path)
    resumed = holdfast("resume").out
    assert "make test" in resumed
    assert "Use the word [purged] and never print it." in resumed
    assert SECRET.encode() not in everything_kept(home)


def test_purge_finds_a_text_of_several_lines_that_was_kept_on_one(
    home: Home, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts = ("Go on.", f"Never send {KEY}!", "And now?")
    lines = [said_by_person(prompt, number) for number, prompt in enumerate(prompts)]
    observe(home, home.claude("".join(lines)))
    assert b"bm90IGEga2V5 b25seSBhIHRlc3Q" in everything_kept(home)
    purge(holdfast, monkeypatch, KEY)
    assert b"bm90IGEga2V5" not in everything_kept(home)


def test_erasing_one_record_of_an_observation_forgets_what_the_tally_kept(
    home: Home, holdfast: Holdfast
) -> None:
    observe(home, home.claude(a_session_with(SECRET)))
    records = [one for one in home.workspace.journal.since(0) if one["kind"] == "observed"]
    assert holdfast("purge", records[0]["id"], "--yes").code == 0
    assert SECRET.encode() not in everything_kept(home)


def test_erasing_what_a_terminal_observed_forgets_the_clients_session(
    home: Home, holdfast: Holdfast
) -> None:
    home.claude(a_session_with(SECRET))
    holdfast("checkpoint", "--skip-git")
    (record,) = [one for one in home.workspace.journal.since(0) if one["kind"] == "observed"]
    assert record["body"]["session"] == "s"
    journal_and_tally = Path(home.workspace.home)
    assert SECRET.encode() in every_byte_under(journal_and_tally)
    assert holdfast("purge", record["id"], "--yes").code == 0
    assert SECRET.encode() not in every_byte_under(journal_and_tally)


def test_every_part_of_a_transcript_is_redacted_before_it_is_kept(home: Home) -> None:
    # The last call has no result yet: what its reader remembers of it is kept, too.
    waiting = call("TaskCreate", {"subject": f"Rotate {TOKEN}", "description": TOKEN}, 9)
    observe(home, home.claude(a_session_with(TOKEN) + waiting))
    kept = everything_kept(home)
    assert b"[redacted:github-token]" in kept
    assert TOKEN.encode() not in kept


def test_a_prompt_of_codex_is_redacted_before_it_is_kept(home: Home) -> None:
    thread = "01993a55-0000-7000-8000-000000000001"
    lines = [
        {"type": "session_meta", "payload": {"id": thread, "cwd": "/home/dev/proj"}},
        {
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": f"Use {TOKEN}."}],
            },
        },
    ]
    at = "2026-11-15T18:02:25.000Z"
    text = "".join(json.dumps({"timestamp": at, **line}) + "\n" for line in lines)
    after_turn(home.workspace, "codex", thread, str(home.codex(text, thread)), usage.NOW)
    kept = everything_kept(home)
    assert b"Use [redacted:github-token]." in kept
    assert TOKEN.encode() not in kept


def test_with_observation_off_no_transcript_is_read_or_kept(home: Home, holdfast: Holdfast) -> None:
    path = home.claude(a_session_with(SECRET))
    (home.repository / "holdfast.toml").write_text("[session]\nobserve = false\n")
    observe(home, path)
    assert SECRET.encode() not in everything_kept(home)
    assert holdfast("resume", "--list", "--json").data["sessions"] == []
    resumed = holdfast("resume")
    assert resumed.code == 3
    assert "`session.observe` is false" in resumed.err
    assert SECRET in holdfast("resume", "--transcript", str(path)).out
    assert SECRET.encode() not in everything_kept(home)
