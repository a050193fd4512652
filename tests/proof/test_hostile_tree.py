"""A clone in which each path that Holdfast knows is something else: no hook and no command changes anything outside of
the tree, waits, runs something or breaks.

Each case is a clone with one strange thing in it. Every event of a client goes through the launcher, the events of the
other clients through the same functions, then every command runs; what these leave to processes of their own ends as
well. What the person has beside the clone is compared byte for byte.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients.table import NAMES as CLIENTS
from holdfast.clients.table import part
from holdfast.hooks.run import respond_to
from holdfast.kernel.text import split_words
from holdfast.processes import relaunch
from holdfast.session import git_step
from tests import warm
from tests.cli.conftest import Holdfast
from tests.conftest import IDENTITY
from tests.hooks import launcher_scene
from tests.hooks.launcher_scene import MAKE, Hooks
from tests.hooks.test_hostile_clone import digest_of
from tests.patience import within
from tests.session import world as session_world

pytestmark = pytest.mark.proof
holdfast = session_world.holdfast
hooks = launcher_scene.hooks
# A client waits for a hook. A command starts git a few times.
HOOK_SECONDS, COMMAND_SECONDS = 2, 10

OURS = [
    "",
    "/inbox",
    "/inbox/1.json",
    "/latch",
    "/lives",
    "/lives/x.json",
    "/limits",
    "/pending",
    *split_words("/pending/claude.Stop.s1.1 /pictures /seen /seen/claude.Stop /shared /slots"),
    *split_words("/views /waiting /worktrees /last-turn /journal.db /journal.db-wal /told"),
    *split_words("/hook-failures.jsonl /after-turn.lock /.gitignore /quiet /alerts /clients"),
]
PROTOCOLS = list(
    split_words(
        ".ccc-progress.md .ccc-state.json .notes .notes/default.md holdfast.toml "
        "agent_checkpoints agent_checkpoints/Secondary-A.json agent_comms "
        "EPIC_README.md agent_comms/messages agent_checkpoints/backups conductor "
        "conductor/tracks conductor/tracks/t conductor/tracks/t/metadata.json "
        ".autopilot .autopilot/config.yaml .autopilot/acknowledgments.json "
        ".autopilot/transponder.json .ohrfc .ohrfc/r1 .ohrfc/r1/checkpoint.md "
        ".ohrfc/r1/state.json plans plans/1.md pyproject.toml .claude "
        ".claude/settings.local.json .mcp.json .codex .codex/config.toml "
        ".gemini/settings.json .qwen/settings.json .opencode .github/hooks AGENTS.md"
    )
)
PLACES = [*(f".holdfast{name}" for name in OURS), *PROTOCOLS]


def link_to_folder(path: Path, home: Path) -> None:
    path.symlink_to(home / "photos")


def link_to_file(path: Path, home: Path) -> None:
    path.symlink_to(home / ".bash_profile")


def link_to_nothing(path: Path, home: Path) -> None:
    path.symlink_to(home / "new")


def link_to_parent(path: Path, home: Path) -> None:
    path.symlink_to("..")


def pipe(path: Path, home: Path) -> None:
    os.mkfifo(path)


def socket_file(path: Path, home: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        before = os.getcwd()
        os.chdir(path.parent)
        try:
            made.bind(path.name)
        finally:
            os.chdir(before)


def device(path: Path, home: Path) -> None:
    path.symlink_to("/dev/zero")


def other_owner(path: Path, home: Path) -> None:
    path.write_text("{}")
    os.chmod(path, 0o666)
    if os.getuid() == 0:
        os.chown(path, 65534, 65534)


def folder(path: Path, home: Path) -> None:
    (path / "x").mkdir(parents=True)


def plain_file(path: Path, home: Path) -> None:
    path.write_bytes(b"\x00\xff not what is expected \x1b[31m")


KINDS: list[Callable[[Path, Path], None]] = [
    link_to_folder,
    link_to_file,
    link_to_nothing,
    link_to_parent,
    pipe,
    socket_file,
    device,
    other_owner,
    folder,
    plain_file,
]
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("status",),
    ("resume",),
    ("doctor",),
    ("history",),
    ("verify",),
    ("note",),
    ("trust", "--show"),
    ("note", "one"),
    ("checkpoint", "--task", "x", "--skip-git"),
    ("edits",),
    ("conflicts",),
    ("agent", "start", "Secondary-A", "--feature", "f"),
    ("agent", "beat", "Secondary-A"),
    ("agent", "list"),
    ("agent", "check"),
    ("agent", "inbox", "Secondary-A"),
    ("gate", "list"),
    ("agent", "send", "Secondary-A", "--type", "info", "--text", "x"),
    ("agent", "restore", "Secondary-A"),
    ("loop", "start", "PLAN", "--track", "t"),
    ("loop", "show", "t"),
    ("loop", "resume", "t"),
    ("gate", "verify", "--built", "A page", "--how", "Look"),
    ("guard", "check"),
    ("guard", "limits"),
    ("guard", "report"),
    ("plan", "lint", "plans"),
    ("plan", "show"),
    ("plan", "new", "plans/2.md"),
    ("rfc", "init", "r1"),
    ("rfc", "list"),
    ("rfc", "show", "r1"),
    ("rfc", "bootstrap", "r1"),
    ("snapshot", "create"),
    ("snapshot", "list"),
    ("statusline",),
    ("gc",),
    ("export",),
    ("init", "--client", "claude", "--dry-run"),
    ("doctor", "--fix"),
    ("estop", "--reason", "x"),
    ("status", "--json"),
    ("uninstall", "--dry-run"),
    ("tracker", "show"),
    (),
)


@pytest.fixture
def person(tmp_path: Path) -> Path:
    """What the person has beside the clone."""
    home = tmp_path / "person"
    (home / "photos").mkdir(parents=True)
    for name in ("photos/a.jpg", "photos/default.md", "photos/x.json", "photos/claude.Stop"):
        (home / name).write_text(f"the person's {name}\n")
    (home / ".bash_profile").write_text("export X=1\n")
    return home


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[warm.Process]]:
    """What this process leaves to others, as forks: a case starts fifty of them."""
    found: list[warm.Process] = []

    def leave(words: list[str]) -> bool:
        nothing = warm.DEVNULL
        process = warm.start(
            words, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
        )
        found.append(process)
        return True

    for module in (relaunch, git_step):
        monkeypatch.setattr(module, "leave", leave)
    yield found
    for process in found:
        process.kill()
        process.wait()


def put(root: Path, place: str, kind: Callable[[Path, Path], None], home: Path) -> None:
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif path.exists():
        path.unlink()
    kind(path, home)
    words = ["git", *IDENTITY, "add", "--force", "--", place]
    subprocess.run(words, cwd=root, capture_output=True, check=False)


def events_of(client: str) -> list[str]:
    meanings = part(client, "events").EVENTS
    return [name for name, means in meanings.items() if means not in ("nothing", "unknown")]


def facts(root: Path) -> dict[str, Any]:
    edit = {"tool_name": "Edit", "tool_input": {"file_path": str(root / "README.md")}}
    return {
        **MAKE,
        **edit,
        "session_id": "s1",
        "source": "startup",
        "prompt": "go on",
        "cwd": str(root),
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_nothing_outside_changes_and_nothing_waits(
    hooks: Hooks,
    holdfast: Holdfast,
    person: Path,
    left: list[warm.Process],
    place: str,
    kind: Callable[[Path, Path], None],
) -> None:
    put(hooks.root, place, kind, person)
    before = digest_of(person)
    client = CLIENTS[(PLACES.index(place) + KINDS.index(kind)) % len(CLIENTS)]
    said = facts(hooks.root)
    for event in events_of(client):
        with within(HOOK_SECONDS, f"{client} {event}"):
            hooks(client, event, **said)
    for other in CLIENTS:
        for event in events_of(other):
            with within(HOOK_SECONDS, f"{other} {event}"):
                respond_to(other, event, dict(said), may_leave=False)
    assert digest_of(person) == before, "a hook"
    for words in COMMANDS:
        with within(COMMAND_SECONDS, words):
            answer = holdfast(*words)
        assert answer.code != 70, (words, answer.err)
        assert "Traceback" not in answer.err, words
        assert digest_of(person) == before, words
    for process in left:
        if "tell-waiting" not in process.args:  # which waits for an answer
            with within(COMMAND_SECONDS, process.args):
                process.wait()
    assert digest_of(person) == before, "what was left to others"
