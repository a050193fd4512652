"""`resume --ask`: a copy of a session that ended says what no transcript tells. tests/real_clients runs the real programs."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

import holdfast as library
from holdfast.kernel import latch
from holdfast.kernel.errors import NotAllowed
from holdfast.kernel.workspace import discover
from tests.clients.conformance.cases import CASES
from tests.gates.person import Seen, Terminal
from tests.session import world
from tests.session.test_at_work import Clients, clients
from tests.session.test_grandchildren import REQUEST, RULE, Sessions
from tests.session.world import Holdfast

holdfast, home = world.holdfast, world.home

__all__ = ["clients"]
ANSWER = """\
Findings: the rounding is per line, because `pytest tests/1` proves it
Dead ends: rounding the sum, because the tax office rounds each line
Wanted: every line keeps its own rounding
Not done: run `pytest tests/1`"""


@pytest.fixture
def sessions(repository: Path, home: Path, holdfast: Holdfast) -> Sessions:
    found = Sessions(repository)
    found.leave(f"{REQUEST} {RULE}")
    holdfast("init")
    return found


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program `claude` that answers, and writes down how it was called."""
    return install(tmp_path, monkeypatch, ANSWER)


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, answer: str, **more: Any) -> Path:
    usage = {"input_tokens": 1_000_000, "output_tokens": 0}
    said = {
        "type": "result",
        "result": answer,
        "usage": usage,
        "modelUsage": {"claude-opus-4-5": {}},
    }
    (folder / "said.json").write_text(json.dumps({**said, **more}))
    program = folder / "programs" / "claude"
    program.parent.mkdir(exist_ok=True)
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" "COPY=$_HOLDFAST_COPY" >{folder}/called\ncat {folder}/said.json\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return folder / "called"


def ask(*words: str) -> Seen:
    return Terminal("resume", "--ask", *words).leave()


def pack_of(holdfast: Holdfast) -> str:
    return str(holdfast("resume", "--json").data["pack"])


def test_the_answer_stands_in_the_pack_as_that_sessions(
    sessions: Sessions, client: Path, holdfast: Holdfast
) -> None:
    seen = ask()
    assert seen.code == 0, seen.screen
    called = client.read_text().split("\n")
    for word in ("--fork-session", "--no-session-persistence", "--strict-mcp-config", "COPY=1"):
        assert word in called
    assert called[called.index("--tools") + 1] == ""
    pack = pack_of(holdfast)
    title = "## Stated by that session itself, less than a minute ago, a copy of it was asked, for $5.00"
    assert f"{title}\n- Findings: the rounding is per line" in pack
    assert pack == pack_of(holdfast), "the same text for the same state"
    assert title in seen.screen
    shown = holdfast("history", "--json").data["records"][0]
    assert (shown["kind"], shown["actor"]) == ("answered", "claude")


def test_where_the_observed_says_otherwise_both_are_said(
    sessions: Sessions, client: Path, holdfast: Holdfast
) -> None:
    ask()
    pack = pack_of(holdfast)
    passed = "(observed: `pytest tests/1` passed when it last ran)"
    assert f"- Not done: run `pytest tests/1` {passed}" in pack
    assert "because `pytest tests/1` proves it\n" in pack, "nothing says otherwise there"


def test_its_cost_counts_as_the_sessions(
    sessions: Sessions, client: Path, holdfast: Holdfast
) -> None:
    id = f"{1:08d}-0000-4000-8000-000000000000"
    from holdfast.usage.spending import measure_session

    def spent() -> float:
        with contextlib.closing(discover()) as workspace:
            return float(measure_session(workspace, session=id, now=0)["cost_at_least"])

    before = spent()
    ask()
    assert spent() - before == pytest.approx(5.0)


