"""Every face of an operation leaves the same records and files, and refuses the same requests."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import holdfast as library
from holdfast.estop.stop import stop
from holdfast.fleet import agents, updates
from holdfast.fleet.api import Member
from holdfast.fleet.context import FleetContext
from holdfast.fleet.epic import find
from holdfast.fleet.messages import write_message
from holdfast.fleet.pages import recover_agent
from holdfast.hooks.run import command as hook_command
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.text import split_words
from holdfast.kernel.workspace import discover
from tests.cli.conftest import Holdfast
from tests.fleet.world import FEATURE, PRIMARY, A, B
from tests.mcp.world import Face as McpServer

STOPPED = "stopped"
# What differs between two runs of the same operation.
VARIABLE_PARTS = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"), "SESSION"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?"), "TIME"),
    (re.compile(r"\d{8}_\d{6}|\d{8}_\d{4}"), "TIME"),
    (re.compile(r"_(crashed|aborted)_\d+"), r"_\1_SECONDS"),
    (re.compile(r"\b\d\d:\d\d\b"), "TIME"),
)


class Faces:
    """The faces of one workspace. Each call returns why it was refused, or an empty text."""

    def __init__(self, root: Path, holdfast: Holdfast) -> None:
        self.root = root
        self._holdfast = holdfast

    def cli(self, *words: str) -> str:
        answer = self._holdfast("agent", *words, "--json").envelope
        return "" if answer["ok"] else _refusal(answer["error"])

    def mcp(self, tool: str, arguments: Mapping[str, Any]) -> str:
        answer = McpServer(self.root).call(tool, arguments)
        return _refusal(answer.error) if answer.failed else ""

    def hook(self, agent: str, payload: Mapping[str, Any]) -> str:
        done = subprocess.run(
            hook_command("beat", agent), input=json.dumps(payload), capture_output=True, text=True
        )
        answer = json.loads(done.stdout)
        return STOPPED if "stopped" in answer else str(answer.get("failed", ""))

    def agent_tool(self, do: str, **arguments: str) -> str:
        return self.mcp("agent", {"do": do, "agent": A, **arguments})

    def library(self, act: Callable[[Member], object], agent: str = A, **options: Any) -> str:
        with library.open() as workspace:
            return _outcome(lambda: act(workspace.agent(agent, **options)))

    def web(self, words: dict[str, str]) -> str:
        workspace = discover()
        try:
            person: Any = {"name": "tester"}
            return _outcome(lambda: recover_agent(workspace, words, person))
        finally:
            workspace.close()


def _refusal(error: Mapping[str, str]) -> str:
    return STOPPED if error["kind"] == STOPPED else error["message"]


def _outcome(act: Callable[[], object]) -> str:
    try:
        act()
    except HoldfastError as error:
        return _refusal({"kind": error.kind, "message": error.message})
    return ""


class Case(NamedTuple):
    """One operation, by each of its faces. `before` prepares the workspace, as of a time."""

    faces: dict[str, Callable[[Faces], str]]
    before: Callable[[FleetContext], object] = lambda context: None
    minutes_ago: int = 5


def started(context: FleetContext) -> None:
    agents.start(context, A, feature=FEATURE)


def blocked(context: FleetContext) -> None:
    started(context)
    for blocker in ("No data", "No key"):
        updates.block(context, A, blocker=blocker)


def addressed(context: FleetContext) -> None:
    started(context)
    fields = {"subject": "The data is there", "action": "Go on"}
    for sender in (PRIMARY, B):
        write_message(context, context.epic, sender, A, fields)


def beaten(words: list[str], request: dict[str, Any]) -> dict[str, Callable[[Faces], str]]:
    """A heartbeat has four faces."""
    return {
        "command line": lambda faces: faces.cli("beat", A, *words),
        "MCP": lambda faces: faces.mcp("beat", {"agent": A, **request}),
        "hook": lambda faces: faces.hook(A, request),
        "library": lambda faces: faces.library(lambda me: me.beat(**request)),
    }


def of_a_life(
    words: list[str], act: Callable[[Member], object]
) -> dict[str, Callable[[Faces], str]]:
    return {
        "command line": lambda faces: faces.cli(*words),
        "library": lambda faces: faces.library(act),
    }


def decided(decision: str, agent: str = A) -> dict[str, Callable[[Faces], str]]:
    return {
        "command line": lambda faces: faces.cli(decision, agent, "--yes"),
        "page": lambda faces: faces.web({"decision": decision, "agent": agent, "epic": ""}),
    }


def enter(me: Member) -> None:
    with me:
        pass


WORK: dict[str, Any] = {
    "step": "Writing the acceptance criteria",
    "done": ["Read the guide"],
    "next": ["Write checklist.md", "Transition to S2.P3"],
    "files": [f"{FEATURE}/spec.md", "elsewhere.md"],
    "recovery": "Go on at section 5.",
    "stage": "S2.P2",
    "phase": "Specification - In Progress",
    "status": "WAITING",
}
WORK_WORDS = [
    "--step",
    WORK["step"],
    "--done",
    "Read the guide",
    "--next",
    "Write checklist.md",
    "--next",
    "Transition to S2.P3",
    "--file",
    f"{FEATURE}/spec.md",
    "--file",
    "elsewhere.md",
    "--recovery",
    WORK["recovery"],
    "--stage",
    "S2.P2",
    "--phase",
    WORK["phase"],
    *split_words("--status WAITING"),
]
CASES = {
    "start": Case(
        {
            "command line": lambda faces: faces.cli("start", A, "--feature", FEATURE),
            "MCP": lambda faces: faces.agent_tool("start", text=FEATURE),
            "library": lambda faces: faces.library(enter, feature=FEATURE),
        }
    ),
    "start without a feature": Case(of_a_life(["start", A], enter)),
    "resume": Case(of_a_life(["resume", A], enter), started),
    "beat": Case(beaten(WORK_WORDS, WORK), started),
    "beat with nothing": Case(beaten([], {}), started),
    "beat of an agent that nobody started": Case(beaten([], {})),
    "beat that declares a long operation": Case(
        beaten(
            ["--busy-until", "23:59", "--doing", "cargo build"],
            {"busy_until": "23:59", "doing": "cargo build"},
        ),
        started,
    ),
    "beat after a commit": Case(
        beaten(["--file", "b.md", "--committed"], {"files": ["b.md"], "committed": True}), started
    ),
    "beat of an agent that was stale": Case(
        beaten(["--step", "Back"], {"step": "Back"}), started, minutes_ago=90
    ),
    "beat with unread messages": Case(beaten([], {}), addressed),
    "beat with an empty step": Case(beaten(["--step", ""], {"step": ""}), started),
    "beat with an empty entry": Case(beaten(["--done", " "], {"done": [" "]}), started),
    "beat with a wrong time": Case(
        beaten(["--busy-until", "soon"], {"busy_until": "soon"}), started
    ),
    "beat with a wrong stage": Case(beaten(["--stage", "S9"], {"stage": "S9"}), started),
    "block": Case(
        of_a_life(
            ["block", A, "No data", "--recovery", "Ask again"],
            lambda me: me.block("No data", recovery="Ask again"),
        ),
        started,
    ),
    "block by a tool": Case(
        {
            **of_a_life(["block", A, "No data"], lambda me: me.block("No data")),
            "MCP": lambda faces: faces.agent_tool("block", text="No data"),
        },
        started,
    ),
    "unblock one": Case(
        {
            **of_a_life(["unblock", A, "No data"], lambda me: me.unblock("No data")),
            "MCP": lambda faces: faces.agent_tool("unblock", text="No data"),
        },
        blocked,
    ),
    "unblock all": Case(
        {
            **of_a_life(["unblock", A], lambda me: me.unblock()),
            "MCP": lambda faces: faces.agent_tool("unblock"),
        },
        blocked,
    ),
    "unblock what does not block": Case(
        of_a_life(["unblock", A, "Rain"], lambda me: me.unblock("Rain")), blocked
    ),
    "phase": Case(
        of_a_life(
            ["phase", A, "S2.P2", "--next", "Write"], lambda me: me.phase("S2.P2", next=["Write"])
        ),
        started,
    ),
    "sync": Case(of_a_life(["sync", A, "S2-S3"], lambda me: me.sync("S2-S3")), started),
    "complete": Case(of_a_life(["complete", A], lambda me: me.complete()), started),
    "send": Case(
        {
            **of_a_life(
                ["send", PRIMARY, "--from", A, "--subject", "Done", "--details", "Two\nlines"],
                lambda me: me.send(PRIMARY, "Done", details="Two\nlines"),
            ),
            "MCP": lambda faces: faces.agent_tool("send", to=PRIMARY, text="Done\nTwo\nlines"),
        },
        started,
    ),
    "send without a subject": Case(
        of_a_life(
            ["send", PRIMARY, "--from", A, "--subject", " "], lambda me: me.send(PRIMARY, " ")
        ),
        started,
    ),
    "inbox": Case(
        {
            "command line": lambda faces: faces.cli("inbox", A, "--unread"),
            "MCP": lambda faces: faces.mcp("inbox", {"agent": A}),
            "library": lambda faces: faces.library(lambda me: me.inbox()),
        },
        addressed,
    ),
    "inbox that stays unread": Case(
        {
            "command line": lambda faces: faces.cli("inbox", A, "--unread", "--keep-unread"),
            "MCP": lambda faces: faces.mcp("inbox", {"agent": A, "keep_unread": True}),
            "library": lambda faces: faces.library(lambda me: me.inbox(keep_unread=True)),
        },
        addressed,
    ),
    "defer": Case(decided("defer"), started, minutes_ago=90),
    "absorb": Case(decided("absorb"), started, minutes_ago=90),
    "absorb the Primary": Case(decided("absorb", PRIMARY), started, minutes_ago=90),
}


class Left(NamedTuple):
    """What a face left behind, without what differs between two runs."""

    refused: str
    records: dict[str, list[tuple[str, str]]]
    waiting: int
    files: dict[str, str]


class Workshop:
    """A workspace at one path, in the same state before each face."""

    def __init__(self, root: Path, copy: Path, case: Case) -> None:
        self.root, self._copy = root, copy
        (root / "EPIC_README.md").write_text("# Epic\n\nText that stays.\n")
        (root / FEATURE).mkdir()
        (root / FEATURE / "spec.md").write_text("# Spec\n")
        workspace = discover()
        now = clock.now() - case.minutes_ago * clock.MINUTE
        case.before(FleetContext(find(workspace), workspace, actor="test", now=now))
        workspace.close()
        shutil.copytree(root, copy, symlinks=True)

    def reset(self) -> None:
        """The folder itself stays: it is the current one."""
        for path in self.root.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(self._copy, self.root, symlinks=True, dirs_exist_ok=True)

    def run(self, act: Callable[[Faces], str], faces: Faces) -> Left:
        refused = act(faces)
        workspace = discover()
        journal = workspace.journal if workspace.exists() else None
        heads = journal.heads("") if journal else []
        records = {
            head["stream"]: [
                (record["kind"], _stable(json.dumps(record["body"], sort_keys=True)))
                for record in (journal.read(head["stream"]) if journal else [])
            ]
            for head in heads
        }
        waiting = len(journal.effects()) if journal else 0
        workspace.close()
        files = {
            _stable(str(path.relative_to(self.root))): _stable(path.read_text("utf-8"))
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and path.relative_to(self.root).parts[0] not in (".git", ".holdfast")
        }
        return Left(_stable(refused), records, waiting, files)


def _stable(text: str) -> str:
    for pattern, replacement in VARIABLE_PARTS:
        text = pattern.sub(replacement, text)
    return text


@pytest.fixture
def faces(repository: Path, holdfast: Holdfast) -> Faces:
    return Faces(repository, holdfast)


def left_by_each(case: Case, faces: Faces, copy: Path, *, stopped: bool = False) -> dict[str, Left]:
    workshop = Workshop(faces.root, copy, case)
    left = {}
    for name, act in case.faces.items():
        workshop.reset()
        if stopped:
            workspace = discover()
            stop(workspace, "The budget is gone", by="test", now=clock.now())
            workspace.close()
        left[name] = workshop.run(act, faces)
    return left


@pytest.mark.parametrize("name", CASES)
def test_every_face_of_an_operation_leaves_the_same(
    name: str, faces: Faces, tmp_path: Path
) -> None:
    first, *others = left_by_each(CASES[name], faces, tmp_path / "copy").values()
    assert first.waiting == 0, "an edit of EPIC_README.md was not delivered"
    for other in others:
        assert other == first


@pytest.mark.parametrize(
    "name", ["start", "resume", "beat", "block", "complete", "sync", "inbox", "defer"]
)
def test_every_face_of_an_operation_answers_an_emergency_stop(
    name: str, faces: Faces, tmp_path: Path
) -> None:
    first, *others = left_by_each(CASES[name], faces, tmp_path / "copy", stopped=True).values()
    assert first.refused == STOPPED
    for other in others:
        assert other == first
