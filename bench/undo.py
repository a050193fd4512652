"""Undo in a tree of 20,000 files: what the client waits for at a prompt and a stop, what a state of an unchanged tree costs beside
`git status`, an undo of 10 files beside `git stash -u`, and the bytes of 100 prompts beside 100 commits."""

from __future__ import annotations

import itertools
import os
import subprocess
import time

from bench.harness import (
    Contender,
    Plan,
    Row,
    environment,
    python,
    repository,
    say,
    take_turns,
    timed_row,
)
from bench.hook_process import FLOOR, Hook, piped
from holdfast.clients import launcher
from holdfast.hooks import deferred_events
from holdfast.kernel import clock
from holdfast.kernel.workspace import Workspace, discover
from holdfast.undo import hooks
from holdfast.undo.store import Store

FILES, FOLDERS, CHANGED, PROMPTS = 20_000, 200, 10, 100
STATUS, STASH = "git status", "git stash -u"
COMMIT = ("-c", "user.name=bench", "-c", "user.email=bench@holdfast.invalid", "commit", "--quiet")
# The client waits for no more than this of a bare interpreter; a state costs no more than this of `git status`.
HOOK_BAR, STATE_BAR = 0.3, 1.2
# A person waits for these: a command as typed, and its git processes.
TYPED_BAR = 30.0


def measure(plan: Plan) -> list[Row]:
    os.environ["XDG_DATA_HOME"] = os.path.join(plan.folder, "data")
    try:
        launcher.install()
        say(f"undo: writing {FILES:,} files")
        root = _project(plan.folder, "undo", FILES)
        return [*_hooks(plan, root), _state(plan, root), *_typed(plan, root), _bytes(plan)]
    finally:
        del os.environ["XDG_DATA_HOME"]


def _project(folder: str, name: str, files: int) -> str:
    root = repository(folder, name)
    for number in range(files):
        path = _file(root, number)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _write(path, "first")
    _git(root, "add", "--all")
    _git(root, *COMMIT, "--message", "first")
    return root


def _file(root: str, number: int) -> str:
    return os.path.join(root, f"folder-{number % FOLDERS:03d}", f"file-{number}.txt")


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(f"{text}: a line of {os.path.basename(path)}\n" * 60)


def _change(root: str, turn: int, files: int = FILES) -> None:
    for number in range(CHANGED):
        _write(_file(root, number * files // CHANGED), f"turn {turn}")


def _git(root: str, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, env=environment(), check=True, capture_output=True)


def _hooks(plan: Plan, root: str) -> list[Row]:
    """A prompt and a stop as Claude Code starts them; the states behind them are not timed, but have to be there."""
    Hook("claude", "SessionStart", root, source="startup")()
    prompt = Hook("claude", "UserPromptSubmit", root, prompt="Make it faster. " * 20)
    stop = Hook("claude", "Stop", root, last_assistant_message="Done. " * 40)
    prompt()
    deferred_events.finish(discover(root, local=True), 60.0)
    turns = itertools.count()

    def ask() -> float:
        taken = prompt()
        _finish(root)
        _change(root, next(turns))
        return taken

    def end() -> float:
        taken = stop()
        _finish(root)
        return taken

    contenders: dict[str, Contender] = {
        "prompt": ask,
        "stop": end,
        FLOOR: lambda: piped(python("-c", "pass"), root)[0],
    }
    samples = take_turns("a prompt and a stop", contenders, plan.rounds(30, 6))
    states = len(Store(discover(root)).list_states())
    if states < len(samples["stop"]):
        raise RuntimeError(f"{states} states for {len(samples['stop'])} stops")
    return [
        timed_row(
            f"hook process: claude's {name} with a state of {FILES:,} files behind it",
            samples,
            ours=name,
            base=FLOOR,
            bar=HOOK_BAR,
        )
        for name in ("prompt", "stop")
    ]


def _finish(root: str) -> None:
    deferred_events.finish(discover(root, local=True), 60.0)


def _timed(action: object) -> float:
    start = time.perf_counter()
    action()  # type: ignore[operator]
    return time.perf_counter() - start


def _state(plan: Plan, root: str) -> Row:
    store = Store(discover(root))

    def take() -> None:
        with store.shadow() as shadow:
            store.take(shadow, clock.now())

    take()
    contenders: dict[str, Contender] = {
        "state": lambda: _timed(take),
        STATUS: lambda: _timed(lambda: _git(root, "status", "--porcelain")),
    }
    samples = take_turns("a state of an unchanged tree", contenders, plan.rounds(40, 8))
    return timed_row(
        f"state of an unchanged tree of {FILES:,} files",
        samples,
        ours="state",
        base=STATUS,
        bar=STATE_BAR,
    )


def _typed(plan: Plan, root: str) -> list[Row]:
    """What a person types, each as a process: the list, and an undo of a prompt that changed 10 files."""
    turns = itertools.count(1000)
    command = python("-m", "holdfast")

    def prepare() -> None:
        workspace = discover(root)
        hooks.begin(workspace, "claude", "typed", "Change ten files", clock.now())
        _change(root, next(turns))
        hooks.end(workspace, "claude", "typed", "stop", clock.now())
        workspace.close()

    def undo() -> float:
        prepare()
        return piped([*command, "undo", "--yes"], root)[0]

    def stash() -> float:
        _change(root, next(turns))
        taken = _timed(lambda: _git(root, "stash", "--include-untracked"))
        _git(root, "stash", "drop")
        return taken

    contenders: dict[str, Contender] = {
        "undo": undo,
        "undo --list": lambda: piped([*command, "undo", "--list"], root)[0],
        STASH: stash,
        STATUS: lambda: _timed(lambda: _git(root, "status", "--porcelain")),
        FLOOR: lambda: piped(python("-c", "pass"), root)[0],
    }
    samples = take_turns("undo", contenders, plan.rounds(15, 3))
    return [
        timed_row(
            f"{name}, {CHANGED} changes in {FILES:,} files",
            samples,
            ours=name,
            base=FLOOR,
            bar=TYPED_BAR,
        )
        for name in ("undo --list", "undo")
    ]


def _bytes(plan: Plan) -> Row:
    """Prompts that change 10 of 1,000 files each, and commits of the same."""
    files = 1000
    say(f"undo: {PROMPTS} prompts and commits")
    roots = [_project(plan.folder, f"bytes-{name}", files) for name in ("prompts", "commits")]
    before = [_size(root) for root in roots]
    workspace: Workspace = discover(roots[0])
    for turn in range(PROMPTS):
        hooks.begin(workspace, "claude", "s1", f"prompt {turn}", clock.now())
        _change(roots[0], turn, files)
        hooks.end(workspace, "claude", "s1", "stop", clock.now())
    workspace.close()
    for turn in range(PROMPTS):
        _change(roots[1], turn, files)
        _git(roots[1], "add", "--all")
        _git(roots[1], *COMMIT, "--message", f"turn {turn}")
    ours, theirs = (_size(root) - size for root, size in zip(roots, before, strict=True))
    return Row(
        f"bytes of {PROMPTS} prompts with {CHANGED} changed files each",
        ours=ours / 1000,
        base=theirs / 1000,
        base_name=f"{PROMPTS} commits",
        unit="KB",
        bar=2.0,
        remark="the journal and the index included",
    )


def _size(root: str) -> int:
    """Return the bytes below `.git` as the disk counts them: git's objects are many small files."""
    total = 0
    for folder, _, names in os.walk(os.path.join(root, ".git")):
        total += sum(os.lstat(os.path.join(folder, name)).st_blocks * 512 for name in names)
    return total
