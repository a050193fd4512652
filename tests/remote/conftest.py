"""Two machines on one server, whose network can be taken away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.processes import relaunch
from tests.cli import conftest as command_line
from tests.journal.postgres import conftest as server
from tests.journal.postgres.proxy import Network
from tests.remote.world import Machine, Outage

if TYPE_CHECKING:
    from tests.conftest import Git

holdfast = command_line.holdfast
url = server.url
workspace_name = server.workspace_name


@pytest.fixture
def outage(url: str, workspace_name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outage]:
    """The server behind a network of its own, with its URL set as a user does."""
    with Network(url) as network:
        monkeypatch.setenv("HOLDFAST_URL", network.url)
        monkeypatch.setenv("HOLDFAST_JOURNAL_WORKSPACE", workspace_name)
        yield Outage(network)


@pytest.fixture
def machine(repository: Path, outage: Outage, monkeypatch: pytest.MonkeyPatch) -> Machine:
    # The snapshot that a hook leaves to a process of its own is not this story's.
    monkeypatch.setattr(relaunch, "leave", lambda *_: None)
    return Machine(repository, monkeypatch)


@pytest.fixture
def another(machine: Machine, tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> Machine:
    git("clone", "--quiet", str(machine.root), str(tmp_path / "there"))
    return Machine(tmp_path / "there", monkeypatch)
