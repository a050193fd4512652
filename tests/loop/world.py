"""A track to work on, and the questions that the tests of LOOP ask of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.kernel import clock
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import discover
from holdfast.loop.track import Track, TrackFolder, TrackResult
from tests.processes import PERSON

if TYPE_CHECKING:
    from holdfast.loop.rules.model import LoopState

NOON = clock.parse("2026-11-15T12:00:00Z")
STAMP = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"


class World:
    """One track of one repository; `do` runs a command on it, `file` is what its file says."""

    def __init__(self, root: Path, name: str = "demo") -> None:
        self.root = root
        self.name = name
        self.folder = root / "conductor" / "tracks" / name
        self.metadata = self.folder / "metadata.json"
        self.history = self.folder / "checkpoint-history.jsonl"
        self.lock = self.folder / ".metadata.lock"
        self.now = NOON
        self.workspace = discover(str(root))
        self.track = Track(
            self.workspace,
            open_writer(self.workspace),
            TrackFolder(self.workspace, name),
            actor="tester",
        )

    def do(self, what: str, **words: Any) -> TrackResult:
        """A second passes, and the command is executed."""
        self.now += 1000
        return self.track.execute({"do": what, **words}, now=self.now)

    def start(self, step: str, **words: Any) -> TrackResult:
        return self.do("start", step=step, **words)

    def start_as_person(self, step: str, **words: Any) -> TrackResult:
        """A start by a person whom a channel saw."""
        return self.start(step, by=PERSON, **words)

    def file(self) -> dict[str, Any]:
        value = json.loads(self.metadata.read_text("utf-8"))
        assert isinstance(value, dict)
        return value

    def loop(self) -> dict[str, Any]:
        value = self.file()["loop_state"]
        assert isinstance(value, dict)
        return value

    def checkpoint(self, step: str) -> dict[str, Any]:
        value = self.loop()["checkpoints"][step]
        assert isinstance(value, dict)
        return value

    def state(self) -> LoopState:
        return self.track.read()

    def edit(self, change: Callable[[dict[str, Any]], None]) -> None:
        """What another tool does to the file: read, change, replace."""
        document = self.file()
        change(document)
        aside = self.metadata.with_suffix(".tmp")
        aside.write_text(json.dumps(document, indent=4), "utf-8")
        aside.replace(self.metadata)

    def write(self, document: object) -> None:
        """A file as another tool left it, before holdfast came."""
        self.folder.mkdir(parents=True, exist_ok=True)
        text = document if isinstance(document, str) else json.dumps(document)
        self.metadata.write_text(text, "utf-8")

    def plan(self, *lines: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "plan.md").write_text("\n".join(lines) + "\n", "utf-8")

    def events(self) -> list[dict[str, Any]]:
        """The lines of the side file."""
        return [json.loads(line) for line in self.history.read_text("utf-8").splitlines() if line]

    def kinds(self) -> list[str]:
        records = self.workspace.journal.read(self.track.place.stream)
        return [record["kind"] for record in records]

    def close(self) -> None:
        self.workspace.close()
