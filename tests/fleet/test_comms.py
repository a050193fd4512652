"""Messages as records and as a file that a shell writes too."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.rules import comms
from holdfast.fleet.rules.comms import merge
from holdfast.fleet.rules.model import EPIC_README, UNREAD
from holdfast.kernel import clock
from holdfast.kernel.errors import Usage
from holdfast.kernel.state import load
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import discover
from tests.kernel.views.scene import child_command, clean_environment

if TYPE_CHECKING:
    from holdfast.kernel.commit import Outcome

STREAM = "comms:epics/kai/primary_to_secondary_a"
VIEW = Path("epics/kai/agent_comms/primary_to_secondary_a.md")
AT = clock.parse("2026-01-15T15:00:00Z")
BOTH = {"sender": "Agent-Primary", "receiver": "Secondary-A"}


class Channel:
    """The stream from the Primary to Secondary-A in one repository."""

    def __init__(self, root: Path) -> None:
        self.workspace = discover(str(root))

    def do(self, do: str, now: int = AT, **more: Any) -> Outcome:
        command = {"do": do, **BOTH, **more}
        writer = open_writer(self.workspace)
        return writer.execute(STREAM, command, actor="tester", now=now, raise_removed=True)

    def send(self, subject: str, now: int = AT, **more: Any) -> Outcome:
        return self.do("send", now, fields={"subject": subject}, **more)

    def kinds(self) -> list[str]:
        return [record["kind"] for record in self.workspace.journal.read(STREAM)]

    def state(self) -> Any:
        return load(self.workspace.journal, comms, STREAM)[0]

    def close(self) -> None:
        self.workspace.close()


@pytest.fixture
def channel(repository: Path) -> Iterator[Channel]:
    opened = Channel(repository)
    yield opened
    opened.close()


def subjects() -> list[str]:
    return [message["subject"] for message in comms.parse(VIEW.read_text("utf-8"))]


def test_a_stream_and_its_file() -> None:
    assert comms.view_of(STREAM) == str(VIEW)
    assert comms.view_of("comms:primary_to_secondary_a") == "agent_comms/primary_to_secondary_a.md"
    assert comms.channel_of("Secondary-B", "Agent-Primary") == "secondary_b_to_primary"


def test_opening_makes_the_empty_file_once(channel: Channel) -> None:
    channel.do("open")
    channel.do("open")
    assert VIEW.read_text("utf-8") == "# Messages: Primary → Secondary-A\n\n(No messages yet)\n"
    assert channel.kinds() == ["opened"]


@pytest.mark.clause("AMB-FLEET-18")
def test_messages_are_numbered_and_the_newest_is_on_top(channel: Channel) -> None:
    channel.send("one")
    channel.send("two")
    assert subjects() == ["two", "one"]
    assert [each["number"] for each in comms.parse(VIEW.read_text("utf-8"))] == [2, 1]
    sent = [one for one in channel.workspace.journal.read(STREAM) if one["kind"] == "sent"]
    assert [record["body"] for record in sent] == [
        {"number": 1, "at": "2026-01-15T15:00:00Z", "subject": "one"},
        {"number": 2, "at": "2026-01-15T15:00:00Z", "subject": "two"},
    ]


@pytest.mark.clause("FLEET-48", "AMB-FLEET-03")
def test_one_warning_for_each_last_checkpoint(channel: Channel) -> None:
    first, second = "2026-01-15T14:28:00Z", "2026-01-15T15:10:00Z"
    warning = comms.warning(clock.parse(first), 32)
    for _ in range(3):
        channel.do("send", fields=warning, warns=first)
    assert subjects() == ["CHECKPOINT WARNING - No Update in 30 Minutes"]
    channel.send("something else")
    channel.do("send", fields=warning, warns=first)
    assert len(subjects()) == 2
    channel.do("send", fields=warning, warns=second)  # a fresh checkpoint armed it again
    assert len(subjects()) == 3


@pytest.mark.clause("FLEET-56", "AMB-FLEET-03")
def test_one_escalation_for_each_last_checkpoint(channel: Channel) -> None:
    about = "2026-01-15T14:00:00Z"
    for _ in range(2):
        channel.do("escalate", about=about, agent="Secondary-A", session="s1")
    (effect,) = channel.workspace.journal.effects(kinds=[EPIC_README])
    assert effect["key"] == "epics/kai/secondary_a/stale"
    assert effect["body"] == {"change": "stale", "agent": "Secondary-A", "session": "s1"}
    assert channel.kinds() == ["escalated"]
    assert not VIEW.exists()
    channel.workspace.journal.settle(effect["id"])
    channel.do("escalate", about="2026-01-15T16:00:00Z", agent="Secondary-A")
    assert len(channel.workspace.journal.effects(kinds=[EPIC_README])) == 1


def test_reading_marks_what_was_named_and_says_so_once(channel: Channel) -> None:
    channel.send("one")
    channel.send("two")
    channel.do("read", numbers=[2])
    channel.do("read", numbers=[2])
    assert [each["read"] for each in comms.parse(VIEW.read_text("utf-8"))] == [True, False]
    channel.do("read", numbers=None)
    assert VIEW.read_text("utf-8").count(UNREAD) == 0
    assert channel.kinds() == ["opened", "sent", "sent", "read", "read"]


def test_an_archive_is_the_file_itself_and_a_fresh_one_follows(channel: Channel) -> None:
    channel.send("one")
    with VIEW.open("a") as file:
        file.write("a line by hand\n")
    before = VIEW.read_bytes()
    name = comms.archive_name("primary_to_secondary_a", AT)
    assert name == "agent_comms/archive/primary_to_secondary_a_20260115_1500.md"
    Path("epics/kai/agent_comms/archive").mkdir()
    channel.do("archive", to=f"epics/kai/{name}")
    assert Path("epics/kai", name).read_bytes() == before
    assert VIEW.read_text("utf-8") == comms.empty(*BOTH.values())
    channel.send("after")
    assert subjects() == ["after"]
    assert channel.state()["warned"] == ""


def test_the_wrong_words_are_refused(channel: Channel) -> None:
    for wrong in (
        {"fields": {"subject": " "}},
        {"fields": {"subject": "x"}, "receiver": "Secondary-B"},
        {"fields": {"subject": "x"}, "sender": "Secondary-A"},
        {"fields": {"subject": "x"}, "sender": "../../etc"},
        {"fields": {"subject": "x", "details": "x" * 100_001}},
    ):
        with pytest.raises(Usage):
            channel.do("send", **wrong)
    with pytest.raises(Usage):
        channel.do("forget")
    assert not VIEW.exists()


# What others do to the file


def test_a_file_that_was_there_first_is_taken_in(channel: Channel) -> None:
    VIEW.parent.mkdir(parents=True)
    text = "# Messages: Primary → Secondary-A\n\n## Message 1 (2026-01-15 10:30) ⏳ UNREAD\nhi\n"
    VIEW.write_text(text, "utf-8")
    channel.do("read", numbers=[1])
    assert VIEW.read_text("utf-8") == text.replace("⏳ UNREAD", "✅ READ")
    channel.send("ours")
    assert VIEW.read_text("utf-8").endswith("## Message 1 (2026-01-15 10:30) ✅ READ\nhi\n")
    assert comms.parse(VIEW.read_text("utf-8"))[0]["number"] == 2


def test_marks_and_unknown_text_of_a_shell_survive(channel: Channel) -> None:
    channel.send("one")
    subprocess.run(["sed", "-i", "s/⏳ UNREAD/✅ READ/", str(VIEW)], check=True)
    odd = "\n<!-- by hand -->\n\t| a table |  \n\n\n"
    with VIEW.open("a", encoding="utf-8") as file:
        file.write(odd)
    channel.send("two")
    text = VIEW.read_text("utf-8")
    assert text.endswith(f"✅ READ\n**Subject:** one\n{odd}")
    assert text.count(UNREAD) == 1


def test_an_emptied_file_begins_anew_and_its_messages_stay_on_record(channel: Channel) -> None:
    channel.send("one")
    held = VIEW.read_text("utf-8")
    VIEW.write_text("")
    channel.send("two")
    assert subjects() == ["two"]
    assert channel.kinds() == ["opened", "sent", "reinitialised", "sent"]
    assert channel.workspace.journal.read(STREAM)[2]["body"]["held"] == held


def test_a_deleted_file_is_there_again_with_the_next_message(channel: Channel) -> None:
    channel.send("one")
    VIEW.unlink()
    channel.send("two")
    assert subjects() == ["two", "one"]


def test_a_file_that_is_no_text_is_kept_and_the_messages_go_on(channel: Channel) -> None:
    channel.send("one")
    VIEW.write_bytes(b"\xff\xfe\x00")
    channel.send("two")
    assert subjects() == ["two", "one"]
    (kept,) = Path(channel.workspace.quarantine).glob("*")
    assert kept.read_bytes() == b"\xff\xfe\x00"


def test_a_shell_that_read_the_file_before_a_message_came_does_not_take_it_out(
    channel: Channel,
) -> None:
    channel.send("one")
    before = VIEW.read_text("utf-8")
    channel.send("two")
    theirs = comms.insert(before, comms.compose(2, AT, {"subject": "theirs"}))
    VIEW.write_text(theirs, "utf-8")
    channel.send("three")
    assert subjects() == ["three", "two", "theirs", "one"]
    VIEW.write_text(comms.empty(*BOTH.values()), "utf-8")  # as at an agent's start
    channel.do("read", numbers=[1])
    assert subjects() == ["three", "two", "theirs", "one"]


def test_an_editor_that_held_the_file_open_undoes_nothing(channel: Channel) -> None:
    channel.send("one")
    with VIEW.open("a", encoding="utf-8") as editor:
        channel.do("read", numbers=[1])
        editor.write("a word by hand\n")
    channel.send("two")
    text = VIEW.read_text("utf-8")
    assert text.endswith("✅ READ\n**Subject:** one\na word by hand\n")
    assert subjects() == ["two", "one"]


def test_what_was_read_may_be_deleted(channel: Channel) -> None:
    channel.send("one")
    channel.do("read", numbers=None)
    channel.send("two")
    kept = VIEW.read_text("utf-8").partition("\n## Message 1")[0]
    VIEW.write_text(kept, "utf-8")
    channel.send("three")
    assert subjects() == ["three", "two"]


def test_a_message_that_was_deleted_with_another_change_stays_deleted(channel: Channel) -> None:
    """It came in long before: no author can have a copy without it."""
    for subject in ("one", "two", "three"):
        channel.send(subject)
    text = VIEW.read_text("utf-8")
    above, third, second, first = *text.partition("## Message 3")[:1], *comms.split(text)[1]
    assert "two" in second
    VIEW.write_text(f"{above}{third}{first}\na word by hand\n", "utf-8")
    channel.send("four", AT + 20 * clock.MINUTE)
    assert subjects() == ["four", "three", "one"]
    assert "a word by hand" in VIEW.read_text("utf-8")


def test_the_newest_message_stays_deleted_with_another_change(channel: Channel) -> None:
    channel.send("one")
    channel.send("two")
    above, (_, first) = comms.split(VIEW.read_text("utf-8"))
    VIEW.write_text(f"{above}{first}\na word by hand\n", "utf-8")
    channel.send("three", AT + 20 * clock.MINUTE)
    assert subjects() == ["three", "one"]


# Both at once


def message(number: int, subject: str, at: int = AT) -> str:
    return comms.compose(number, at, {"subject": subject, "acknowledge": "No action needed"})


BASE = comms.insert(comms.empty(*BOTH.values()), message(1, "first"))


def test_a_message_of_theirs_and_one_of_ours_at_the_same_place_are_two() -> None:
    ours, theirs = (comms.insert(BASE, message(2, who)) for who in ("ours", "theirs"))
    text = merge(BASE, ours, theirs)
    assert [each["subject"] for each in comms.parse(text)] == ["ours", "theirs", "first"]
    assert [each["acknowledge"] for each in comms.parse(text)] == ["No action needed"] * 3
    assert merge(BASE, ours, ours) == ours


def test_the_first_messages_of_both_replace_the_empty_file() -> None:
    empty = comms.empty(*BOTH.values())
    ours, theirs = (comms.insert(empty, message(1, who)) for who in ("ours", "theirs"))
    assert merge(empty, ours, theirs) == (
        f"{comms.title(*BOTH.values())}\n\n{message(1, 'ours')}\n{message(1, 'theirs')}"
    )
    by_hand = f"{empty}a word by hand"
    assert merge(empty, ours, by_hand) == (
        f"{comms.title(*BOTH.values())}\n\na word by hand\n{message(1, 'ours')}"
    )


@pytest.mark.parametrize("reader", ["ours", "theirs"])
def test_what_one_side_read_while_the_other_wrote_stays_read(reader: str) -> None:
    read, wrote = comms.mark_read(BASE, [1]), comms.insert(BASE, message(2, "new"))
    edited = wrote.replace("**Subject:** first", "**Subject:** first, corrected")
    text = merge(BASE, read, edited) if reader == "ours" else merge(BASE, edited, read)
    new, first = comms.parse(text)
    assert (new["read"], first["read"], first["subject"]) == (False, True, "first, corrected")


def test_what_was_archived_meanwhile_does_not_come_back() -> None:
    theirs = comms.insert(BASE, message(2, "late"))
    text = merge(BASE, comms.empty(*BOTH.values()), theirs)
    assert [each["subject"] for each in comms.parse(text)] == ["late"]
    assert comms.NO_MESSAGES not in text


WORD = st.text(alphabet="abc #*\n", max_size=12)


@given(st.lists(WORD, max_size=4), st.lists(WORD, max_size=3), st.lists(WORD, max_size=3), WORD)
def test_no_message_and_no_line_that_either_side_added_is_lost(
    known: list[str], mine: list[str], others: list[str], tail: str
) -> None:
    base = comms.empty(*BOTH.values())
    for number, word in enumerate(known, 1):
        base = comms.insert(base, message(number, f"known {number}", AT) + word)
    ours, theirs = base, f"{base}tail {tail}"
    for word in mine:
        ours = comms.insert(ours, message(comms.next_number(ours), f"ours {word}"))
    for word in others:
        theirs = comms.insert(theirs, message(comms.next_number(theirs), f"theirs {word}"))
    text = merge(base, ours, theirs)
    found = [each["subject"] for each in comms.parse(text)]
    wanted = [each["subject"] for each in [*comms.parse(ours), *comms.parse(theirs)]]
    assert set(found) == set(wanted)
    assert len(found) == len(known) + len(mine) + len(others)
    for line in theirs.split("\n"):
        assert line in text or line == comms.NO_MESSAGES


SHELL = """
set -e
cd "$1"
read -r go
for number in $(seq 1 "$2"); do
  if [ $((number % 2)) = 0 ]; then
    printf '\\n## Message 900 (2026-01-15 12:00) ⏳ UNREAD\\n**Subject:** shell-%s\\n' "$number" >> "$3"
  else
    # As the protocol's own script: read, then write the whole file again.
    { head -n 2 "$3"
      printf '## Message 901 (2026-01-15 12:00) ⏳ UNREAD\\n**Subject:** shell-%s\\n\\n' "$number"
      tail -n +3 "$3"
    } > "$3.new"
    mv "$3.new" "$3"
  fi
