"""Snapshots by a user who may not read or write everything. As root, by a child that becomes another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kernel.views.scene import (
    IS_ROOT,
    NOBODY,
    give_to_nobody,
    new_repository,
    open_to_all,
    remove,
)

# Everything is loaded before the rights are given up: the interpreter's folder may be closed to others.
CHILD = f"""
import encodings.ascii, json, os, subprocess, sys, selectors, signal
import holdfast.git.snapshot, holdfast.git.capture, holdfast.git.shadow_index
import holdfast.git.capture, holdfast.git.shadow_index
from holdfast.git.snapshot import create
from holdfast.kernel.errors import HoldfastError
if os.geteuid() == 0:
    os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
try:
    print(json.dumps(create(sys.argv[1])))
except HoldfastError as error:
    print(json.dumps({{"kind": error.kind, "code": error.exit_code}}))
"""


@pytest.fixture
def project() -> Iterator[Path]:
    """A repository of the other user's, in a folder that they can get to."""
    outer = open_to_all()
    root = new_repository(outer / "project")
    (root / "README.md").write_text("A project.\n")
    give_to_nobody(root)
    yield root
    for folder in (root / ".git", root):
        folder.chmod(0o755)
    remove(outer)


def create(root: Path) -> dict[str, Any]:
    environment = {**os.environ, "HOME": str(root), "GIT_CONFIG_GLOBAL": "/dev/null"}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(root)],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def test_unreadable_files_are_named(project: Path) -> None:
    (project / "secret").write_text("x")
    give_to_nobody(project)
    (project / "secret").chmod(0)
    assert create(project)["skipped"] == [{"path": "secret", "reason": "not readable"}]


def test_a_read_only_git_dir_says_so(project: Path) -> None:
    (project / ".git").chmod(0o500)
    assert create(project) == {"kind": "read_only", "code": 75}


def test_the_child_really_has_no_rights(project: Path) -> None:
    """Or the two tests above would say nothing."""
    assert "id" in create(project)
    if IS_ROOT:
        assert (project / ".git" / "holdfast").stat().st_uid == NOBODY
