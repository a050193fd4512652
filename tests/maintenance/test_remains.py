"""`uninstall` says what is left, and its commands remove it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Holdfast
from tests.conftest import Git

pytestmark = pytest.mark.usefixtures("repository")


def test_what_is_left_is_named_and_its_commands_remove_it(holdfast: Holdfast, git: Git) -> None:
    before = git("status", "--porcelain", "--ignored")
    holdfast("init", "--client", "claude")
    holdfast("checkpoint", "--task", "Renderer")
    holdfast("note", "one")
    Path("untracked").write_text("x")
    holdfast("snapshot", "create")
    Path("untracked").unlink()
    answer = holdfast("uninstall", "--json")
    left = answer.data["left"]
    assert [one["path"] for one in left if one["path"].endswith(".git/holdfast")]
    assert [one["path"] for one in left if one["path"].endswith(".ccc-progress.md")]
    for one in left:
        subprocess.run(one["remove"], shell=True, check=True, capture_output=True)
    assert not Path(".git/holdfast").exists()
    assert git("for-each-ref", "refs/holdfast") == ""
    assert git("status", "--porcelain", "--ignored") == before
    assert holdfast("uninstall", "--json").data["left"] == []


def test_the_text_has_each_command_on_a_line_of_its_own(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    lines = [line.strip() for line in holdfast("uninstall").out.splitlines()]
    assert f"rm -r {Path('.git/holdfast').resolve()}" in lines
    assert Path(".git/holdfast/journal.db").exists()