def test_an_agent_may_not_order_it(
    sessions: Sessions, client: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = holdfast("resume", "--ask", "--json")
    assert refused.code == 4
    assert "no terminal" in refused.envelope["error"]["message"]
    monkeypatch.setenv("CLAUDECODE", "1")
    seen = ask()
    assert seen.code == 4
    assert "Only a person may ask a session, which costs money" in seen.screen
    assert not client.exists()


def test_the_library_asks_a_person_at_the_programs_terminal(
    sessions: Sessions, client: Path, holdfast: Holdfast
) -> None:
    with pytest.raises(NotAllowed, match="no terminal"), library.open() as opened:
        opened.ask_session()
    script = "import holdfast; print(holdfast.open().ask_session()['answer'])"
    seen = Terminal(script=script).leave()
    assert "rounding the sum, because the tax office rounds each line" in seen.screen
    assert "rounding the sum, because the tax office" in pack_of(holdfast)


def test_a_session_whose_id_is_an_option_is_not_asked(
    sessions: Sessions, client: Path, home: Path
) -> None:
    (transcript,) = (home / ".claude/projects").rglob("*.jsonl")
    hostile = transcript.with_name("--mcp-config=x.jsonl")
    transcript.rename(hostile)
    seen = ask("--transcript", str(hostile))
    assert "its id is an option" in " ".join(seen.screen.split())
    assert not client.exists()


def test_a_session_at_work_is_not_asked(sessions: Sessions, client: Path, clients: Clients) -> None:
    clients.start("claude")
    seen = ask("--session", CASES["claude"].session)
    assert seen.code == 0, seen.screen
    assert "This session of Claude Code is at work at this moment" in " ".join(seen.screen.split())
    assert not client.exists()


def test_a_client_that_is_missing_is_named(
    sessions: Sessions, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    seen = ask()
    assert seen.code == 0
    assert "claude is not installed, or not on the PATH." in " ".join(seen.screen.split())
    assert REQUEST[:40] in seen.screen


def test_a_stop_refuses_it(sessions: Sessions, client: Path, holdfast: Holdfast) -> None:
    assert holdfast("estop", "the bill").code == 0
    seen = ask()
    assert seen.code == 7, seen.screen
    assert not client.exists()


def test_without_an_answer_one_line_says_why(
    sessions: Sessions, tmp_path: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, "Not logged in", is_error=True)
    seen = ask()
    assert seen.code == 0
    assert 'Claude Code gave no answer: "Not logged in"' in " ".join(seen.screen.split())
    assert REQUEST[:40] in seen.screen
    assert "Stated by that session itself" not in pack_of(holdfast)


def test_a_stop_that_is_set_meanwhile_ends_the_client(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = install(tmp_path, monkeypatch, ANSWER)
    program = tmp_path / "programs" / "claude"
    program.write_text(f"#!/bin/sh\necho $$ >{called}\nexec sleep 600\n")
    terminal = Terminal("resume", "--ask")
    world.wait_for(lambda: called.exists() and called.read_text().strip() != "")
    with contextlib.closing(discover()) as workspace:
        latch.engage(workspace, "enough", by="estop", now=1)
    seen = terminal.leave()
    assert seen.code == 7, seen.screen
    assert not world.is_running(int(called.read_text()))
    with contextlib.closing(discover()) as workspace:
        assert os.listdir(os.path.join(workspace.private, "asks")) == []


def test_what_a_session_says_at_a_checkpoint_keeps_its_time(
    sessions: Sessions, holdfast: Holdfast
) -> None:
    """The question at 60 % of the context is answered with a checkpoint."""
    id = f"{1:08d}-0000-4000-8000-000000000000"
    words = ("checkpoint", "--session", id, "--skip-git")
    assert holdfast(*words, "--handover", ANSWER).code == 0
    assert holdfast(*words, "--next", "round each line").code == 0
    pack = pack_of(holdfast)
    section = pack.partition("## Stated by that session itself, less than a minute ago\n")[2]
    lines = section.partition("\n## ")[0].split("\n")
    assert lines[1] == "- Dead ends: rounding the sum, because the tax office rounds each line"
    assert len(lines) == 4
    long = holdfast(*words, "--handover", "Findings: " + "x" * 3_000)
    assert long.code == 0
    assert "(cut: it had 3,010 characters)" in pack_of(holdfast).replace("\n", "")
