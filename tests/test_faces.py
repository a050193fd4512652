"""One operation, several faces: the command line, the library, MCP and the hooks leave the same records
and the same files.

Each face runs in a fresh copy of one workspace, at the same path. Ids and times are blanked before the
comparison.
"""

from __future__ import annotations

import ast
import fcntl
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import holdfast as library
from holdfast.api import Snapshots, Workspace
from holdfast.budgets.api import Budgets
from holdfast.cli.frame import run
from holdfast.fleet.api import Member
from holdfast.gates.api import Gate, Gates
from holdfast.hooks.run import command, respond_to
from holdfast.kernel.workspace import discover
from holdfast.loop.api import Loop, LoopStep
from holdfast.loop.rules.checkpoint import loop_of
from holdfast.plans.api import Plans
from holdfast.rfc.api import Rfc
from tests.conftest import Git
from tests.mcp.world import SHARED, Face
from tests.session.world import Conversation

SESSION = "11111111-2222-4333-8444-555555555555"
REFS = ("for-each-ref", "--format=%(refname)", "refs/holdfast")
TIMES = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?Z)?")
IDS = re.compile(r"\b[0-9a-f]{12,}\b")


class Left(NamedTuple):
    """What a face left behind, and what it answered."""

    records: list[tuple[str, str, str]]
    files: dict[str, str]
    snapshots: list[dict[str, str]]
    answer: Any


