"""`holdfast init` in a linked worktree: Codex takes its hooks from the main one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Git
from tests.session import world as session_world
from tests.session.world import Holdfast

holdfast = session_world.holdfast


@pytest.fixture
def side(repository: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A linked worktree, which is the current folder."""
    folder = repository.parent / "side"
    git("worktree", "add", "--quiet", str(folder), at=repository)
    monkeypatch.chdir(folder)
    return folder


def test_codex_finds_its_hooks_in_the_main_worktree(
    repository: Path, side: Path, holdfast: Holdfast
) -> None:
    done = holdfast("init", "--client", "codex", "--json")
    assert done.code == 0, done.err
    assert "run this in each worktree" in done.out
    for root in (repository, side):
        hooks = json.loads((root / ".codex" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
        assert "/holdfast/hook.sh" in json.dumps(hooks["Stop"])
    assert not (repository / ".codex" / "config.toml").exists()


def test_uninstall_restores_the_main_worktree_too(
    repository: Path, side: Path, holdfast: Holdfast
) -> None:
    own = repository / ".codex" / "hooks.json"
    own.parent.mkdir()
    own.write_bytes(b'{"hooks": {"Stop": []}  }')
    assert holdfast("init", "--client", "codex").code == 0
    assert holdfast("uninstall", "--client", "codex").code == 0
    assert own.read_bytes() == b'{"hooks": {"Stop": []}  }'
    assert not (side / ".codex").exists()


def test_in_a_repository_without_a_main_worktree_nothing_is_written_beside_it(
    tmp_path: Path,
    repository: Path,
    git: Git,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bare = tmp_path / "kept" / "bare.git"
    git("clone", "--quiet", "--bare", str(repository), str(bare))
    side = tmp_path / "linked"
    git("worktree", "add", "--quiet", str(side), at=bare)
    monkeypatch.chdir(side)
    assert holdfast("init", "--client", "codex").code == 0
    assert (side / ".codex" / "hooks.json").exists()
    assert sorted(path.name for path in bare.parent.iterdir()) == ["bare.git"]
