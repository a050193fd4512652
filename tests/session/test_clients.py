"""`holdfast init` and `uninstall`: our hooks go in, and out again without a trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.hooks.run import command
from tests.session import world
from tests.session.world import Holdfast

holdfast = world.holdfast
nothing_of_the_developer = world.nothing_of_the_developer

SETTINGS = Path(".claude/settings.local.json")
OWN_HOOK = {"hooks": [{"type": "command", "command": "my-own-linter"}]}
ODD = [
    b'{"permissions":{"allow":["Bash(ls)"]}  ,\n\n\t"model" : "opus" }',
    b'\xef\xbb\xbf{"a": 1}',
    b'{\r\n  "a": 1\r\n}\r\n',
    b'{"text": "\\u00e4\\ud83d", "number": 1.0, "large": 1e5}',
    b"{}",
    b'{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}',
]


def settings() -> Any:
    return json.loads(SETTINGS.read_text("utf-8-sig"))


@pytest.mark.clause("CCC-03")
def test_the_hooks_are_those_that_the_entry_answers(repository: Path, holdfast: Holdfast) -> None:
    assert holdfast("init", "--client", "claude").code == 0
    hooks = settings()["hooks"]
    assert set(hooks) == {"SessionStart", "PreCompact", "Stop", "SessionEnd"}
    for event, [handler] in hooks.items():
        (ours,) = handler["hooks"]
        assert ours["type"] == "command"
        assert [ours["command"], *ours["args"]] == command("claude", event)
        assert ours["timeout"] > 0
        world.said(world.send(b"{}", event, words=[ours["command"], *ours["args"]]))


def test_twice_changes_nothing(repository: Path, holdfast: Holdfast) -> None:
    assert "Installed: claude" in holdfast("init").out
    once = SETTINGS.read_bytes()
    assert "Installed already: claude" in holdfast("init").out
    assert SETTINGS.read_bytes() == once


def test_without_a_file_before_there_is_none_afterwards(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("init")
    assert "Restored as it was" in holdfast("uninstall").out
    assert not SETTINGS.parent.exists()
    assert "Nothing of ours" in holdfast("uninstall").out


def test_a_folder_that_was_there_stays(repository: Path, holdfast: Holdfast) -> None:
    SETTINGS.parent.mkdir()
    holdfast("init")
    holdfast("uninstall")
    assert list(SETTINGS.parent.iterdir()) == []


@pytest.mark.parametrize("before", ODD)
def test_the_file_is_restored_byte_for_byte(
    repository: Path, holdfast: Holdfast, before: bytes
) -> None:
    SETTINGS.parent.mkdir()
    SETTINGS.write_bytes(before)
    for _ in range(2):
        assert holdfast("init").code == 0
    for name, value in json.loads(before.decode("utf-8-sig")).items():
        if name != "hooks":
            assert settings()[name] == value
    assert holdfast("uninstall").code == 0
    assert SETTINGS.read_bytes() == before


def test_hooks_and_later_edits_of_the_users_stay(repository: Path, holdfast: Holdfast) -> None:
    SETTINGS.parent.mkdir()
    SETTINGS.write_text(json.dumps({"hooks": {"Stop": [OWN_HOOK]}}))
    holdfast("init")
    now = settings()
    assert now["hooks"]["Stop"][0] == OWN_HOOK
    assert len(now["hooks"]["Stop"]) == 2
    now["model"] = "opus"
    now["hooks"]["PreToolUse"] = [OWN_HOOK]
    SETTINGS.write_text(json.dumps(now))
    assert "left the changes made since" in holdfast("uninstall").out
    assert settings() == {"hooks": {"Stop": [OWN_HOOK], "PreToolUse": [OWN_HOOK]}, "model": "opus"}


def test_a_hook_of_the_users_in_the_same_group_as_ours_stays(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("init")
    now = settings()
    now["hooks"]["Stop"][0]["hooks"].append(OWN_HOOK["hooks"][0])
    SETTINGS.write_text(json.dumps(now))
    holdfast("uninstall")
    assert settings() == {"hooks": {"Stop": [OWN_HOOK]}}


def test_an_older_installation_is_replaced_and_not_doubled(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("init")
    moved = SETTINGS.read_text().replace("python", "python-old")
    SETTINGS.write_text(moved)
    holdfast("init")
    assert [len(handlers) for handlers in settings()["hooks"].values()] == [1, 1, 1, 1]
    assert "python-old" not in SETTINGS.read_text()


def test_edited_between_and_installed_again_is_still_taken_out_cleanly(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("init")
    now = settings()
    now["model"] = "opus"
    del now["hooks"]["Stop"]
    SETTINGS.write_text(json.dumps(now))
    holdfast("init")
    holdfast("uninstall")
    assert settings() == {"model": "opus"}


@pytest.mark.parametrize(
    "before", [b"not json", b"[]", b'{"hooks": []}', b"\xff\xfe{", b'{"hooks": {"Stop": 7}}']
)
def test_what_is_not_settings_is_refused_and_untouched(
    repository: Path, holdfast: Holdfast, before: bytes
) -> None:
    SETTINGS.parent.mkdir()
    SETTINGS.write_bytes(before)
    answer = holdfast("init")
    assert answer.code == 1
    assert "settings.local.json" in answer.err
    assert SETTINGS.read_bytes() == before


def test_a_dry_run_changes_nothing(repository: Path, holdfast: Holdfast) -> None:
    assert "Would install: claude" in holdfast("init", "--dry-run").out
    assert not SETTINGS.parent.exists()
    holdfast("init")
    installed = SETTINGS.read_bytes()
    assert "would be: Restored as it was" in holdfast("uninstall", "--dry-run").out
    assert SETTINGS.read_bytes() == installed


def test_the_journal_and_the_work_stay(repository: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", *world.WORK)
    holdfast("init")
    before = world.PROGRESS.read_bytes()
    holdfast("uninstall")
    assert world.PROGRESS.read_bytes() == before
    assert holdfast("resume").code == 0
