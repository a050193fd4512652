"""Holdfast processes and shell loops that update one track at once: `python -m tests.loop.writers`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from holdfast.kernel.errors import StoreAway
from tests.loop.world import World

PROJECT = Path(__file__).parents[2]
STEPS = ("PLAN", "EVALUATE_PLAN", "EVALUATE_EXECUTION", "BRAINSTORM")
# A machine without jq has Python: both read the file, change one counter, and replace it.
WITH_JQ = 'jq --arg k "$2" ".shell[\\$k] += 1 | .loop_state.checkpoints[\\$k].count += 1" "$file" > "$file.$2"'
WITH_PYTHON = (
    '"$4" -S -c \'import json, sys; document = json.load(open(sys.argv[1])); key = sys.argv[2]; '
    'shell = document.setdefault("shell", {}); shell[key] = shell.get(key, 0) + 1; '
    'step = document["loop_state"]["checkpoints"].setdefault(key, {}); '
    'step["count"] = step.get("count", 0) + 1; '
    'json.dump(document, open(sys.argv[1] + "." + key, "w"), indent=2)\' "$file" "$2"'
)
# As the protocol's document says it, word for word: mkdir, sleep 0.1, rmdir.
LOOP = """
set -e
track_dir="$1"; file="$track_dir/metadata.json"; lockfile="$track_dir/.metadata.lock"
for round in $(seq "$3"); do
  while ! mkdir "$lockfile" 2>/dev/null; do
    sleep 0.1
  done
  EDIT
  mv "$file.$2" "$file"
  rmdir "$lockfile"
done
"""


def shell_loop(world: World, name: str, updates: int) -> subprocess.Popen[bytes]:
    edit = WITH_JQ if shutil.which("jq") else WITH_PYTHON
    words = [str(world.folder), name, str(updates), sys.executable]
    return subprocess.Popen(["bash", "-c", LOOP.replace("EDIT", edit), "bash", *words])


def holdfast_loop(world: World, number: int, updates: int) -> subprocess.Popen[bytes]:
    words = [str(world.root), str(number), str(updates)]
    return subprocess.Popen([sys.executable, "-m", __name__, *words], cwd=PROJECT)


def at_once(world: World, count: int, updates: int) -> None:
    """So many of each kind, and what must be true when they are done."""
    world.start("EXECUTE", tasks_total=count * updates)
    for step in STEPS:
        world.start(step)
    started = [shell_loop(world, f"s{number}", updates) for number in range(count)]
    started += [holdfast_loop(world, number, updates) for number in range(count)]
    while any(one.poll() is None for one in started):
        world.file()  # always whole, always JSON
    assert [one.returncode for one in started] == [0] * len(started)
    world.do("progress", step="PLAN", fields={"current_phase": 1})
    _nothing_is_lost(world, count, updates)


def _nothing_is_lost(world: World, count: int, updates: int) -> None:
    document = world.file()
    checkpoints = document["loop_state"]["checkpoints"]
    assert document["shell"] == {f"s{number}": updates for number in range(count)}
    for number in range(count):
        assert checkpoints[f"s{number}"]["count"] == updates
    workers = [number for number in range(count) if number % 2 == 0]
    done = {f"{number}.{task}" for number in workers for task in range(updates)}
    assert set(checkpoints["EXECUTE"]["completed_tasks"]) == done
    assert checkpoints["EXECUTE"]["tasks_completed"] == len(done)
    for number in set(range(count)) - set(workers):
        progress = checkpoints[STEPS[number // 2 % len(STEPS)]]["progress"]
        assert progress[f"{_field(number)}"] == updates
    assert not world.lock.exists()


def _field(number: int) -> str:
    return ("tasks_completed", "issues_fixed")[number // 8 % 2]


def main(root: str, number: str, updates: str) -> None:
    """Even ones finish tasks of one step, odd ones count in a step of their own."""
    world, mine = World(Path(root)), int(number)
    for update in range(int(updates)):
        command: dict[str, Any] = {"do": "task_done", "step": "EXECUTE", "task": f"{mine}.{update}"}
        if mine % 2:
            step = STEPS[mine // 2 % len(STEPS)]
            command = {"do": "progress", "step": step, "fields": {_field(mine): update + 1}}
        while True:
            try:
                world.track.execute(command)
                break
            except StoreAway as away:
                if not away.retryable:
                    raise


if __name__ == "__main__":
    main(*sys.argv[1:])
