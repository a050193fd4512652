"""A compaction of Claude Code with our mod: the pack stands where the conversation was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import holdfast
from tests.real_clients.world import Client, Run, eventually

pytestmark = pytest.mark.clients

RULING = "Don't touch the public API of the parser."
SUMMARY = "<summary>Somebody wanted milk.</summary>"


ASKED = f"Read parser.py. {RULING}"


def prepare(claude: Client, market: Path, setting: str = "") -> None:
    if setting:
        Path("holdfast.toml").write_text(f'[claude]\ncompaction = "{setting}"\n')
    Path("parser.py").write_text("parse = str.split\n")
    claude.install_plugin(market)


def kinds(stream: str = "session:*") -> list[str]:
    with holdfast.open() as workspace:
        return [record["kind"] for record in workspace.history(stream=stream)]


def compacted(
    claude: Client,
    market: Path,
    typed: str,
    *answers: str,
    setting: str = "",
    aside: dict[str, Any] | None = None,
    **job: Any,
) -> Run:
    """Work, compact with what is typed, and ask again. `aside` runs before what is typed."""
    prepare(claude, market, setting)
    script = [
        claude.read("parser.py"),
        {"text": "FIRST-ANSWER"},
        *({"text": text} for text in answers),
        {"text": "LAST-ANSWER"},
    ]
    besides = [{"run": aside, "type": []}] if aside else []
    steps = [
        {"sees": "shift+tab to cycle", "type": [ASKED, "\r"]},
        {"sees": "FIRST-ANSWER", "type": []},
        *besides,
        {"type": [typed, "\r"]},
        {"sees": "Compacted", "type": ["and now", "\r"]},
        {"sees": "LAST-ANSWER", "type": ["/exit", "\r"]},
    ]
    run = claude.start([], script, steps=steps, **job)
    assert run.code == 0, run.told
    return run


@pytest.mark.parametrize(
    ("typed", "setting"), [("/compact", "instant"), ("/holdfast:compact", "off")]
)
def test_instant_compaction_asks_no_model_and_keeps_the_ruling(
    claude: Client, market: Path, typed: str, setting: str
) -> None:
    run = compacted(claude, market, typed, setting=setting)
    assert len(run.asked) == 3, "two of the first turn, one of the last"
    last = json.loads(run.asked[-1])["messages"]
    pack = json.dumps(last[0], ensure_ascii=False)
    assert "Request under way" in pack
    assert RULING in pack
    assert "The whole conversation until here: " in pack
    assert run.asked[-1].count("## Request under way") == 1, "it is there once"
    assert "FIRST-ANSWER" in run.asked[-1], "the last messages stand word for word"
    eventually(lambda: {"observed", "captured"} <= set(kinds()))


def test_assisted_compaction_gives_the_pack_to_the_clients_own_summary(
    claude: Client, market: Path
) -> None:
    run = compacted(claude, market, "/compact", SUMMARY)
    assert len(run.asked) == 4
    _, _, summing, after = run.asked
    assert "Holdfast recorded the facts below" in summing
    assert summing.count("## Request under way") == 1
    assert "Somebody wanted milk." in after
    assert after.count("## Request under way") == 1, "and once into the context after it"


def test_with_the_setting_off_the_compaction_is_the_clients(claude: Client, market: Path) -> None:
    run = compacted(claude, market, "/compact", SUMMARY, setting="off")
    assert len(run.asked) == 4
    assert "Holdfast recorded the facts below" not in run.asked[2]


# A compaction that the client begins by itself

NEARLY_FULL = 990_000  # tokens, of a window of a million


@pytest.mark.parametrize(("setting", "requests"), [("instant", 3), ("assist", 4), ("off", 4)])
def test_an_automatic_compaction_is_as_the_setting_says(
    claude: Client, market: Path, setting: str, requests: int
) -> None:
    prepare(claude, market, setting)
    summaries = [{"text": SUMMARY}] if requests == 4 else []
    run = claude.start(
        [],
        [
            claude.read("parser.py"),
            {"text": "FIRST-ANSWER", "tokens": NEARLY_FULL},
            *summaries,
            {"text": "LAST-ANSWER"},
        ],
        steps=[
            {"sees": "shift+tab to cycle", "type": [ASKED, "\r"]},
            {"sees": "FIRST-ANSWER", "type": ["and now", "\r"]},
            {"sees": "LAST-ANSWER", "type": ["/exit", "\r"]},
        ],
    )
    assert run.code == 0, run.told
    assert len(run.asked) == requests
    packs = 0 if setting == "off" else 1
    assert run.asked[-1].count("## Request under way") >= packs
    if setting == "instant":
        assert RULING in json.dumps(json.loads(run.asked[-1])["messages"][0], ensure_ascii=False)
    else:
        assert "Somebody wanted milk." in run.asked[-1]
        assert ("Holdfast recorded the facts below" in run.asked[2]) == bool(packs)


# Whatever is broken, the compaction is the client's


def is_the_clients_own(run: Run) -> bool:
    return len(run.asked) == 4 and "Somebody wanted milk." in run.asked[-1]


def test_without_the_command_holdfast_the_compaction_is_the_clients(
    claude: Client, market: Path
) -> None:
    elsewhere = {**claude.environment(), "PATH": "/usr/bin:/bin"}
    run = compacted(claude, market, "/compact", SUMMARY, setting="instant", environment=elsewhere)
    assert is_the_clients_own(run), run.told


def test_with_a_journal_that_cannot_be_read_the_compaction_is_the_clients(
    claude: Client, market: Path
) -> None:
    claude.holdfast("note", "There is a journal.")
    spoiled = "for file in .git/holdfast/journal.db*; do printf garbage >$file; done"
    run = compacted(
        claude,
        market,
        "/compact",
        SUMMARY,
        setting="instant",
        aside={"command": ["sh", "-c", spoiled]},
    )
    assert is_the_clients_own(run), run.told
    assert "BAD  The journal" in claude.holdfast("doctor", ends_with=1)


@pytest.mark.parametrize("answer", ["null", "[]", "{}", '{"pack": 5}', "not JSON", ""])
def test_with_an_answer_that_is_no_pack_the_compaction_is_the_clients(
    claude: Client, market: Path, answer: str, tmp_path: Path
) -> None:
    program = tmp_path / "elsewhere" / "holdfast"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nprintf '%s' '{answer}'\n")
    program.chmod(0o755)
    elsewhere = {**claude.environment(), "PATH": f"{program.parent}:/usr/bin:/bin"}
    run = compacted(claude, market, "/compact", SUMMARY, setting="instant", environment=elsewhere)
    assert is_the_clients_own(run), run.told


def test_with_a_handler_that_throws_the_compaction_is_the_clients(
    claude: Client, market: Path
) -> None:
    mod = market / "plugins" / "holdfast" / "hooks" / "register.js"
    begin = "on('session.compact', async ($, e, next) => {\n"
    assert begin in mod.read_text()
    mod.write_text(mod.read_text().replace(begin, f"{begin}    throw new Error('broken')\n"))
    run = compacted(claude, market, "/compact", SUMMARY, setting="instant")
    assert is_the_clients_own(run), run.told


# A person who stops the agent


def test_after_an_interrupted_turn_an_instant_compaction_keeps_what_was_asked(
    claude: Client, market: Path
) -> None:
    prepare(claude, market, "instant")
    run = claude.start(
        [],
        [
            claude.read("parser.py"),
            {"text": "NEVER-SEEN", "silent": 20},
            {"text": "LAST-ANSWER"},
        ],
        steps=[
            {"sees": "shift+tab to cycle", "type": [ASKED, "\r"]},
            {"asked": 2, "type": ["\x1b"]},
            {"sees": "Claude do instead?", "type": ["/compact", "\r"]},
            {"sees": "Compacted", "type": ["and now", "\r"]},
            {"sees": "LAST-ANSWER", "type": ["/exit", "\r"]},
        ],
    )
    assert run.code == 0, run.told
    assert len(run.asked) == 3, "the turn's two, of which one was cut off, and the last"
    assert RULING in json.dumps(json.loads(run.asked[-1])["messages"][0], ensure_ascii=False)


def test_an_assisted_compaction_that_is_interrupted_leaves_the_conversation(
    claude: Client, market: Path
) -> None:
    prepare(claude, market)
    run = claude.start(
        [],
        [
            claude.read("parser.py"),
            {"text": "FIRST-ANSWER"},
            {"text": SUMMARY, "silent": 20},
            {"text": "LAST-ANSWER"},
        ],
        steps=[
            {"sees": "shift+tab to cycle", "type": [ASKED, "\r"]},
            {"sees": "FIRST-ANSWER", "type": ["/compact", "\r"]},
            {"asked": 3, "type": ["\x1b"]},
            # The client puts the command back into its input line, and the person empties that.
            {"sees": "optional custom summarization", "type": ["\x15", "and now", "\r"]},
            {"sees": "LAST-ANSWER", "type": ["/exit", "\r"]},
        ],
    )
    assert run.code == 0, run.told
    assert len(run.asked) == 4
    assert "FIRST-ANSWER" in run.asked[-1]
    assert "Somebody wanted milk." not in run.asked[-1]
