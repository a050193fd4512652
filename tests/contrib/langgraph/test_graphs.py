"""Graphs with the saver: the examples of the page, people, races, delta channels and what cannot be stored."""

from __future__ import annotations

import asyncio
import operator
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

import holdfast as library
from holdfast.contrib.langgraph import HoldfastSaver, ask_person
from holdfast.kernel.errors import HoldfastError, NotFound, Usage, Waiting
from tests.cli.conftest import Holdfast
from tests.gates.person import answers

pytestmark = pytest.mark.contrib
PAGE = Path(__file__).parents[3] / "docs/how-to/langgraph.md"
CONFIG: Any = {"configurable": {"thread_id": "a/b", "checkpoint_ns": ""}}


class State(TypedDict):
    items: Annotated[list[Any], operator.add]


@pytest.fixture
def saver(repository: Path) -> Iterator[HoldfastSaver]:
    with HoldfastSaver(repository) as saver:
        yield saver


def compile_graph(saver: HoldfastSaver, state: Any = State, **nodes: Any) -> Any:
    builder = StateGraph(state)
    before = START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    return builder.compile(checkpointer=saver)


def put(saver: HoldfastSaver, value: Any, config: Any = CONFIG) -> Any:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"], checkpoint["channel_versions"] = {"value": value}, {"value": 1}
    return saver.put(config, checkpoint, {"source": "loop", "step": 1, "parents": {}}, {"value": 1})


def test_the_examples_of_the_page(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repository)
    first, second = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(first, "langgraph.md", "exec"), names)
    assert "{'draft': 'The report, written'}" in capsys.readouterr().out
    answered = threading.Thread(target=answer_when_asked, args=(repository,))
    answered.start()
    exec(compile(second, "langgraph.md", "exec"), names)
    answered.join()
    with HoldfastSaver(".") as saver:
        found = saver.get({"configurable": {"thread_id": "reviewed"}})
    assert found is not None
    assert found["channel_values"]["draft"] == "sent"


def answer_when_asked(repository: Path) -> None:
    with library.open(str(repository)) as workspace:
        while not (waiting := workspace.gates.waiting()):
            time.sleep(0.05)
        answers(waiting[0].id, "approved")


def test_a_person_chooses_and_declines(
    saver: HoldfastSaver, repository: Path, holdfast: Holdfast
) -> None:
    options = [{"id": one, "name": one, "pros": "quick", "cons": "old"} for one in ("pg", "lite")]
    graph = compile_graph(
        saver,
        choose=lambda _: {"items": [interrupt({"question": "Which store?", "options": options})]},
        check=lambda _: {"items": [interrupt("Is it right?")]},
    )
    graph.invoke({"items": []}, CONFIG)
    assert "Graph thread a/b waits for a person" in holdfast("status").out
    with pytest.raises(Waiting):
        ask_person(saver, CONFIG, seconds=0)
    for answer in ("lite", "It is too long"):
        with pytest.raises(Waiting):
            ask_person(saver, CONFIG, seconds=0)
        with library.open(str(repository)) as workspace:
            (gate,) = workspace.gates.waiting()
        answers(gate.id, answer)
        graph.invoke(Command(resume=ask_person(saver, CONFIG, seconds=9)), CONFIG)
    assert graph.get_state(CONFIG).values["items"] == [
        "lite",
        {"approved": False, "text": "It is too long"},
    ]
    assert "waits for a person" not in holdfast("status").out
    with pytest.raises(NotFound):
        ask_person(saver, CONFIG)


def test_what_a_thread_says_is_found(saver: HoldfastSaver, holdfast: Holdfast) -> None:
    said = AIMessage("The gateway retries, so the retry on 503 goes.", id="2")
    tool = ToolMessage("pelican", tool_call_id="3")
    graph = compile_graph(saver, talk=lambda _: {"items": [said, tool]})
    graph.invoke({"items": [HumanMessage("Drop the retry of the zebra client", id="1")]}, CONFIG)
    (hit,) = holdfast("find", "--here", "--json", "zebra gateway").data["hits"]
    assert hit["session"] == "graph:a%2Fb"
    assert hit["request"] == "Drop the retry of the zebra client"
    assert [line["what"] for line in hit["lines"]] == ["asked", "said"]
    for left_out in ("pelican", "HumanMessage", "response_metadata"):
        assert holdfast("find", "--here", "--json", left_out).data["hits"] == []