class Command:
    """The command line, in this process, with `--json`."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capsys = capsys

    def __call__(self, *words: str) -> Any:
        self._capsys.readouterr()
        code = run([*words, "--json", "-C", str(self.root)])
        printed = self._capsys.readouterr()
        assert code == 0, printed
        return json.loads(printed.out)["data"]


class World:
    """One workspace with a note, a checkpoint and a changed file, copied for each face."""

    def __init__(self, folder: Path, git: Git, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._git = git
        self._capsys = capsys
        self.template = folder / "template"

    def prepare(self, source: Path) -> None:
        root = self._folder / "here"
        shutil.copytree(source, root)
        (root / "src").mkdir()
        (root / "src" / "dates.py").write_text("def parse(): ...\n")
        with library.open(str(root), actor="before") as workspace:
            workspace.note("There is a journal.")
            workspace.checkpoint(
                session=SESSION,
                issue="ENG-12",
                task="Write the parser",
                remaining=["Write the docs"],
                next="finish parse()",
                files=["src/dates.py"],
                skip_git=True,
            )
        root.rename(self.template)

    def run(self, act: Callable[[Path], Any]) -> Left:
        """Let a face act in a fresh copy. A hook comes last: it leaves a process behind."""
        root = self._folder / "here"
        if root.exists():
            shutil.rmtree(root)
        shutil.copytree(self.template, root, copy_function=shutil.copy2)
        os.chdir(root)
        before = len(_records(root))
        answer = act(root)
        return Left(
            [
                (record["stream"], record["kind"], blank(record["body"]))
                for record in _records(root)[before:]
            ],
            {
                str(path.relative_to(root)): blank(path.read_text())
                for path in sorted(root.rglob("*"))
                if path.is_file() and not {".git", ".holdfast"} & set(path.relative_to(root).parts)
            },
            sorted(
                (self._tree(root, ref) for ref in self._git(*REFS, at=root).splitlines()), key=blank
            ),
            json.loads(blank(answer)),
        )

    def _tree(self, root: Path, ref: str) -> dict[str, str]:
        names = self._git("ls-tree", "-r", "--name-only", ref, at=root).splitlines()
        return {name: blank(self._git("show", f"{ref}:{name}", at=root)) for name in names}

    def command(self, root: Path) -> Command:
        return Command(root, self._capsys)


def blank(value: Any) -> str:
    """A value as text, without what differs from one run to the next."""
    return IDS.sub("ID", TIMES.sub("TIME", json.dumps(value, sort_keys=True)))


def _records(root: Path) -> list[Any]:
    with library.open(str(root)) as workspace:
        return workspace.journal.since(0)


@pytest.fixture
def world(
    tmp_path: Path,
    first_commit: Path,
    git: Git,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> World:
    monkeypatch.setenv("HOLDFAST_ACTOR", "tester")
    monkeypatch.chdir(tmp_path)
    made = World(Path(os.path.realpath(tmp_path)), git, capsys)
    made.prepare(first_commit)
    return made


@contextmanager
def nothing_after_the_turn(root: Path) -> Iterator[None]:
    """A hook leaves the look at the work tree to a process; it waits here until the test is done."""
    with open(os.path.join(discover(str(root)).prepare_private(), "after-turn.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def read_resource(root: Path, uri: str) -> Any:
    async def talk(client: Any) -> Any:
        return await client.read_resource(uri)

    content = Face(root).with_client(talk).contents[0]
    return json.loads(content.text)


def same(faces: dict[str, Left], *, answers: bool = False) -> None:
    """Every face leaves what the library leaves."""
    expected = faces["library"]
    for name, left in faces.items():
        assert left.records == expected.records, name
        assert left.files == expected.files, name
        assert left.snapshots == expected.snapshots, name
        if answers:
            assert left.answer == expected.answer, name


@pytest.fixture(autouse=True)
def no_folder_left() -> Iterator[None]:
    yield
    SHARED.folder = None


def test_a_note(world: World) -> None:
    def by_hook(root: Path) -> None:
        payload = {"text": "Dates are UTC.", "name": "plan", "id": "n-1", "cwd": str(root)}
        done = subprocess.run(
            command("note"), input=json.dumps(payload).encode(), capture_output=True, check=True
        )
        assert "failed" not in json.loads(done.stdout)

    def by_library(root: Path) -> None:
        library.open(str(root)).note("Dates are UTC.", name="plan", id="n-1")

    same(
        {
            "library": world.run(by_library),
            "cli": world.run(
                lambda root: world.command(root)(
                    "note", "Dates are UTC.", "--to", "plan", "--id", "n-1"
                ),
            ),
            "hook": world.run(by_hook),
        }
    )


def test_a_checkpoint_of_an_agent(world: World) -> None:
    given: dict[str, Any] = {
        "task": "Write the docs",
        "status": "half done",
        "next": "describe parse()",
        "done": ["Write the parser"],
        "remaining": ["Publish"],
        "decisions": ["UTC only: no zones in the input"],
        "blockers": ["The review (unblocked by: ENG-13)"],
        "files": ["src/dates.py"],
        "claims": {"The parser is there": "file:src/dates.py"},
        "session": SESSION,
    }
    words = [
        "--task",
        given["task"],
        "--status",
        given["status"],
        "--next",
        given["next"],
        "--done",
        *given["done"],
        "--remaining",
        *given["remaining"],
        "--decision",
        *given["decisions"],
        "--blocker",
        *given["blockers"],
        "--file",
        "src/dates.py",
        "--claim",
        "The parser is there",
        "file:src/dates.py",
        "--session",
        SESSION,
        "--skip-git",
    ]

    def by_tool(root: Path) -> None:
        said = Face(root).call("checkpoint", given)
        assert not said.failed, said.text

    same(
        {
            "library": world.run(
                lambda root: library.open(str(root)).checkpoint(**given, skip_git=True),
            ),
            "cli": world.run(lambda root: world.command(root)("checkpoint", *words)),
            "mcp": world.run(by_tool),
        }
    )


def test_a_checkpoint_of_a_hook(world: World) -> None:
    def by_hook(root: Path) -> None:
        payload = {"session_id": SESSION, "cwd": str(root), "hook_event_name": "Stop"}
        respond_to("claude", "Stop", payload, may_leave=False)

    def by_library(root: Path) -> None:
        library.open(str(root)).checkpoint(profile="automated", session=SESSION)

    def held(act: Callable[[Path], Any]) -> Callable[[Path], Any]:
        def acted(root: Path) -> Any:
            with nothing_after_the_turn(root):
                act(root)

        return acted

    same(
        {
            "library": world.run(held(by_library)),
            "cli": world.run(
                held(
                    lambda root: world.command(root)("checkpoint", "--auto", "--session", SESSION)
                ),
            ),
            "hook": world.run(held(by_hook)),
        }
    )


def test_a_resume(world: World) -> None:
    (world.template / "README.md").write_text("Another project.\n")

    def by_hook(root: Path) -> dict[str, Any]:
        payload = {"session_id": "another", "cwd": str(root), "source": "startup"}
        answer = respond_to("claude", "SessionStart", payload, may_leave=False)
        return {"context": answer["hookSpecificOutput"]["additionalContext"]}

    faces = {
        "library": world.run(lambda root: library.open(str(root)).resume()),
        "cli": world.run(lambda root: world.command(root)("resume")),
        "mcp": world.run(lambda root: Face(root).call("resume").data),
    }
    same(faces, answers=True)
    assert faces["library"].records == []
    assert faces["library"].answer["verdict"] == "DRIFTED"
    hook = world.run(by_hook)
    assert hook.records == []
    # The hook's text ends with a tip of its own; the pack is the same.
    assert hook.answer["context"].startswith(faces["library"].answer["pack"].rstrip("\n"))


def test_the_edits_of_a_session(world: World) -> None:
    conversation = Conversation(world.template.parent / "here")
    conversation.write("new.txt", "of the session")
    conversation.leave()

    def plain(answer: Any) -> Any:
        return {name: value for name, value in answer.items() if name not in ("modified", "before")}

    faces = {
        "library": world.run(lambda root: plain(library.open(str(root)).edits())),
        "cli": world.run(lambda root: plain(world.command(root)("edits"))),
        "mcp": world.run(lambda root: plain(read_resource(root, "holdfast://edits/5e551011"))),
    }
    same(faces, answers=True)
    assert faces["library"].records == []
    written = {
        "library": world.run(lambda root: plain(library.open(str(root)).apply_edits())),
        "cli": world.run(lambda root: plain(world.command(root)("edits", "--apply"))),
    }
    same(written, answers=True)
    assert written["cli"].files["new.txt"] == '"of the session"'


def test_the_history(world: World) -> None:
    def by_library(root: Path) -> Any:
        return library.open(str(root)).history(stream="session:*")

    same(
        {
            "library": world.run(by_library),
            "cli": world.run(lambda root: world.command(root)("history", "session:*")["records"]),
            "mcp": world.run(lambda root: read_resource(root, "holdfast://history/session:*")),
        },
        answers=True,
    )


def test_the_status(world: World) -> None:
    faces = {
        "library": world.run(lambda root: library.open(str(root)).status()),
        "cli": world.run(lambda root: world.command(root)("status")),
        "mcp": world.run(lambda root: read_resource(root, "holdfast://status")),
    }
    same(faces, answers=True)
    assert faces["library"].answer["journal"]["streams"] == 2


def test_a_snapshot(world: World) -> None:
    def changed(act: Callable[[Path], Any]) -> Callable[[Path], Any]:
        def acted(root: Path) -> Any:
            (root / "new.txt").write_text("Not in git.\n")
            return act(root)

        return acted

    faces = {
        "library": world.run(changed(lambda root: library.open(str(root)).snapshot.create())),
        "cli": world.run(changed(lambda root: world.command(root)("snapshot", "create"))),
    }
    same(faces, answers=True)
    assert len(faces["library"].snapshots) == 2


def test_a_snapshot_restored(world: World) -> None:
    def back(act: Callable[[Path, str], Any]) -> Callable[[Path], Any]:
        def acted(root: Path) -> Any:
            kept = library.open(str(root)).snapshot.create()
            (root / "src" / "dates.py").write_text("broken\n")
            return act(root, kept["id"])

        return acted

    faces = {
        "library": world.run(
            back(lambda root, kept: library.open(str(root)).snapshot.restore(kept))
        ),
        "cli": world.run(back(lambda root, kept: world.command(root)("snapshot", "restore", kept))),
    }
    same(faces, answers=True)
    assert "broken" not in faces["cli"].files["src/dates.py"]


def test_a_snapshot_shown(world: World) -> None:
    def kept(act: Callable[[Path, str], Any]) -> Callable[[Path], Any]:
        return lambda root: act(root, library.open(str(root)).snapshot.create()["id"])

    faces = {
        "library": world.run(kept(lambda root, made: library.open(str(root)).snapshot.show(made))),
        "cli": world.run(kept(lambda root, made: world.command(root)("snapshot", "show", made))),
    }
    same(faces, answers=True)
    assert faces["library"].answer["changes"]


def test_a_restored_note_and_a_stop(world: World) -> None:
    """The way back and the emergency stop, as the command line and the library do them."""

    def by_library(root: Path) -> None:
        workspace = library.open(str(root))
        (first,) = workspace.history(stream="note:default")
        workspace.note("A mistake.")
        workspace.restore(first["id"])
        workspace.stop("Wait")

    def by_command(root: Path) -> None:
        holdfast = world.command(root)
        (first,) = holdfast("history", "note:default")["records"]
        holdfast("note", "A mistake.")
        holdfast("restore", first["id"])
        holdfast("estop", "--reason", "Wait")

    same({"library": world.run(by_library), "cli": world.run(by_command)})


def with_a_conflict(act: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """An editor saved a value that the journal had changed meanwhile."""

    def acted(root: Path) -> Any:
        progress = root / ".ccc-progress.md"
        with library.open(str(root)) as workspace:
            read_by_the_editor = progress.read_text()
            workspace.checkpoint(session=SESSION, task="Write the docs", skip_git=True)
            progress.write_text(read_by_the_editor.replace("Write the parser", "By hand"))
            workspace.checkpoint(session=SESSION, status="half done", skip_git=True)
        return act(root)

    return acted


def test_the_conflicts_of_edits_by_hand(world: World) -> None:
    faces = {
        "library": world.run(with_a_conflict(lambda root: library.open(str(root)).conflicts())),
        "cli": world.run(
            with_a_conflict(lambda root: world.command(root)("conflicts")["conflicts"])
        ),
        "mcp": world.run(with_a_conflict(lambda root: read_resource(root, "holdfast://conflicts"))),
    }
    same(faces, answers=True)
    (conflict,) = faces["library"].answer
    assert (conflict["edited"], conflict["kept"]) == ("By hand", "Write the docs")


def test_a_conflict_that_is_settled(world: World) -> None:
    def by_library(root: Path) -> None:
        workspace = library.open(str(root))
        (conflict,) = workspace.conflicts()
        workspace.settle(conflict["id"], "edited")

    def by_command(root: Path) -> None:
        holdfast = world.command(root)
        (conflict,) = holdfast("conflicts")["conflicts"]
        holdfast("conflicts", conflict["id"], "--take", "edited")

    faces = {
        "library": world.run(with_a_conflict(by_library)),
        "cli": world.run(with_a_conflict(by_command)),
    }
    same(faces)
    assert "By hand" in faces["cli"].files[".ccc-progress.md"]


class Reader(NamedTuple):
    """One operation that reads, as the command line and the library call it. `part` makes the answers
    comparable: the command line says some things more."""

    words: tuple[str, ...]
    library: Callable[[library.Workspace], Any]
    part: Callable[[Any], Any] = lambda answer: answer
    before: Callable[[library.Workspace], Any] = lambda workspace: None


def only(*names: str) -> Callable[[Any], Any]:
    return lambda answer: {name: answer[name] for name in names}


def with_two_notes(workspace: library.Workspace) -> None:
    for number in (1, 2):
        workspace.note("Dates are UTC.", name="plan", id=f"note-{number}")


def with_a_finished_run(workspace: library.Workspace) -> None:
    workspace.plans.new("01-first/01", title="One")
    workspace.plans.run([".autopilot/phases"])


READERS = {
    "sessions": Reader(
        ("resume", "--list"),
        lambda workspace: {"sessions": workspace.sessions()},
        lambda answer: [(one["session"], one["checkpoint"]) for one in answer["sessions"]],
    ),
    "show a record": Reader(
        ("show", "note-2"), lambda workspace: workspace.show("note-2"), before=with_two_notes
    ),
    "show a stream": Reader(
        ("show", "note:plan"), lambda workspace: workspace.show("note:plan"), before=with_two_notes
    ),
    "diff": Reader(
        ("diff", "note-1", "note-2"),
        lambda workspace: workspace.diff("note-1", "note-2"),
        only("stream", "before", "after"),
        with_two_notes,
    ),
    "snapshot list": Reader(
        ("snapshot", "list"),
        lambda workspace: {"snapshots": workspace.snapshot.list()},
        lambda answer: [one["id"] for one in answer["snapshots"]],
        lambda workspace: workspace.snapshot.create(),
    ),
    "guard limits": Reader(
        ("guard", "limits"),
        lambda workspace: workspace.budgets.limits(),
        only("limits", "sources", "actions", "triggers"),
    ),
    "guard report": Reader(
        ("guard", "report"),
        lambda workspace: workspace.budgets.report(),
        only("reported", "cost", "cost_at_least", "sure"),
        lambda workspace: workspace.budgets.add(cost=0.4, step="PLAN"),
    ),
    "plan show": Reader(
        ("plan", "show"),
        lambda workspace: workspace.plans.show(),
        only("id", "plans"),
        with_a_finished_run,
    ),
    "loop show": Reader(
        ("loop", "show", "--track", "parser"),
        lambda workspace: {"loop_state": loop_of(workspace.loop("parser").state)},
        only("loop_state"),
        lambda workspace: workspace.loop("parser").step("PLAN").__enter__(),
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_each_face_reads_the_same_and_writes_nothing(world: World, name: str) -> None:
    reader = READERS[name]
    root = world.template.parent / "here"
    shutil.copytree(world.template, root, copy_function=shutil.copy2)
    os.chdir(root)
    with library.open(actor="before") as workspace:
        reader.before(workspace)
    shutil.rmtree(world.template)
    root.rename(world.template)

    def by_library(root: Path) -> Any:
        with library.open(str(root)) as workspace:
            return reader.part(reader.library(workspace))

    faces = {
        "library": world.run(by_library),
        "cli": world.run(lambda root: reader.part(world.command(root)(*reader.words))),
    }
    same(faces, answers=True)
    assert faces["library"].records == []
    assert faces["library"].answer


# What only a person can do, at a terminal: each face asks there, and its own test types the word.
ASKS_A_PERSON = {"release", "resume_at_reset", "ask_session", "acknowledge", "reset"}
# No operations: what a program holds, or reads without another face.
NO_OPERATION = {
    "root",
    "journal",
    "away",
    "close",
    "fence",
    "checkpoint",
    "state",
    "status",
    "remaining",
    "text",
}
# Waits; tests/gates/test_verbs.py and test_gates.py have both faces.
WAITS = {"wait"}


def face_modules() -> list[ast.Module]:
    tests = Path(__file__).parent
    files = [Path(__file__), *sorted(tests.glob("*/test_faces.py"))]
    return [ast.parse(file.read_text()) for file in files]


def test_every_operation_of_the_library_is_compared_with_its_other_faces() -> None:
    """A new method needs a row in this file or in the `test_faces.py` of its feature."""
    compared = {
        node.attr
        for module in face_modules()
        for node in ast.walk(module)
        if isinstance(node, ast.Attribute)
    }
    for owner in (
        Workspace,
        Snapshots,
        Budgets,
        Gate,
        Gates,
        Loop,
        LoopStep,
        Member,
        Plans,
        Rfc,
    ):
        methods = {name for name in vars(owner) if not name.startswith("_")}
        missing = methods - compared - ASKS_A_PERSON - NO_OPERATION - WAITS
        assert not missing, owner.__name__


def test_every_tool_of_mcp_is_compared_with_its_other_faces(tmp_path: Path) -> None:
    async def talk(client: Any) -> Any:
        return await client.list_tools()

    tools = {tool.name for tool in Face(tmp_path).with_client(talk).tools}
    named = {
        node.value
        for module in face_modules()
        for node in ast.walk(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert tools - named == set()
