"""A snapshot of 2,000 files of which 10 changed, against `git add -A` and `git commit`."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from collections.abc import Callable

from bench.harness import Contender, Plan, Row, environment, repository, say, take_turns, timed_row
from holdfast.git import run
from holdfast.git.snapshot import create

OURS, FLOOR = "snapshot", "git add + git commit"
AFTER_COMMIT = "snapshot after a commit"
FILES, CHANGED, FOLDERS = 2000, 10, 50
SETTINGS = (
    "core.fsync=committed,reference",
    "user.name=bench",
    "user.email=bench@holdfast.invalid",
)


def measure(plan: Plan) -> list[Row]:
    names = {name: _project(plan.folder, name.replace(" ", "-")) for name in (OURS, FLOOR)}
    names[AFTER_COMMIT] = _project(plan.folder, "after")
    index = os.path.join(names[OURS], ".git", "index")
    before = _identity(index)
    samples = take_turns(
        "snapshot",
        {
            OURS: _contender(names[OURS], _snapshot(names[OURS])),
            FLOOR: _contender(names[FLOOR], lambda: _add_and_commit(names[FLOOR])),
            AFTER_COMMIT: _contender(
                names[AFTER_COMMIT],
                _snapshot(names[AFTER_COMMIT]),
                first=lambda: _add_and_commit(names[AFTER_COMMIT]),
            ),
        },
        plan.rounds(80, 15),
    )
    if _identity(index) != before:
        raise RuntimeError("the user's index was touched")
    row = timed_row(
        f"snapshot of {FILES:,} files, {CHANGED} changed", samples, ours=OURS, base=FLOOR, bar=1.1
    )
    row.remark = f"{_processes(names[OURS])} git processes; the index was not touched"
    return [row]


def _project(folder: str, name: str) -> str:
    say(f"snapshot: writing {FILES} files")
    root = repository(folder, name)
    for number in range(FILES):
        os.makedirs(os.path.dirname(_file(root, number)), exist_ok=True)
        _write(root, number, "first")
    _add_and_commit(root)
    return root


def _file(root: str, number: int) -> str:
    return os.path.join(root, f"folder-{number % FOLDERS:02d}", f"file-{number}.txt")


def _write(root: str, number: int, text: str) -> None:
    with open(_file(root, number), "w", encoding="ascii") as file:
        file.write(f"{text}: line of file {number}\n" * 60)


def _contender(
    root: str, action: Callable[[], object], first: Callable[[], object] | None = None
) -> Contender:
    turns = iter(range(1_000_000))

    def contender() -> float:
        turn = next(turns)
        if first:
            _write(root, FILES - 1, f"committed {turn}")
            first()
        for number in range(CHANGED):
            _write(root, number * FILES // CHANGED + number, f"turn {turn}")
        start = time.perf_counter()
        action()
        return time.perf_counter() - start

    return contender


def _snapshot(root: str) -> Callable[[], object]:
    def snapshot() -> None:
        made = create(root)
        if made["duplicate"]:
            raise RuntimeError(f"nothing was taken: {made}")

    return snapshot


def _add_and_commit(root: str) -> None:
    options = [word for setting in SETTINGS for word in ("-c", setting)]
    for words in (["add", "-A"], ["commit", "--quiet", "--message", "turn"]):
        subprocess.run(["git", *options, *words], cwd=root, env=environment(), check=True)


def _processes(root: str) -> int:
    heard: list[object] = []
    run.listeners.append(heard.append)
    try:
        _write(root, 0, "once more")
        create(root)
    finally:
        run.listeners.remove(heard.append)
    return len(heard)


def _identity(path: str) -> tuple[int, int, bytes]:
    facts = os.stat(path)
    with open(path, "rb") as file:
        return facts.st_ino, facts.st_mtime_ns, hashlib.sha256(file.read()).digest()
