"""What the pages say."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

import pytest

from holdfast.estop.stop import stop
from holdfast.fleet import agents
from holdfast.gates import answer as answer_module
from holdfast.gates.rules import content as gate_content
from holdfast.kernel import clock
from holdfast.kernel.errors import StoreAway
from tests.conftest import Git
from tests.web.world import HOSTILE, Visitor, World


def test_an_empty_board(visitor: Visitor) -> None:
    text = visitor.get("/board").text
    assert "Three first steps" in text
    assert "Nothing runs." not in text, "no empty list under what to do first"
    assert visitor.get("/").headers["location"] == "/board"


def test_the_board_has_what_needs_a_person_first(world: World, visitor: Visitor) -> None:
    now = clock.now()
    world.verify(holds="plan 06 from task 5", now=now - 12 * clock.MINUTE)
    world.decide(now=now - 41 * clock.MINUTE)
    world.alert()
    world.silence("Secondary-D")
    world.start("Secondary-A")
    world.beat("Secondary-A", "Writing the spec")
    data = visitor.data("/board.json")
    assert [gate["id"] for gate in data["gates"]] == ["store", "dashboard"]
    assert [alert["value"] for alert in data["alerts"]] == ["$26.50"]
    assert [card["name"] for card in data["silent"]] == ["Secondary-D"]
    (running,) = data["running"]
    assert (running["name"], running["doing"]) == ("Secondary-A", "Writing the spec")
    assert running["branch"] == "main"
    text = visitor.get("/board").text
    assert "<title>(4) Board" in text
    assert text.index("Needs you") < text.index("Running")
    assert "Holds up plan 06 from task 5" in text
    assert "waits 12 min" in text


def test_a_stop_is_said_on_the_board(world: World, visitor: Visitor) -> None:
    stop(world.workspace, "the bill is too high", by="ada", now=clock.now())
    assert "the bill is too high" in visitor.get("/board").text


def test_several_workspaces_on_one_board(world: World, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".holdfast").mkdir(parents=True)
    there = World(other)
    world.verify("Here")
    there.verify("There")
    with Visitor([str(world.root), str(other)]) as visitor:
        visitor.sign_in()
        data = visitor.data("/board.json")
        assert {(gate["workspace"], gate["title"]) for gate in data["gates"]} == {
            ("repository", "Here"),
            ("other", "There"),
        }
        assert visitor.get("/w/other/gates/dashboard").status_code == 200
    there.workspace.close()


def test_a_gate_is_shown_as_the_protocol_renders_it(world: World, visitor: Visitor) -> None:
    id = world.verify(url="http://127.0.0.1:3000/dashboard")
    (world.root / "README.md").write_text("One.\nTwo.\n")
    data = visitor.data(f"/w/{world.key}/gates/{id}.json")
    text = visitor.get(f"/w/{world.key}/gates/{id}").text
    assert data["rendered"].split("\n")[2] == "## Built: Dashboard"
    assert "Built: Dashboard" in text
    assert 'href="http://localhost:3000/dashboard"' in text
    assert data["changed"]["files"] == [{"path": "README.md", "added": 2, "removed": 1}]
    assert "README.md" in text


def test_what_an_agent_writes_is_text(world: World, visitor: Visitor) -> None:
    world.start("Secondary-A", HOSTILE.replace("/", ""))
    world.beat("Secondary-A", f"{HOSTILE}\x1b[31m\u202e")
    content = gate_content.decision(
        HOSTILE,
        [
            {"id": "a", "name": HOSTILE, "pros": HOSTILE, "cons": HOSTILE},
            {"id": "b", "name": "B", "pros": "p", "cons": "c"},
        ],
        context=HOSTILE,
    )
    id = world.ask(content, name="hostile", holds=HOSTILE, agent=HOSTILE)
    for path in ("/board", f"/w/{world.key}/gates/{id}"):
        text = visitor.get(path).text
        assert not re.search(r"<(script|img)(?! src=\"/static/)", text), path
        assert "&lt;script&gt;" in text
        assert "\x1b" not in text
        assert "\u202e" not in text


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/nowhere", "There is no such page."),
        ("/w/repository/gates/nothing", "There is no gate nothing."),
        ("/w/nowhere/gates/x", "There is no workspace nowhere on this page."),
    ],
)
def test_what_is_not_there_is_said_helpfully(visitor: Visitor, path: str, said: str) -> None:
    answer = visitor.get(path)
    assert answer.status_code == 404
    assert said in answer.text
    assert "To the board" in answer.text
    as_json = visitor.get(f"{path}.json")
    assert as_json.status_code == 404
    assert as_json.json()["error"]["kind"] == "not_found"


def test_an_id_that_cannot_be_one_is_refused(visitor: Visitor) -> None:
    assert visitor.get("/w/repository/gates/..%2fx").status_code in (400, 404)
    assert visitor.get("/w/repository/gates/a%00b").status_code == 400


def test_a_bug_is_a_page_and_the_next_request_is_answered(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from holdfast.web.pages import board

    with monkeypatch.context() as broken:
        broken.setattr(board, "asks", lambda: 1 / 0)
        answer = visitor.get("/board")
        assert answer.status_code == 500
        assert "A bug in holdfast" in answer.text
        assert "content-security-policy" in answer.headers
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert visitor.get("/board").status_code == 200


def test_a_journal_that_is_locked_is_said_and_comes_back(
    world: World, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = world.verify()
    path = f"/w/{world.key}/gates/{id}"
    from holdfast.journal.sqlite import SqliteJournal

    def away(*_: object, **__: object) -> None:
        raise StoreAway("Another process has held the journal for 10 s.", kind="store_busy")

    with monkeypatch.context() as locked:
        for name in ("load", "read", "latest", "since", "find", "heads", "head"):
            locked.setattr(SqliteJournal, name, away)
        board, gate = visitor.get("/board"), visitor.get(path)
        assert "held the journal" in board.text
        assert (gate.status_code, gate.headers["retry-after"]) == (503, "3")
        assert visitor.get(f"{path}.json").json()["error"]["retryable"] is True
    assert visitor.get(path).status_code == 200
    assert "held the journal" not in visitor.get("/board").text


def test_a_journal_that_was_replaced_is_read_anew(world: World, visitor: Visitor) -> None:
    world.verify("Before")
    assert "Before" in visitor.get("/board").text
    world.workspace.close()
    home = Path(world.workspace.home)
    for name in os.listdir(home):
        if name.startswith("journal.db"):
            os.rename(home / name, home / f"old-{name}")
    assert "Before" not in visitor.get("/board").text
    world.verify("After", name="after")
    assert "After" in visitor.get("/board").text


def test_a_damaged_journal_is_said(world: World, visitor: Visitor) -> None:
    world.verify()
    world.workspace.close()
    for ending in ("-wal", "-shm"):
        Path(world.workspace.journal_path + ending).unlink()
    Path(world.workspace.journal_path).write_bytes(b"no database" * 1000)
    answer = visitor.get("/board")
    assert answer.status_code == 200
    assert "is away" in answer.text


def test_200_agents_fit_into_150_kilobytes(world: World, visitor: Visitor) -> None:
    from tests.fleet.world import checkpoint

    folder = world.root / "agent_checkpoints"
    folder.mkdir()
    import json

    for number in range(200):
        agent = f"Secondary-{chr(65 + number // 26)}{chr(65 + number % 26)}"
        stem = agent.lower().replace("-", "_")
        said = {**checkpoint(clock.now()), "agent_id": agent, "feature": f"feature_{number}"}
        (folder / f"{stem}.json").write_text(json.dumps(said))
    answer = visitor.get("/board")
    assert len(visitor.data("/board.json")["running"]) == 200
    assert len(answer.content) < 150_000


def test_a_gate_of_a_sandboxed_agent_comes_out_of_its_inbox(world: World, visitor: Visitor) -> None:
    from holdfast.kernel import inbox
    from holdfast.kernel.digest import new_id

    world.verify()
    opened = world.workspace.journal.read("gate:dashboard")[0]["body"]
    command = {
        "do": "open",
        "strict": False,
        **opened,
        "content": {**opened["content"], "title": "Left"},
    }
    at = clock.precise(clock.now())
    inbox.put(
        world.workspace,
        {
            "id": new_id(),
            "stream": "gate:left",
            "command": command,
            "actor": "codex",
            "fence": None,
            "at": at,
        },
    )
    end = time.monotonic() + 30
    while "left" not in [gate["id"] for gate in visitor.data("/board.json")["gates"]]:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_what_a_session_spent_stands_on_its_card(world: World, visitor: Visitor) -> None:
    sample = Path(__file__).parent.parent / "clients" / "usage" / "samples" / "claude.compact.jsonl"
    agents.start(world.context(0), "Secondary-A", feature="feature_01", transcript=str(sample))
    end = time.monotonic() + 30
    while visitor.data("/board.json")["running"][0]["figures"]["cost"] is None:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert "$0.03" in visitor.get("/board").text


def test_a_file_whose_name_is_no_utf_8(world: World, visitor: Visitor, git: Git) -> None:
    id = world.verify()
    with open(os.path.join(os.fsencode(world.root), b"caf\xe9"), "w") as file:
        file.write("one\n")
    git("add", ".", at=world.root)
    assert "caf\ufffd" in visitor.get(f"/w/{world.key}/gates/{id}").text
    assert visitor.get(f"/w/{world.key}/gates/{id}.json").status_code == 200


def test_a_workspace_whose_folder_is_gone(tmp_path: Path) -> None:
    root = tmp_path / "brief"
    (root / ".holdfast").mkdir(parents=True)
    world = World(root)
    world.verify()
    with Visitor([str(root)]) as visitor:
        visitor.sign_in()
        assert visitor.get("/board").status_code == 200
        world.workspace.close()
        shutil.rmtree(root)
        assert visitor.get("/board").status_code == 200
        assert visitor.get(f"/w/{world.key}/gates/dashboard").status_code in (404, 503)


def test_the_head_of_a_stream_has_an_end(visitor: Visitor) -> None:
    assert visitor.client.head("/board.events").status_code == 200
    assert visitor.client.head("/records.events").status_code == 200


def test_a_full_disk_is_said_and_nothing_is_answered(
    world: World, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = world.verify()

    def full(*_: object, **__: object) -> None:
        raise StoreAway("The disk is full.", kind="disk_full")

    with monkeypatch.context() as filled:
        filled.setattr(answer_module, "commit", full)
        answer = visitor.send(f"/w/{world.key}/gates/{id}", answer="approved")
    assert answer.status_code == 503
    assert "The disk is full." in answer.text
    assert world.gate(id)["answer"] is None
