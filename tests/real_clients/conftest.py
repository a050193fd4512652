"""A project and a throw-away home for each real client.

A client that is missing fails its tests, with the reason: skipping would call something proved that
nobody looked at.
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from scripts import plugins
from scripts.clients import why_missing

from tests.real_clients.world import KINDS, Claude, Client, Codex, Inspector, Opencode

if TYPE_CHECKING:
    from collections.abc import Iterator


def ready(kind: type[Client], project: Path, home: Path) -> Client:
    """A client in a project, with a home of its own; the test fails where it is not installed."""
    missing = why_missing(kind.name)
    if missing:
        pytest.fail(f"This client was not tried. {missing}")
    return kind(project, home)


@pytest.fixture(autouse=True)
def _no_process_outlives_its_test(tmp_path: Path) -> Iterator[None]:
    """Codex starts a server of its own in the background, from a copy of itself in the home."""
    yield
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.exe().startswith(f"{tmp_path}/"):
                process.kill()


@pytest.fixture(params=KINDS, ids=lambda kind: str(kind.name))
def client(request: pytest.FixtureRequest, repository: Path, tmp_path: Path) -> Client:
    """Each in turn, with holdfast not yet installed."""
    return ready(request.param, repository, tmp_path / "home")


@pytest.fixture
def claude(repository: Path, tmp_path: Path) -> Client:
    return ready(Claude, repository, tmp_path / "home")


@pytest.fixture
def codex(repository: Path, tmp_path: Path) -> Client:
    return ready(Codex, repository, tmp_path / "home")


@pytest.fixture
def opencode(repository: Path, tmp_path: Path) -> Client:
    return ready(Opencode, repository, tmp_path / "home")


@pytest.fixture
def inspector(repository: Path, tmp_path: Path) -> Inspector:
    found = ready(Inspector, repository, tmp_path / "home")
    assert isinstance(found, Inspector)
    return found


@pytest.fixture
def market(tmp_path: Path) -> Path:
    """What a clone of this repository has; the whole of it would bring the clients along."""
    folder = tmp_path / "market"
    shutil.copytree(plugins.PLUGINS, folder / "plugins")
    shutil.copytree(plugins.ROOT / ".claude-plugin", folder / ".claude-plugin")
    return folder
