"""What the proofs stand on: an empty repository to be copied, and strace."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.kernel.views.scene import new_repository


@pytest.fixture(scope="session")
def empty_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_repository(tmp_path_factory.mktemp("template") / "project")


@pytest.fixture(scope="session")
def strace() -> str:
    path = shutil.which("strace")
    if path is None:
        # Skipping would call something proved that nobody looked at.
        pytest.fail("strace is not installed, and this proof is nothing without it")
    return path
