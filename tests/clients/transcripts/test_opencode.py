"""What opencode writes down, as events; its database is only read."""

from __future__ import annotations

import json
import os
import stat
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.clients.conversation import SessionEvent
from holdfast.clients.lines import Unread
from holdfast.clients.opencode import transcript as opencode_transcript
from holdfast.clients.opencode.sessions import Store
from tests.clients.transcripts.conftest import STORY, Hostile, new_state, sql, told
from tests.privileges import modes_count

if TYPE_CHECKING:
    from holdfast.clients.opencode.transcript import OpencodeMark

SESSION = "ses_1"
SCHEMA = """
CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, revert text,
  time_created integer, time_updated integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer,
  time_updated integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer,
  time_updated integer, data text);
INSERT INTO session VALUES ('ses_1', NULL, '/home/dev/proj', NULL, 1, 1);
"""
NOW = 1_794_840_000_000


class Client:
    """Writes into a database as opencode does, and keeps it open."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.database = apsw.Connection(self.path)
        sql(self.database, "PRAGMA journal_mode = WAL")
        sql(self.database, SCHEMA)
        self.mark: OpencodeMark | None = None
        self.state = new_state()

    def message(self, number: int, role: Any, **data: Any) -> None:
        whole = json.dumps({"role": role, **data})
        row = (f"msg_{number}", SESSION, NOW + number, NOW, whole)
        self.database.execute("INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?, ?)", row)

    def part(self, number: int, message: int, kind: Any, **data: Any) -> None:
        whole = json.dumps({"type": kind, **data})
        row = (f"prt_{number}", f"msg_{message}", SESSION, NOW, NOW, whole)
        self.database.execute("INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?, ?, ?)", row)

    def tool(self, number: int, message: int, tool: str, status: str, **state: Any) -> None:
        did = {"status": status, **state}
        self.part(number, message, "tool", tool=tool, callID=f"call_{number}", state=did)

    def news(self) -> list[SessionEvent]:
        """What a reader that looks now and then is told this time."""
        events: list[SessionEvent] = []
        kept = json.loads(json.dumps(self.mark))
        self.mark = opencode_transcript.read(self.path, SESSION, kept, self.state, events)
        return events


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path / "opencode.db")


def session_in(path: Path) -> str:
    with Store(str(path)) as store:
        return str(store.ask("SELECT id FROM session")[0][0])


def read(path: Path, session: str) -> list[SessionEvent]:
    events: list[SessionEvent] = []
    opencode_transcript.read(str(path), session, None, new_state(), events)
    return events


def test_a_recorded_session_tells_its_story(store: Path) -> None:
    events = read(store, session_in(store))
    assert told([event for event in events if event.kind != "place"]) == STORY
    assert [event.path for event in events if event.kind == "place"] == ["/home/dev/proj"]
    failures = [event.text for event in events if event.failed]
    assert failures[0].startswith("Could not find oldString")
    assert failures[1] == "AssertionError: quotes were lost"


def test_reading_leaves_no_file_behind(store: Path) -> None:
    before = sorted(os.listdir(store.parent))
    content = store.read_bytes()
    assert before == ["opencode.db"]
    read(store, session_in(store))
    assert sorted(os.listdir(store.parent)) == before
    assert store.read_bytes() == content


def test_what_only_the_log_holds_is_read_while_the_client_writes(client: Client) -> None:
    client.message(1, "user")
    client.part(1, 1, "text", text="ask")
    sql(client.database, "BEGIN IMMEDIATE")
    assert told(client.news()) == [("prompt", "ask")]
    client.message(2, "user")
    client.part(2, 2, "text", text="more")
    assert client.news() == [], "not committed"
    sql(client.database, "COMMIT")
    assert told(client.news()) == [("prompt", "more")]


def test_a_call_is_told_when_it_begins_and_when_it_ends(client: Client) -> None:
    client.message(1, "user")
    client.message(2, "assistant", time={})
    client.tool(1, 2, "bash", "pending", input={})
    assert client.news() == []
    client.tool(1, 2, "bash", "running", input={"command": "make"})
    client.tool(2, 2, "read", "running", input={"filePath": "/a"})
    assert told(client.news()) == [("run", "make"), ("read", "/a")]
    assert client.news() == []
    client.tool(2, 2, "read", "completed", input={"filePath": "/a"}, output="x")
    assert told(client.news()) == [("result", "passed")]
    ended = {"input": {"command": "make"}, "output": "no rule", "metadata": {"exit": 2}}
    client.tool(1, 2, "bash", "completed", **ended)
    client.message(2, "assistant", time={"completed": NOW})
    client.message(3, "assistant", time={"completed": NOW})
    client.part(3, 3, "text", text="It failed.", time={"start": NOW, "end": NOW})
    assert told(client.news()) == [("result", "failed"), ("said", "It failed.")]
    assert client.news() == []


def test_a_look_reads_only_the_newest_messages(client: Client) -> None:
    sql(client.database, "BEGIN")
    for number in range(1, 301):
        client.message(number, "assistant", time={"completed": NOW})
        client.part(number, number, "text", text=f"step {number}", time={"end": NOW})
    sql(client.database, "COMMIT")
    assert len(client.news()) == 300
    # What is older than the mark is not even looked at: damage there goes unnoticed.
    sql(client.database, "UPDATE part SET data = 'damage' WHERE id = 'prt_5'")
    assert client.news() == []
    assert client.state["unknown"] == 0
    assert client.mark is not None
    assert list(client.mark["parts"]) == ["prt_300"]


def test_last_words_of_a_client_that_was_killed_are_told(client: Client) -> None:
    client.message(1, "assistant", time={})
    client.part(1, 1, "text", text="I was about to", time={"start": NOW})
    assert told(client.news()) == [("said", "I was about to")]
    assert client.news() == []


def test_what_the_person_took_back_is_not_told(client: Client) -> None:
    for number in (1, 2, 3):
        client.message(number, "user")
        client.part(number, number, "text", text=f"ask {number}")
    revert = json.dumps({"messageID": "msg_2"})
    client.database.execute("UPDATE session SET revert = ?", (revert,))
    assert told(client.news()) == [("prompt", "ask 1")]


def test_a_compaction_its_summary_and_inserted_text(client: Client) -> None:
    client.message(1, "user")
    client.part(1, 1, "compaction", auto=True)
    client.part(2, 1, "text", text="continue", synthetic=True)
    client.message(2, "assistant", summary=True, time={"completed": NOW})
    client.part(3, 2, "text", text="We kept the quotes.", time={"end": NOW})
    assert told(client.news()) == [("compact", ""), ("summary", "We kept the quotes.")]


def test_a_patch_of_several_files(client: Client) -> None:
    text = "*** Begin Patch\n*** Add File: a.py\n+x\n*** Delete File: b.py\n*** End Patch"
    client.message(1, "assistant", time={})
    client.tool(1, 1, "apply_patch", "completed", input={"patchText": text}, output="ok")
    files = [{"filePath": "/p/a.py", "type": "add"}, {"filePath": "/p/b.py", "type": "delete"}]
    ended = {"input": {"patchText": text}, "output": "ok", "metadata": {"files": files}}
    client.tool(2, 1, "apply_patch", "completed", **ended)
    events = client.news()
    assert told(events) == [
        ("edit", "a.py", "created"),
        ("edit", "b.py", "deleted"),
        ("result", "passed"),
        ("edit", "/p/a.py", "created"),
        ("edit", "/p/b.py", "deleted"),
        ("result", "passed"),
    ]
    assert [event.again for event in events[:2]] == [False, True]


def test_subagents_and_answers(client: Client) -> None:
    client.message(1, "assistant", time={})
    client.tool(1, 1, "task", "completed", input={"prompt": "look"}, output="seen")
    asked = {"questions": [{"question": "Tabs?"}]}
    chosen = {"answers": [["yes", "always"]]}
    client.tool(2, 1, "question", "completed", input=asked, output="", metadata=chosen)
    events = client.news()
    assert [event.kind for event in events][:3] == ["agent", "result", "agent_end"]
    assert (events[-1].kind, events[-1].about, events[-1].text) == (
        "answer",
        "Tabs?",
        "yes, always",
    )


def test_the_unknown_is_counted_and_skipped(client: Client) -> None:
    client.message(1, "user")
    client.part(1, 1, "hologram")
    row = ("prt_2", "msg_1", SESSION, NOW, NOW, "not json")
    client.database.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)
    client.part(3, 1, "text", text="ask")
    assert told(client.news()) == [("prompt", "ask")]
    assert client.state["unknown"] >= 2


@pytest.mark.parametrize("odd", [[], {}, 1, None, [[]]])
def test_a_field_of_another_kind_is_no_error(client: Client, odd: Any) -> None:
    client.message(1, "assistant", time=odd, path=odd, error=odd, summary=odd)
    client.message(2, odd)
    for number, field in enumerate(("type", "tool", "callID", "state"), 1):
        whole: dict[str, Any] = {"type": "tool", "tool": "bash", "state": {"status": "completed"}}
        whole[field] = odd
        client.part(number, 1 + number % 2, whole.pop("type"), **whole)
    client.news()


def test_a_store_that_is_none_is_said_to_be_unread(tmp_path: Path, hostile: Hostile) -> None:
    path = tmp_path / "opencode.db"
    hostile(path)
    with pytest.raises(Unread):
        read(path, SESSION)


def test_a_log_that_is_a_pipe_is_not_waited_for(store: Path) -> None:
    os.mkfifo(f"{store}-wal")
    with pytest.raises(Unread):
        read(store, SESSION)


def test_a_locked_store_is_given_up_soon(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing(apsw.Connection(str(path))) as database:
        sql(database, "PRAGMA journal_mode = WAL")
        sql(database, "PRAGMA locking_mode = EXCLUSIVE")
        sql(database, SCHEMA)
        with pytest.raises(Unread):
            read(path, SESSION)


def test_a_session_or_table_that_is_missing_is_unread(tmp_path: Path, store: Path) -> None:
    with pytest.raises(Unread, match="no such session"):
        read(store, "ses_of_another_machine")
    other = tmp_path / "other.db"
    with closing(apsw.Connection(str(other))) as database:
        sql(database, "CREATE TABLE session (id text)")
        sql(database, "INSERT INTO session VALUES ('ses_1')")
    with pytest.raises(Unread, match="no such table"):
        read(other, SESSION)


def test_a_store_without_the_right_to_read_is_unread(store: Path) -> None:
    store.chmod(0)
    with modes_count(), pytest.raises(Unread):
        read(store, SESSION)


def test_a_store_in_a_folder_that_cannot_be_written_is_read(store: Path) -> None:
    session = session_in(store)
    store.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with modes_count():
            assert read(store, session)
    finally:
        store.parent.chmod(stat.S_IRWXU)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=4,
)
FIELDS = ("status", "input", "output", "error", "metadata", "time")


@given(
    st.dictionaries(st.sampled_from(FIELDS), JSON),
    st.sampled_from(("bash", "edit", "apply_patch", "todowrite", "question", "task", "x")),
)
def test_no_part_breaks_the_reader(
    tmp_path_factory: pytest.TempPathFactory, state: dict[str, Any], tool: str
) -> None:
    client = Client(tmp_path_factory.mktemp("store") / "opencode.db")
    client.message(1, "assistant", time=state.get("time"))
    client.part(1, 1, "tool", tool=tool, state={"status": "completed", **state})
    client.part(2, 1, "text", text=state.get("output"), time=state.get("time"))
    client.news()
    client.database.close()
