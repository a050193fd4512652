"""`holdfast why`: whose idea a file or a line was."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Holdfast
from tests.conftest import Git
from tests.memory.conftest import SECRET, Put, claude_lines

RETRY, DATES = "11111111-aaaa-4000-8000-000000000001", "22222222-bbbb-4000-8000-000000000002"


def commit(git: Git, message: str, at: str) -> None:
    git("add", ".")
    git("-c", "user.name=Ada", "-c", "user.email=a@b", "commit", "-qm", message, f"--date={at}")


@pytest.fixture
def written(shop: Path, put: Put) -> Path:
    """The shop with what its sessions wrote; a third one rewrote one line later."""
    (shop / "pay.py").write_text("import gateway\n\nsend_once()\nby_hand()\n")
    put(
        shop,
        "77777777-aaaa-4000-8000-000000000007",
        [
            ("user", "Import the gateway first. Never import it lazily."),
            ("Edit", f"{shop / 'pay.py'}|import late|import gateway"),
            ("Bash", "pytest tests/test_pay.py"),
            ("passed", "1 passed"),
        ],
        "2026-11-16",
    )
    return shop


def test_a_file_names_the_sessions_that_wrote_it(written: Path, holdfast: Holdfast) -> None:
    found = holdfast("why", "--json", "pay.py").data
    newest, first = found["writers"]
    assert newest["session"].startswith("7777")
    assert newest["request"] == "Import the gateway first. Never import it lazily."
    assert "Never import it lazily." in newest["rulings"]
    assert newest["checks"] == ["pytest tests/test_pay.py"]
    assert first["session"] == RETRY
    assert first["checks"] == []
    assert first["failing"] == ["pytest tests/test_pay.py"]
    assert first["open"] == f"holdfast resume --session {RETRY}"
    shown = holdfast("why", "pay.py").out
    assert "    ruled    Never import it lazily." in shown
    assert "    passed   pytest tests/test_pay.py" in shown


def test_a_line_names_the_session_that_put_it_in(written: Path, holdfast: Holdfast) -> None:
    """None of it is committed: the recorded edits tell."""
    (writer,) = holdfast("why", "--json", "pay.py:3").data["writers"]
    assert writer["session"] == RETRY
    (writer,) = holdfast("why", "--json", "pay.py:1").data["writers"]
    assert writer["session"].startswith("7777")
    by_hand = holdfast("why", "pay.py:4")
    assert by_hand.code == 0
    assert "not committed" in by_hand.out
    assert "This line is not from a session that Holdfast knows." in by_hand.out


def test_renames_and_commits_are_followed(written: Path, git: Git, holdfast: Holdfast) -> None:
    commit(git, "Send once", "2026-11-10T12:00:00Z")
    git("mv", "pay.py", "charge.py")
    commit(git, "Rename", "2026-11-17T12:00:00Z")
    (writer,) = holdfast("why", "--json", "charge.py:3").data["writers"]
    assert writer["session"] == RETRY
    found = holdfast("why", "--json", "charge.py").data
    assert found["names"] == ["charge.py", "pay.py"]
    assert len(found["writers"]) == 2
    # Committed before the later session began: it can only be of an earlier one.
    assert holdfast("why", "--json", "charge.py:1").data["writers"] == []
    assert "Send once" in holdfast("why", "charge.py:1").out
    # A file that was removed is still known by its name.
    (written / "charge.py").unlink()
    commit(git, "Remove", "2026-11-18T12:00:00Z")
    assert len(holdfast("why", "--json", "pay.py").data["writers"]) == 2


def test_what_no_session_wrote_is_said_to_be(shop: Path, git: Git, holdfast: Holdfast) -> None:
    (shop / "notes.txt").write_text("one\n")
    commit(git, "Notes", "2026-11-10T12:00:00Z")
    assert (
        "notes.txt is not from a session that Holdfast knows." in holdfast("why", "notes.txt").out
    )
    assert holdfast("why", "--json", "notes.txt:1").data["origin"]["subject"] == "Notes"


@pytest.mark.parametrize(
    ("place", "code"), [("nosuch.py", 3), ("pay.py:99", 3), ("pay.py:0", 2), ("x\0y", 2), ("", 2)]
)
def test_a_place_that_is_none_is_refused(
    place: str, code: int, written: Path, holdfast: Holdfast
) -> None:
    answer = holdfast("why", place)
    assert answer.code == code, answer.err
    assert "error: " in answer.err


def test_a_name_with_a_number_behind_a_colon_is_a_name(written: Path, holdfast: Holdfast) -> None:
    (written / "pay.py:3").write_text("x\n")
    assert holdfast("why", "--json", "pay.py:3").data["line"] == 0


def test_no_secret_is_shown(shop: Path, put: Put, holdfast: Holdfast) -> None:
    said = [
        ("user", f"Never use {SECRET} here."),
        ("Edit", f"{shop / 'env.py'}|a|token = '{SECRET}'"),
    ]
    put(shop, "55555555-eeee-4000-8000-000000000005", said)
    (shop / "env.py").write_text(f"token = '{SECRET}'\n")
    answer = holdfast("why", "--json", "env.py:1")
    assert answer.data["writers"][0]["session"].startswith("5555")
    assert SECRET not in answer.out
    assert SECRET not in holdfast("why", "env.py:1").out
    assert os.path.exists(shop / "env.py")


def test_what_a_subagent_wrote_is_the_sessions(shop: Path, put: Put, holdfast: Holdfast) -> None:
    main = put(
        shop,
        "66666666-aaaa-4000-8000-000000000006",
        [("user", "Let a subagent write the mailer."), ("assistant", "It is written.")],
    )
    lines = claude_lines(
        str(shop),
        "66666666-aaaa-4000-8000-000000000006",
        [("Edit", f"{shop / 'mail.py'}|a|send_mail()")],
        "2026-11-10",
    )
    agent = main.with_suffix("") / "subagents" / "agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_text("".join(json.dumps({**one, "isSidechain": True}) + "\n" for one in lines))
    (shop / "mail.py").write_text("send_mail()\n")
    (writer,) = holdfast("why", "--json", "mail.py:1").data["writers"]
    assert writer["session"].startswith("66666666")
    assert [
        one["path"]
        for one in holdfast("find", "--json", "--here", "--file", "mail.py").data["hits"][0][
            "files"
        ]
    ] == ["mail.py"]


def test_a_program_of_an_archives_configuration_does_not_run(
    repository: Path, git: Git, holdfast: Holdfast, tmp_path: Path
) -> None:
    (repository / "one.txt").write_text("one\n")
    (repository / ".gitattributes").write_text("*.txt diff=evil\n")
    git("add", "--all")
    git("commit", "--quiet", "-m", "of the stranger")
    git("config", "diff.evil.textconv", f"touch {tmp_path / 'owned'}; cat")
    assert "of the stranger" in holdfast("why", "one.txt:1").out
    assert not (tmp_path / "owned").exists()
