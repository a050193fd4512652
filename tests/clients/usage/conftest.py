"""A home folder with clients in it, and a repository in which they worked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from holdfast.clients.claude import sessions as claude
from holdfast.kernel import clock
from holdfast.kernel.workspace import Workspace, discover
from holdfast.usage import spending
from tests.cli import conftest as command_line

if TYPE_CHECKING:
    from holdfast.usage.spending import Spending

holdfast = command_line.holdfast

SAMPLES = Path(__file__).parent / "samples"
# What one answer in the samples costs at Claude Code's own prices.
ONE_ANSWER = 0.0069082
NOW = clock.parse("2026-11-16T09:00:00Z")


def sample(name: str) -> str:
    return (SAMPLES / name).read_text(encoding="utf-8")


def lines_of(name: str) -> list[str]:
    return sample(name).splitlines(keepends=True)


def answer(number: int, *, session: str = "s", model: str = "claude-opus-5-5", **usage: int) -> str:
    """One line of a Claude Code transcript: the answer with this number, at this second."""
    record = {
        "type": "assistant",
        "uuid": f"line-{number}",
        "sessionId": session,
        "timestamp": clock.precise(clock.parse("2026-11-15T18:00:00Z") + number * 1000),
        "isSidechain": False,
        "message": {
            "id": f"msg_{number}",
            "model": model,
            "role": "assistant",
            "usage": {
                "input_tokens": 1234,
                "cache_creation_input_tokens": 222,
                "cache_read_input_tokens": 111,
                "output_tokens": 42,
                **usage,
            },
        },
    }
    return json.dumps(record, separators=(",", ":")) + "\n"


class Home:
    """A user's home folder, with the clients' files for one repository."""

    def __init__(self, root: Path, repository: Path) -> None:
        self.root = root
        self.repository = repository
        self.workspace: Workspace = discover(str(repository))
        # The tally stands beside the journal.
        self.workspace.journal.put("opened", "yes")

    def claude(self, content: str, session: str = "s") -> Path:
        path = Path(claude.folder_of(str(self.repository))) / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return path

    def subagent(self, content: str, agent: str, session: str = "s") -> Path:
        folder = Path(claude.folder_of(str(self.repository))) / session / "subagents"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"agent-{agent}.jsonl"
        path.write_text(content, encoding="utf-8")
        return path

    def codex(self, content: str, thread: str) -> Path:
        folder = self.root / ".codex/sessions/2026/11/15"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"rollout-2026-11-15T18-02-25-{thread}.jsonl"
        path.write_text(content.replace("/home/dev/proj", str(self.repository)), encoding="utf-8")
        return path

    def gemini(self, content: str, session: str) -> Path:
        project = self.root / ".gemini/tmp/project"
        (project / "chats").mkdir(parents=True, exist_ok=True)
        (project / ".project_root").write_text(str(self.repository))
        path = project / "chats" / f"session-2026-11-15T18-04-{session[:8]}.jsonl"
        path.write_text(content, encoding="utf-8")
        return path

    def opencode(self) -> apsw.Connection:
        folder = self.root / ".local/share/opencode"
        folder.mkdir(parents=True, exist_ok=True)
        connection = apsw.Connection(str(folder / "opencode.db"))
        for statement in (
            "PRAGMA journal_mode = WAL",
            sample("opencode.sql").replace("/home/dev/proj", str(self.repository)),
        ):
            for _ in connection.execute(statement):
                pass
        return connection

    def spent(self, session: str = "", *, now: int = NOW) -> Spending:
        return spending.measure_session(self.workspace, session=session, now=now)


@pytest.fixture
def home(tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    root = tmp_path / "home"
    root.mkdir()
    home = Home(root, repository)
    yield home
    home.workspace.close()


def close_to(value: float) -> Any:
    return pytest.approx(value, rel=1e-9)
