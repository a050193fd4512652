"""The SDK's own suite, and what Holdfast makes of a session that only the store has."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import re
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk.testing import run_session_store_conformance

from holdfast.contrib.claude_sdk import HoldfastSessionStore
from holdfast.kernel.errors import Usage
from tests.cli.conftest import Holdfast

pytestmark = pytest.mark.contrib
SAMPLE = Path(__file__).parents[2] / "clients/conformance/samples/claude.jsonl"
PAGE = Path(__file__).parents[3] / "docs/how-to/agent-sdk.md"
SESSION = "02323325-2df6-4e36-9742-353bfcfb1299"
KEY: Any = {"project_key": "tenant/1", "session_id": SESSION}


def entries(repository: Path) -> list[Any]:
    text = SAMPLE.read_text(encoding="utf-8").replace("/home/dev/proj", str(repository))
    return [json.loads(line) for line in text.splitlines()]


def append(store: HoldfastSessionStore, *batch: Any, key: Any = KEY) -> None:
    asyncio.run(store.append(key, list(batch)))


def load(store: HoldfastSessionStore, key: Any = KEY) -> Any:
    return asyncio.run(store.load(key))


def test_every_contract_of_the_sdk_holds(tmp_path: Path) -> None:
    made: list[Path] = []

    def make() -> HoldfastSessionStore:
        made.append(tmp_path / str(len(made)))
        return HoldfastSessionStore(made[-1])

    asyncio.run(run_session_store_conformance(make))
    assert len(made) == 15, "14 contracts, and the look at what is there"


def test_a_session_is_found_read_counted_and_its_edits_are_made_again(
    repository: Path, holdfast: Holdfast
) -> None:
    (repository / "words.py").write_text('def parse(line):\n    return line.split(" ")\n')
    store, told = HoldfastSessionStore(), entries(repository)
    for at in range(0, len(told), 3):
        append(store, *told[at : at + 3])
    append(store, *told[:2])  # a batch that is tried again
    assert load(store) == told
    (listed,) = holdfast("resume", "--list", "--json").data["sessions"]
    assert (listed["client"], listed["session"]) == ("claude", SESSION)
    assert "Keep the quotes in words.py" in holdfast("resume", "--session", SESSION).out
    spent = holdfast("guard", "report", "--session", SESSION, "--json").data["sessions"]
    assert [round(one["cost"], 6) for one in spent] == [0.023104]
    assert holdfast("edits", "--session", SESSION, "--apply").code == 0
    assert "line.split()" in (repository / "words.py").read_text()
    purge = {"project_key": "tenant/1", "session_id": SESSION}
    asyncio.run(store.delete(purge))
    assert holdfast("resume", "--list", "--json").data["sessions"] == []


def test_a_line_that_a_crash_cut_off_is_removed_and_nothing_else(tmp_path: Path) -> None:
    store = HoldfastSessionStore(tmp_path)
    append(store, {"type": "x", "uuid": "1"})
    (path,) = tmp_path.rglob("*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"type":"x","uuid":"2"')
    assert load(store) == [{"type": "x", "uuid": "1"}]
    append(HoldfastSessionStore(tmp_path), {"type": "x", "uuid": "2"}, {"type": "x", "uuid": "1"})
    assert load(store) == [{"type": "x", "uuid": "1"}, {"type": "x", "uuid": "2"}]


def add_many(folder: Path, writer: int) -> None:
    store = HoldfastSessionStore(folder)
    for number in range(50):
        # Every second entry is written by all.
        append(
            store,
            {
                "type": "x",
                "uuid": f"{writer if number % 2 else 'all'}-{number}",
                "text": "x" * 5000,
            },
        )


def test_writers_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=add_many, args=(tmp_path, number)) for number in range(4)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
        assert one.exitcode == 0
    ids = [one["uuid"] for one in load(HoldfastSessionStore(tmp_path))]
    assert len(ids) == len(set(ids)) == 25 + 4 * 25


def test_no_key_leads_out_of_the_folder_and_what_cannot_be_stored_is_refused(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "store"
    store = HoldfastSessionStore(folder)
    names = ("..", "../..", "/etc", ".", "a/b", "a\0b", "ünï", "\udcff", "a\nb")
    for name in names:
        key = {"project_key": name, "session_id": name, "subpath": f"x/{name}".replace("//", "/")}
        append(store, {"type": name}, key=key)
        assert load(store, key) == [{"type": name}]
    assert [one.name for one in tmp_path.iterdir()] == ["store"]
    assert all(one.stat().st_mode & 0o077 == 0 for one in folder.rglob("*"))
    for bad in (
        {"project_key": "", "session_id": "s"},
        {"project_key": "x" * 400, "session_id": "s"},
    ):
        with pytest.raises(Usage):
            append(store, {"type": "x"}, key=bad)
    with pytest.raises(Usage, match="Nothing of its batch was stored"):
        append(store, {"type": "x"}, {"type": object()})
    assert load(store) is None


def test_the_example_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    asked: list[Any] = []

    async def query(*, prompt: str, options: Any) -> Any:
        asked.append(options)
        await options.session_store.append(KEY, [{"type": "user", "uuid": "1", "message": prompt}])
        yield "done"

    monkeypatch.setattr("claude_agent_sdk.query", query)
    exec(compile(code, "agent-sdk.md", "exec"), {})
    assert isinstance(asked[0].session_store, HoldfastSessionStore)
    assert load(HoldfastSessionStore()) is not None
    assert os.listdir(HoldfastSessionStore().folder)
