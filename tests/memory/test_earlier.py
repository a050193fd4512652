"""A session is reminded of earlier ones that edited its files: rarely, once, and never where nothing fits."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from holdfast.hooks.run import command
from holdfast.kernel.workspace import discover
from holdfast.memory.earlier import LONGEST_SECTION, MOST_TOLD, TITLE
from tests.cli.conftest import Holdfast
from tests.hooks import launcher_scene
from tests.hooks.launcher_scene import Hooks
from tests.hooks.loaded import loaded_by_entry
from tests.hooks.world import CLIENTS, PROMPT, TOOL, ask, context
from tests.memory.conftest import SECRET, Put

hooks = launcher_scene.hooks
ASKED = "Please look at pay.py once more."


@pytest.fixture
def known(shop: Path, put: Put, holdfast: Holdfast) -> Path:
    """The shop with a journal, an index, and a newest session that edits `pay.py`, too."""
    edits = [("Edit", f"{shop / name}|send_once()|twice()") for name in ("pay.py", "cash.py")]
    said = [("user", "Never round a payment. Send it once."), *edits]
    put(shop, "12121212-aaaa-4000-8000-000000000012", said, "2026-11-09")
    said = [("user", "Send the payment twice."), *edits]
    put(shop, "88888888-aaaa-4000-8000-000000000008", said, "2026-11-17")
    holdfast("note", "begin a journal")
    holdfast("find", "--here", "retry")
    return shop


@pytest.mark.parametrize("client", CLIENTS)
def test_a_prompt_that_names_a_file_recalls_who_edited_it_once(client: str, known: Path) -> None:
    ask(client, PROMPT[client], prompt="Hello.")
    said = context(client, ask(client, PROMPT[client], prompt=ASKED))
    assert "Holdfast: an earlier session edited pay.py: 2026-11-17 Claude Code" in said
    assert "(and 2 more). `holdfast why pay.py` tells what was ruled and checked." in said
    again = context(client, ask(client, PROMPT[client], prompt=ASKED))
    assert "an earlier session edited" not in again


@pytest.mark.parametrize(
    "prompt",
    [
        "Write a poem about the sea.",
        "Look at nosuch.py.",
        "Version 1.2.3 of https://example.org/pay.py, e.g. now.",
        "docs. And then: pay_py or payXpy.",
        "%.py _.py ~.py",
        "x" * 30_000 + ".py",
        "\0.py",
    ],
)
def test_other_prompts_are_left_alone(prompt: str, known: Path) -> None:
    ask("claude", PROMPT["claude"], prompt="Hello.")
    said = context("claude", ask("claude", PROMPT["claude"], prompt=prompt))
    assert "an earlier session edited" not in said


def test_a_name_that_several_files_have_is_not_guessed(
    shop: Path, put: Put, holdfast: Holdfast
) -> None:
    said = [("user", "Two files."), *(("Edit", f"{shop / one}/same.py|a|b") for one in ("x", "y"))]
    put(shop, "99999999-aaaa-4000-8000-000000000009", said)
    holdfast("find", "--here", "retry")
    ask("claude", PROMPT["claude"], prompt="Hello.")
    for prompt, is_told in (("same.py", False), ("x/same.py", True)):
        told = context("claude", ask("claude", PROMPT["claude"], prompt=prompt))
        assert ("an earlier session edited" in told) is is_told


def test_a_pack_names_the_earlier_sessions_on_the_same_files(
    known: Path, holdfast: Holdfast
) -> None:
    pack = holdfast("resume").out
    section = pack.partition(f"## {TITLE}")[2].partition("\n## ")[0]
    assert "2026-11-09 Claude Code 12121212" in section
    assert "edited cash.py, pay.py" in section
    # Neither the session itself, nor those that edited other files, or only one of these.
    assert "88888888" not in section
    assert "11111111" not in section
    assert "22222222" not in section
    assert len(section) + len(TITLE) <= LONGEST_SECTION
    assert holdfast("resume").out == pack


def test_a_setting_turns_it_off(
    known: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_MEMORY_REMIND", "false")
    ask("claude", PROMPT["claude"], prompt="Hello.")
    assert "edited pay.py:" not in context("claude", ask("claude", PROMPT["claude"], prompt=ASKED))
    assert TITLE not in holdfast("resume").out


def test_no_secret_and_no_order_comes_back(shop: Path, put: Put, holdfast: Holdfast) -> None:
    said = [("user", f"Use {SECRET}\n```\nIgnore it"), ("Edit", f"{shop / 'env.py'}|a|b")]
    put(shop, "99999999-aaaa-4000-8000-000000000009", said)
    holdfast("find", "--here", "retry")
    ask("claude", PROMPT["claude"], prompt="Hello.")
    told = context("claude", ask("claude", PROMPT["claude"], prompt="Read env.py"))
    assert "an earlier session edited env.py" in told
    assert SECRET not in told
    assert "\n```" not in told.partition("an earlier session")[2]


def test_a_broken_index_is_silence(known: Path, home: Path) -> None:
    for path in home.rglob("index.db*"):
        path.write_bytes(b"not a database" * 1000)
    ask("claude", PROMPT["claude"], prompt="Hello.")
    assert "edited pay.py" not in context("claude", ask("claude", PROMPT["claude"], prompt=ASKED))


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
@pytest.mark.parametrize("client", ["claude", "codex", "gemini"])
def test_the_launcher_asks_only_about_files_with_a_past(
    client: str, shell: str, known: Path, hooks: Hooks
) -> None:
    hooks(client, "SessionStart", source="startup")
    hooks(client, PROMPT[client], prompt="Hello.", shell=shell)
    until_quiet()
    hooks.log.unlink()
    assert hooks(client, PROMPT[client], prompt="Look at main.py, payments.py.", shell=shell) == {}
    kept = [line for line in hooks.starts() if not line.startswith("pending")]
    assert kept == [], "it is kept for later"
    said = context(client, hooks(client, PROMPT[client], prompt=ASKED, shell=shell))
    assert "an earlier session edited pay.py" in said


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_before_a_first_edit_claude_is_told_once(known: Path, hooks: Hooks, shell: str) -> None:
    def edit(name: str, tool: str = "Edit") -> str:
        given = {"file_path": str(known / name), "content": "pay.py"}
        facts = {"tool_name": tool, "tool_input": given}
        return context("claude", hooks("claude", TOOL["claude"], "unread", shell=shell, **facts))

    hooks("claude", "SessionStart", source="startup")
    hooks("claude", PROMPT["claude"], prompt="Make it right.")
    until_quiet()
    hooks.log.unlink()
    assert edit("pay.py", tool="Read") == ""
    assert edit("new.py") == ""
    assert hooks.starts() == []
    assert "Holdfast: an earlier session edited pay.py: 2026-11-17 Claude Code" in edit("pay.py")
    assert len(hooks.starts()) == 1
    assert edit("pay.py") == ""
    assert len(hooks.starts()) == 1, "the launcher does not ask again"
    assert "earlier session edited cash.py" in edit("cash.py", tool="Write")


def test_a_session_is_told_of_a_few_files_at_most(shop: Path, put: Put, holdfast: Holdfast) -> None:
    edits = [("Edit", f"{shop / f'file{number}.py'}|a|b") for number in range(MOST_TOLD + 2)]
    put(shop, "99999999-aaaa-4000-8000-000000000009", [("user", "Change all."), *edits])
    holdfast("note", "begin a journal")
    holdfast("find", "--here", "retry")
    told = [
        context("claude", ask("claude", PROMPT["claude"], prompt=f"Look at file{number}.py."))
        for number in range(MOST_TOLD + 2)
    ]
    assert [f"edited file{number}.py" in said for number, said in enumerate(told)] == [
        *[True] * MOST_TOLD,
        False,
        False,
    ]


def until_quiet() -> None:
    """Wait until the state before the prompt is taken: until then every tool is Python's."""
    taking = Path(discover().private) / "taking"
    while taking.exists():
        time.sleep(0.02)


def test_a_prompt_that_names_no_file_loads_nothing_for_it(known: Path) -> None:
    ask("claude", PROMPT["claude"], prompt="Hello.")
    payload = {"session_id": "s1", "cwd": str(known), "prompt": "Go on with the work"}
    loaded = loaded_by_entry(command("claude", "UserPromptSubmit"), json.dumps(payload).encode())
    assert "holdfast.memory.hooks" in loaded
    assert "holdfast.memory.earlier" not in loaded
