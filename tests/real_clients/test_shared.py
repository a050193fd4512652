"""A clone with the hooks of a team's `init --shared`, whose user has no Holdfast."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from holdfast.clients.settings.shared import HINT
from tests.conftest import Git
from tests.real_clients.conftest import ready
from tests.real_clients.world import Claude, Client

pytestmark = pytest.mark.clients


def test_without_holdfast_the_client_is_fine_and_is_told_once_how_to_get_it(
    claude: Client, repository: Path, git: Git, tmp_path: Path
) -> None:
    claude.holdfast("init", "--shared", "--client", "claude")
    git("add", "--all", at=repository)
    git("commit", "--quiet", "--message", "Hooks for all of us", at=repository)
    clone, home = tmp_path / "clone", tmp_path / "colleague"
    subprocess.run(["git", "clone", "--quiet", str(repository), str(clone)], check=True)
    colleague = ready(Claude, clone, home)
    runs = [
        colleague.run("hello", [colleague.shell("echo made > made.txt"), {"text": "I greet you."}])
        for _ in range(2)
    ]
    for run in runs:
        assert run.code == 0, run.told
        assert "I greet you." in run.out
    assert [any(HINT in one for one in run.asked) for run in runs] == [True, False]
    status = git("status", "--porcelain", at=clone)
    assert status.split() == ["??", "made.txt"]
    assert not (home / ".local" / "share" / "holdfast").exists()
    assert not (clone / ".git" / "holdfast").exists()
