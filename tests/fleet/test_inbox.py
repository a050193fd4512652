"""Sending and the inbox: real files of an epic, and the two commands in front of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from holdfast.fleet import messages as inbox
from holdfast.fleet.context import FleetContext
from holdfast.fleet.epic import Epic, find
from holdfast.fleet.messages import unread_count
from holdfast.fleet.rules import comms
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from tests.cli import conftest as command_line
from tests.cli.conftest import Holdfast

holdfast = command_line.holdfast
AT = clock.parse("2026-01-15T15:00:00Z")
COMMS = Path("epics/kai/agent_comms")


@pytest.fixture
def epic(repository: Path) -> Epic:
    Path("epics/kai").mkdir(parents=True)
    return find(discover(str(repository)), "epics/kai")


def context(epic: Epic) -> FleetContext:
    return FleetContext(epic, epic.workspace, actor="tester", now=AT)


def send(epic: Epic, sender: str, receiver: str, subject: str, warns: str = "") -> None:
    fields = {"subject": subject}
    inbox.write_message(context(epic), epic, sender, receiver, fields, warns=warns)


def test_an_inbox_is_every_file_to_the_agent(epic: Epic) -> None:
    send(epic, "Agent-Primary", "Secondary-A", "from the primary")
    send(epic, "Secondary-B", "Secondary-A", "from a peer")
    send(epic, "Agent-Primary", "Secondary-A-New", "to another")
    send(epic, "Secondary-A", "Agent-Primary", "an answer")
    found = [
        (path, [one["subject"] for one in each])
        for path, each in inbox.read_inbox(epic, "Secondary-A")
    ]
    assert found == [
        ("agent_comms/primary_to_secondary_a.md", ["from the primary"]),
        ("agent_comms/secondary_b_to_secondary_a.md", ["from a peer"]),
    ]
    assert unread_count(epic, "Secondary-A") == 2
    assert unread_count(epic, "Secondary-A-New") == 1
    assert unread_count(epic, "Agent-Primary") == 1
    assert unread_count(epic, "Secondary-C") == 0


def test_files_that_a_shell_wrote_count_and_can_be_read(epic: Epic) -> None:
    COMMS.mkdir()
    by_hand = COMMS / "secondary_b_to_secondary_a.md"
    subprocess.run(
        [
            "sh",
            "-c",
            f"printf '# Messages: Secondary-B → Secondary-A\\n\\n## Message 1 (x) ⏳ UNREAD\\nhi\\n' > {by_hand}",
        ],
        check=True,
    )
    (COMMS / "primary_to_secondary_a.md").symlink_to("/etc/hostname")
    assert unread_count(epic, "Secondary-A") == 1
    shown = {"agent_comms/secondary_b_to_secondary_a.md": [1]}
    inbox.mark_read(context(epic), epic, "Secondary-A", shown)
    assert "## Message 1 (x) ✅ READ\nhi\n" in by_hand.read_text("utf-8")
    assert unread_count(epic, "Secondary-A") == 0


def test_only_what_was_shown_is_marked(epic: Epic) -> None:
    send(epic, "Agent-Primary", "Secondary-A", "one")
    send(epic, "Agent-Primary", "Secondary-A", "two")
    shown = {"agent_comms/primary_to_secondary_a.md": [1]}
    inbox.mark_read(context(epic), epic, "Secondary-A", shown)
    ((_, found),) = inbox.read_inbox(epic, "Secondary-A")
    assert [(one["subject"], one["read"]) for one in found] == [("two", False), ("one", True)]
    assert inbox.mark_read(context(epic), epic, "Secondary-A", shown) == []


@pytest.mark.clause("FLEET-48", "AMB-FLEET-03")
def test_the_inbox_gets_one_warning_for_a_checkpoint(epic: Epic) -> None:
    last = "2026-01-15T14:28:00Z"
    warning = comms.warning(clock.parse(last), 32)
    for _ in range(2):
        inbox.write_message(
            context(epic), epic, "Agent-Primary", "Secondary-A", warning, warns=last
        )
    ((path, found),) = inbox.read_inbox(epic, "Secondary-A")
    assert path == "agent_comms/primary_to_secondary_a.md"
    assert [one["subject"] for one in found] == ["CHECKPOINT WARNING - No Update in 30 Minutes"]


def test_a_deleted_file_is_there_again_with_the_next_message(epic: Epic) -> None:
    send(epic, "Agent-Primary", "Secondary-A", "one")
    (COMMS / "primary_to_secondary_a.md").unlink()
    send(epic, "Agent-Primary", "Secondary-A", "two")
    assert unread_count(epic, "Secondary-A") == 2


def test_two_archives_of_one_minute_are_two_files(epic: Epic) -> None:
    moved = []
    for subject in ("one", "two"):
        send(epic, "Agent-Primary", "Secondary-A", subject)
        moved += inbox.move_aside(context(epic), epic, "Secondary-A")
    assert inbox.move_aside(context(epic), epic, "Secondary-A") == []
    names = [Path(to).name for _, to in moved]
    assert names == [
        "primary_to_secondary_a_20260115_1500.md",
        "primary_to_secondary_a_20260115_1500_2.md",
    ]
    for name, subject in zip(names, ("one", "two"), strict=True):
        kept = (COMMS / "archive" / name).read_text("utf-8")
        assert [one["subject"] for one in comms.parse(kept)] == [subject]
    assert unread_count(epic, "Secondary-A") == 0


def test_sending_and_reading_on_the_command_line(holdfast: Holdfast, epic: Epic) -> None:
    words = ("--subject", "Team rankings", "--action", "Use the CSV", "--epic", "epics/kai")
    sent = holdfast("agent", "send", "Secondary-A", *words)
    assert (sent.code, sent.out) == (
        0,
        "Message 1 to Secondary-A in agent_comms/primary_to_secondary_a.md\n",
    )
    look = ("agent", "inbox", "Secondary-A", "--epic", "epics/kai")
    kept = holdfast(*look, "--keep-unread")
    assert "1 new" in kept.out
    assert "Team rankings" in kept.out
    assert unread_count(epic, "Secondary-A") == 1
    first = holdfast(*look, "--json")
    assert first.data["unread"] == 1
    assert first.data["files"][0]["messages"][0]["action"] == "Use the CSV"
    assert unread_count(epic, "Secondary-A") == 0
    assert holdfast(*look, "--unread").out == "No unread message.\n"
    assert holdfast(*look, "--archive").code == 0
    assert holdfast(*look).out == "No messages yet.\n"
    assert len(list((COMMS / "archive").iterdir())) == 1


def test_a_missing_inbox_is_made_and_said_to_have_been(holdfast: Holdfast, epic: Epic) -> None:
    look = ("agent", "inbox", "Secondary-A", "--epic", "epics/kai")
    assert holdfast(*look, "--keep-unread").err == ""
    assert not COMMS.exists()
    made = holdfast(*look)
    assert (made.code, made.out) == (0, "No messages yet.\n")
    assert "was missing" in made.err
    assert (COMMS / "primary_to_secondary_a.md").read_text("utf-8") == comms.empty(
        "Agent-Primary", "Secondary-A"
    )
    assert holdfast(*look).err == ""


def test_the_wrong_words_are_said_to_be_wrong(holdfast: Holdfast, epic: Epic) -> None:
    for words, code in (
        (("send", "Secondary-A", "--subject", " "), 2),
        (("send", "../Secondary-A", "--subject", "x"), 2),
        (("send", "Secondary-A", "--from", "Secondary-A", "--subject", "x"), 2),
        (("send", "Secondary-A", "--subject", "x", "--epic", "nowhere"), 3),
        (("send", "Secondary-A"), 2),
        (("inbox", "nobody"), 2),
        (("inbox", "Secondary-A", "--archive", "--keep-unread"), 2),
    ):
        answer = holdfast("agent", *words, "--json")
        assert answer.code == code, words
        assert answer.envelope["error"]["message"]
    assert not COMMS.exists()
    assert not Path("agent_comms").exists()


def test_escapes_in_a_message_do_not_reach_the_terminal(holdfast: Holdfast, epic: Epic) -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07"
    holdfast("agent", "send", "Secondary-A", "--subject", hostile, "--details", hostile)
    answer = holdfast("agent", "inbox", "Secondary-A")
    assert "\x1b" not in answer.out
    assert "\x07" not in answer.out