done
"""

SENDER = """
go = sys.stdin.readline()
for number in range(int(sys.argv[2])):
    fields = {"subject": f"holdfast-{number}"}
    command = {"do": "send", "sender": "Agent-Primary", "receiver": "Secondary-A", "fields": fields}
    writer.execute(sys.argv[3], command, actor="child", now=clock.now())
"""
ROUNDS = 60


def test_a_shell_that_writes_while_we_insert_loses_nothing_and_we_lose_nothing(
    channel: Channel, repository: Path
) -> None:
    channel.send("the first")
    root = str(repository)
    racers = [
        ["bash", "-c", SHELL, "bash", root, str(ROUNDS), str(VIEW)],
        child_command(repository, SENDER, str(ROUNDS), STREAM),
    ]
    processes = [
        subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**clean_environment(), "LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]},
        )
        for words in racers
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    channel.send("the last")
    everything = "\n".join(
        str(one["body"]) for one in channel.workspace.journal.read(STREAM, limit=9999)
    )
    for number in range(ROUNDS):
        assert f"'holdfast-{number}'" in everything, number
    sent = [f"holdfast-{number}" for number in range(ROUNDS)]
    wrote = [f"shell-{number}" for number in range(1, ROUNDS + 1)]
    found = subjects()
    assert {one: found.count(one) for one in [*sent, *wrote] if found.count(one) != 1} == {}
    assert VIEW.read_text("utf-8") == channel.state()["text"]
    assert {"the first", "the last"} <= set(subjects())
