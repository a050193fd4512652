"""Which workspaces the page finds by itself."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from holdfast.kernel.trust import WORKSPACES
from holdfast.kernel.workspace import discover, user_folder
from holdfast.maintenance import known_roots
from tests.cli import conftest as command_line
from tests.cli.conftest import Holdfast
from tests.conftest import Git

holdfast = command_line.holdfast


def test_init_writes_the_workspace_down_once(repository: Path, holdfast: Holdfast) -> None:
    assert known_roots.list_roots() == []
    for _ in range(2):
        assert holdfast("init", "--client", "claude").code == 0
    assert known_roots.list_roots() == [str(repository)]
    assert holdfast("uninstall").code == 0
    assert known_roots.list_roots() == []


def test_a_dry_run_writes_nothing_down(repository: Path, holdfast: Holdfast) -> None:
    holdfast("init", "--client", "claude", "--dry-run")
    assert known_roots.list_roots() == []


def test_all_worktrees_are_one_workspace(repository: Path, git: Git, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git("worktree", "add", "--quiet", str(linked), at=repository)
    known_roots.remember(discover(str(linked)))
    assert known_roots.list_roots() == [str(repository)]


def test_what_is_gone_is_left_out(tmp_path: Path, repository: Path) -> None:
    known_roots.remember(discover(str(repository)))
    file = Path(user_folder()) / WORKSPACES
    document = json.loads(file.read_text())
    document["workspaces"] += [str(tmp_path / "gone"), 7]
    file.write_text(json.dumps(document))
    assert known_roots.list_roots() == [str(repository)]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"workspaces": 3}', "\xff"])
def test_a_damaged_file_is_no_obstacle(repository: Path, text: str) -> None:
    folder = Path(user_folder())
    folder.mkdir(parents=True)
    (folder / WORKSPACES).write_text(text, encoding="latin-1")
    assert known_roots.list_roots() == []
    known_roots.remember(discover(str(repository)))
    assert known_roots.list_roots() == [str(repository)]


def test_init_works_where_nothing_can_be_written_down(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(repository / "README.md"))
    answer = holdfast("init", "--client", "claude")
    assert answer.code == 0
    assert "will not find" in answer.err


def test_two_at_once_are_both_written_down(tmp_path: Path) -> None:
    roots = [tmp_path / f"project-{number}" for number in range(8)]
    for root in roots:
        (root / ".holdfast").mkdir(parents=True)
    threads = [
        threading.Thread(target=known_roots.remember, args=(discover(str(root)),)) for root in roots
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(known_roots.list_roots()) == sorted(str(root) for root in roots)
