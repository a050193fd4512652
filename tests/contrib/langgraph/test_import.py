"""`holdfast import langgraph` copies the threads of the official savers, and refuses what is not theirs."""

from __future__ import annotations

import contextlib
import operator
import secrets
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict

import ormsgpack
import psycopg
import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from holdfast.contrib.langgraph import HoldfastSaver
from tests.cli.conftest import Holdfast
from tests.journal.postgres.database import at_database, database_url

pytestmark = pytest.mark.contrib
THREADS = ("a/b", "other")


class State(TypedDict):
    items: Annotated[list[Any], operator.add]


@dataclass
class Invoice:
    total: int


def make_graph(saver: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node("write", lambda _: {"items": [HumanMessage("hi", id="1"), Invoice(3), b"raw"]})
    builder.add_node("ask", lambda _: {"items": [interrupt("Right?")]})
    builder.add_edge(START, "write")
    builder.add_edge("write", "ask")
    return builder.compile(checkpointer=saver)


@contextlib.contextmanager
def in_file(tmp_path: Path) -> Iterator[tuple[Any, str]]:
    path = str(tmp_path / "theirs.db")
    with SqliteSaver.from_conn_string(path) as saver:
        yield saver, path


@contextlib.contextmanager
def on_server(_: Path) -> Iterator[tuple[Any, str]]:
    name = f"theirs_{secrets.token_hex(6)}"
    with psycopg.connect(database_url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        url = at_database(database_url(), name)
        with PostgresSaver.from_conn_string(url) as saver:
            saver.setup()
            yield saver, url
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("source", [in_file, on_server])
def test_a_copy_has_everything_and_continues(
    source: Any, repository: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    with source(tmp_path) as (theirs, name):
        for thread in THREADS:
            make_graph(theirs).invoke({"items": []}, {"configurable": {"thread_id": thread}})
        assert holdfast("import", "langgraph", name, "--dry-run").out.startswith("Would copy 6 ")
        assert holdfast("status", "--json").data["journal"]["records"] == 0
        done = holdfast("import", "langgraph", name)
        assert done.out == "Copied 6 checkpoints of 6 in 2 threads.\n"
        assert holdfast("import", "langgraph", name, "--json").data["copied"] == 0
        with HoldfastSaver(repository, allow=[Invoice]) as ours:
            for thread in THREADS:
                config: Any = {"configurable": {"thread_id": thread}}
                expected = list(make_graph(theirs).get_state_history(config))
                assert list(make_graph(ours).get_state_history(config)) == expected
                answered = make_graph(ours).invoke(Command(resume="yes"), config)
                assert answered["items"][-1] == "yes"


def test_what_is_no_savers_database_is_refused(
    repository: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    path = tmp_path / "file.db"
    for content in (b"no database at all" * 90, None):
        path.unlink(missing_ok=True)
        if content:
            path.write_bytes(content)
        else:
            sqlite3.connect(path).execute("CREATE TABLE checkpoints (id)").connection.close()
        done = holdfast("import", "langgraph", str(path))
        assert done.code == 2
        assert "is not a database of LangGraph's savers" in done.err
    assert holdfast("import", "langgraph", str(tmp_path / "none.db")).code == 3
    assert holdfast("import", "langgraph", "postgresql://127.0.0.1:1/none").code == 3


def test_a_newer_checkpoint_is_refused_and_what_was_copied_stays(
    repository: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    with in_file(tmp_path) as (theirs, name):
        make_graph(theirs).invoke({"items": []}, {"configurable": {"thread_id": "one"}})
        (newest,) = theirs.conn.execute("SELECT max(checkpoint_id) FROM checkpoints").fetchone()
        newer = ormsgpack.packb({"v": 99, "id": newest, "channel_values": {}})
        theirs.conn.execute(
            "UPDATE checkpoints SET checkpoint = ? WHERE checkpoint_id = ?", (newer, newest)
        )
        theirs.conn.commit()
        done = holdfast("import", "langgraph", name)
    assert done.code == 1
    assert "has the format 99" in done.err
    with HoldfastSaver(repository, allow=[Invoice]) as ours:
        assert len(list(ours.list({"configurable": {"thread_id": "one"}}))) == 2


def test_the_database_of_a_stranger_is_refused_and_ends(
    repository: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    """A view that never ends, values of another form, and a name that a URI would read otherwise."""
    path = tmp_path / "a?mode=memory&b%00.db"
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS"
    columns = (
        "thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata"
    )
    writes = "CREATE TABLE writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, value)"
    whole = " , i AS ".join(columns.split(", "))
    made = sqlite3.connect(path)
    made.execute(f"CREATE VIEW checkpoints AS {endless} {whole} FROM n")
    made.execute(writes)
    made.close()
    done = holdfast("import", "langgraph", str(path))
    assert (done.code, "it has no table checkpoints" in done.err) == (2, True)
    for value in ([1], {"channel_values": [1]}, {"channel_values": {}, "v": "newest"}, 7):
        path.unlink()
        made = sqlite3.connect(path)
        made.execute(f"CREATE TABLE checkpoints ({columns})")
        made.execute(writes)
        row = ("one", "", "1", None, "msgpack", ormsgpack.packb(value), b"{}")
        made.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        made.commit()
        made.close()
        done = holdfast("import", "langgraph", str(path))
        assert (done.code, "cannot be read" in done.err) == (2, True), done.err
