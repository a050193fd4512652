"""The same operation through each of its faces: what it leaves behind must be the same."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import holdfast
from holdfast.cli.frame import run
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from tests.mcp.world import Face
from tests.trees import copy_tree

FACES = ("command line", "MCP", "library")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_ID = re.compile(r"\b[0-9a-f]{8,64}\b")
# The store itself, and locks: their content is not what an operation leaves behind.
_STORE = re.compile(
    r"^\.git/(?!holdfast/)|^\.git/holdfast/(journal|lock|displaced/|.*\.lock$|.*/holder$)"
)

Library = Callable[[holdfast.Workspace], object]


class Operation(NamedTuple):
    """One operation, as each face calls it; a face that has no way to call it is left out."""

    name: str
    setup: Callable[[], object] = lambda: None
    words: tuple[str, ...] = ()
    tool: str = ""
    arguments: dict[str, Any] | None = None
    library: Library | None = None
    fails: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def faces(self) -> list[str]:
        given = (bool(self.words), bool(self.tool), self.library is not None)
        return [face for face, has_it in zip(FACES, given, strict=True) if has_it]


class Trace(NamedTuple):
    """Records and files, without ids, times and the place of the workspace."""

    records: list[tuple[str, str, str, str]]
    files: dict[str, str]


class Faces:
    """Runs an operation through its faces, each in a fresh copy of one repository."""

    def __init__(self, first_commit: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._first_commit = first_commit
        self._folder = folder
        self._monkeypatch = monkeypatch

    def traces(self, operation: Operation) -> dict[str, Trace]:
        """What each face left behind."""
        return {face: self._run(operation, face) for face in operation.faces}

    def compare(self, operation: Operation) -> Trace:
        """Assert that each face left the same; what that was."""
        first, *others = self.traces(operation).values()
        assert others, f"{operation.name} has one face"
        for other in others:
            assert other == first
        assert first.records or operation.fails
        return first

    def fresh(self, name: str) -> Path:
        """A fresh copy of the repository, which is the current folder."""
        root = Path(os.path.realpath(self._folder)) / name.replace(" ", "-") / "repository"
        copy_tree(self._first_commit, root)
        self._monkeypatch.chdir(root)
        return root

    def _run(self, operation: Operation, face: str) -> Trace:
        root = self.fresh(face)
        # Whether a second passed in between is in some records; here it always did.
        begun = clock.parse("2026-11-16T12:00:00Z")
        self._monkeypatch.setattr(clock, "now", lambda: begun)
        operation.setup()
        self._monkeypatch.setattr(clock, "now", lambda: begun + clock.MINUTE)
        failed = self._call(operation, face, root)
        assert failed is operation.fails, f"{face}: {operation.name}"
        return trace(root)

    def _call(self, operation: Operation, face: str, root: Path) -> bool:
        if face == "command line":
            with redirect_stdout(io.StringIO()) as printed:
                run([*operation.words, "--json"])
            return not json.loads(printed.getvalue().splitlines()[-1])["ok"]
        if face == "MCP":
            return Face(root).call(operation.tool, operation.arguments).failed
        assert operation.library is not None
        with holdfast.open() as workspace:
            try:
                operation.library(workspace)
            except holdfast.HoldfastError:
                return True
        return False


def trace(root: Path) -> Trace:
    """What is in a workspace now."""
    workspace = discover(str(root))
    records = workspace.journal.latest(limit=1000) if workspace.exists() else []
    found = [
        (
            _plain(record["stream"], root),
            record["kind"],
            record["actor"],
            _plain(repr(record["body"]), root),
        )
        for record in reversed(records)
    ]
    workspace.close()
    files = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_file() and not _STORE.match(name):
            files[_plain(name, root)] = _plain(path.read_text("utf-8", "replace"), root)
    return Trace(found, files)


def _plain(text: str, root: Path) -> str:
    text = text.replace(str(root), "ROOT")
    return _ID.sub("ID", _TIME.sub("TIME", text))


@pytest.fixture
def faces(first_commit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Faces:
    monkeypatch.setenv("HOLDFAST_ACTOR", "tester")
    return Faces(first_commit, tmp_path / "faces", monkeypatch)
