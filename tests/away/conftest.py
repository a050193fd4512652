"""A home with sessions that clients left overnight, in projects with different ends."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli import conftest as command_line
from tests.conftest import Git
from tests.memory import conftest as memory
from tests.session import world

holdfast = command_line.holdfast
home = world.home
put = memory.put
Put = memory.Put

FAILING, OPEN, DONE, IDLE = (
    f"{letter * 8}-aaaa-4000-8000-00000000000{number}"
    for number, letter in enumerate("1234", start=1)
)
COMMITTED = "[main 1a2b3c4] Parse dates in UTC\n 1 file changed, 1 insertion(+)"
HOUR = 3600
MakeProject = Callable[[str], Path]


@pytest.fixture
def make_project(tmp_path: Path, git: Git) -> MakeProject:
    """`make_project("shop")`: a repository with one commit, which is pushed."""

    def make(name: str) -> Path:
        root = Path(os.path.realpath(tmp_path)) / name
        git("init", "--quiet", "--bare", f"{root}.git", at=tmp_path)
        git("clone", "--quiet", f"{root}.git", str(root), at=tmp_path)
        (root / "dates.py").write_text("utc()\n")
        git("add", ".", at=root)
        git("commit", "--quiet", "--message", "first", at=root)
        git("push", "--quiet", "--set-upstream", "origin", "HEAD", at=root)
        return root

    return make


def age(path: Path, hours: float) -> None:
    """Let a transcript have been written so long ago."""
    at = time.time() - hours * HOUR
    os.utime(path, (at, at))


@pytest.fixture
def night(make_project: MakeProject, put: Put, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four sessions in two projects: a failing test, a change that is not committed, one that is pushed, and a
    question. The folder of the first project."""
    shop, api = make_project("shop"), make_project("api")
    failing = put(
        shop,
        FAILING,
        [
            ("user", "Drop the retry on 503 from the payment client."),
            ("Edit", f"{shop / 'pay.py'}|retry(503)|send_once()"),
            ("passed", ""),
            ("Bash", "pytest tests/test_pay.py"),
            ("failed", "FAILED tests/test_pay.py::test_timeout - TimeoutError: gateway"),
        ],
    )
    left = put(
        api,
        OPEN,
        [
            ("user", "Write the limits of the API into limits.md."),
            ("Edit", f"{api / 'limits.md'}|old|new"),
            ("passed", ""),
            ("assistant", "The limits are in. I did not commit them."),
        ],
    )
    (api / "limits.md").write_text("new\n")
    done = put(
        shop,
        DONE,
        [
            ("user", "Parse the dates of the import in UTC."),
            ("Edit", f"{shop / 'dates.py'}|local()|utc()"),
            ("passed", ""),
            ("Bash", "pytest tests/test_dates.py"),
            ("passed", "===== 3 passed in 0.01s ====="),
            ("Bash", "git commit --all --message 'Parse dates in UTC'"),
            ("passed", COMMITTED),
            ("assistant", "Dates are parsed in UTC now."),
        ],
    )
    asked = put(shop, IDLE, [("user", "What does dates.py do?"), ("assistant", "It parses dates.")])
    for path, hours in ((failing, 6), (left, 3), (done, 2), (asked, 1)):
        age(path, hours)
    monkeypatch.chdir(shop)
    return shop