def test_messages_and_async_graphs(saver: HoldfastSaver) -> None:
    graph = compile_graph(saver, talk=lambda _: {"items": [AIMessage("hello", id="2")]})

    async def talk() -> list[Any]:
        await graph.ainvoke({"items": [HumanMessage("hi", id="1")]}, CONFIG)
        return [one async for one in graph.aget_state_history(CONFIG)]

    states = asyncio.run(talk())
    assert states[0].values["items"] == [HumanMessage("hi", id="1"), AIMessage("hello", id="2")]
    assert len(states) == 3
    assert len(list(graph.get_state_history(CONFIG, limit=2))) == 2


def test_the_past_can_be_continued(saver: HoldfastSaver) -> None:
    graph = compile_graph(
        saver, one=lambda _: {"items": ["x" * 900]}, two=lambda _: {"items": ["y"]}
    )
    graph.invoke({"items": []}, CONFIG)
    past = list(graph.get_state_history(CONFIG))[1]
    graph.invoke(None, graph.update_state(past.config, {"items": ["changed"]}))
    assert graph.get_state(CONFIG).values["items"] == ["x" * 900, "changed", "y"]
    assert graph.get_state(past.config).values["items"] == ["x" * 900]


@dataclass
class Invoice:
    total: int


def test_a_class_comes_back_only_where_it_is_named(saver: HoldfastSaver, repository: Path) -> None:
    with pytest.raises(Usage, match="Invoice, which would not be loaded again"):
        put(saver, [Invoice(3)])
    assert saver.get(CONFIG) is None
    with HoldfastSaver(repository, allow=[Invoice]) as other:
        put(other, [Invoice(3)])
        assert other.get(CONFIG)["channel_values"] == {"value": [Invoice(3)]}


def test_what_cannot_be_stored_is_refused_and_nothing_is_lost(saver: HoldfastSaver) -> None:
    stored = put(saver, "kept")
    with pytest.raises(Usage, match="The value of the channel value cannot be stored"):
        put(saver, lambda: None, stored)
    with pytest.raises(Usage, match="A thread needs a name"):
        put(saver, 1, {"configurable": {"thread_id": "", "checkpoint_ns": ""}})
    assert saver.get(CONFIG)["channel_values"] == {"value": "kept"}


def test_a_newer_langgraphs_checkpoint_is_refused(saver: HoldfastSaver) -> None:
    checkpoint = {**empty_checkpoint(), "v": 99}
    saver.put(CONFIG, checkpoint, {"source": "loop", "step": 1, "parents": {}}, {})
    with pytest.raises(HoldfastError, match="a newer LangGraph"):
        saver.get_tuple(CONFIG)


def test_another_programs_database_is_refused(repository: Path) -> None:
    home = repository / ".git" / "holdfast"
    home.mkdir()
    import apsw

    apsw.Connection(str(home / "journal.db")).execute("CREATE TABLE accounts (name)")
    with pytest.raises(HoldfastError, match="is a database of another program"):
        put(HoldfastSaver(repository), 1)


RACER = """
import sys
from langgraph.checkpoint.base import empty_checkpoint
from holdfast.contrib.langgraph import HoldfastSaver
config = {"configurable": {"thread_id": "a/b", "checkpoint_ns": ""}}
saver = HoldfastSaver(".")
found = saver.get_tuple(config)
print("read", flush=True)
sys.stdin.readline()
try:
    saver.put(found.config, empty_checkpoint(), {"source": "loop", "step": 2, "parents": {}}, {})
    print("won")
except Exception as error:
    print(type(error).__name__)
"""


def test_of_two_processes_on_one_thread_one_wins_and_the_other_is_told(
    saver: HoldfastSaver, repository: Path
) -> None:
    put(saver, "first")
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER], cwd=repository, stdin=-1, stdout=-1, text=True
        )
        for _ in range(2)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "read\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    said = sorted(racer.communicate()[0].strip() for racer in racers)
    assert said == ["Conflict", "won"]
    assert len(list(saver.list(CONFIG))) == 2


def extend(value: list[int], updates: Any) -> list[int]:
    return [*value, *(one for update in updates for one in update)]


class Deltas(TypedDict):
    items: Annotated[list[int], DeltaChannel(extend, snapshot_frequency=4)]


def test_prune_leaves_the_ancestors_of_a_delta_channel(saver: HoldfastSaver) -> None:
    graph = compile_graph(saver, Deltas, add=lambda state: {"items": [len(state["items"])]})
    for number in range(7):
        graph.invoke({"items": [100 + number]}, CONFIG)
        before = graph.get_state(CONFIG).values
        count = len(list(saver.list(CONFIG)))
        saver.prune(["a/b"])
        assert graph.get_state(CONFIG).values == before
        assert len(list(saver.list(CONFIG))) <= count
    assert 1 <= len(list(saver.list(CONFIG))) < 10
    assert len(before["items"]) == 14
    with pytest.raises(Usage):
        saver.prune(["a/b"], strategy="oldest")
