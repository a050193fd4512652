"""The ratchet of the walks: how many modules of Holdfast a command loads, how many of its functions run, and how
many of its frames are between the command line and the journal.

A change that raises a number says in its commit what it removed, or why not. One that lowers a number lowers it here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# What each walk may take: modules, functions, frames (0: it commits nothing). Wanted are 50 modules and 120 functions
# for a note, and 260 functions for a checkpoint.
LIMITS = {
    "note": (97, 360, 7),
    "checkpoint": (151, 606, 9),
    # With the look whether sessions were kept today: its module, the launcher's folder.
    "stop": (131, 490, 9),
    # With the look for kept sessions of this folder.
    "resume": (152, 476, 0),
    "gate answer": (151, 380, 10),
    # With the files that git says have changed, and the copy in the agent's own worktree.
    "beat": (117, 538, 10),
}
WORDS = {
    "note": ["note", "hello"],
    "checkpoint": ["checkpoint", "--session", "s1", "--skip-git", "--task", "two"],
    "resume": ["resume"],
    "gate answer": ["gate", "answer", "dashboard", "approved"],
    "beat": ["agent", "beat", "Secondary-A", "--step", "on"],
}
BEFORE = (
    ["note", "the first one makes the journal"],
    ["checkpoint", "--session", "s1", "--skip-git", "--task", "one"],
    ["agent", "start", "Secondary-A", "--feature", "feature_02"],
    ["gate", "verify", "--name", "dashboard", "--built", "It", "--how", "Look"],
)
COUNT = """
import json, os, sys, importlib.util

root = os.path.dirname(importlib.util.find_spec("holdfast").origin) + os.sep
functions, frames, told = set(), 0, os.dup(2)

def is_own(frame):
    code = frame.f_code
    return code.co_filename.startswith(root) and not code.co_name.startswith("<")

def count(frame, event, _):
    global frames
    if event != "call" or not is_own(frame):
        return
    functions.add(frame.f_code)
    if frame.f_code.co_name == "commit" and frame.f_code.co_filename.endswith("journal/sqlite.py"):
        depth = 0
        while frame is not None:
            depth += is_own(frame)
            frame = frame.f_back
        frames = max(frames, depth)

def leave(code=0):
    sys.setprofile(None)
    modules = [name for name in sys.modules if name.partition(".")[0] == "holdfast"]
    os.write(told, ("\\nwalk " + json.dumps([len(modules), len(functions), frames])).encode())
    end(0)

end, os._exit = os._exit, leave
sys.setprofile(count)
try:
    if sys.argv[1] == "stop":
        from holdfast.hooks.run import respond_to
        payload = {"session_id": "s1", "cwd": os.getcwd(), "hook_event_name": "Stop"}
        respond_to("claude", "Stop", payload, may_leave=False)
    else:
        import runpy
        sys.argv[0] = "holdfast"
        runpy.run_module("holdfast", run_name="__main__")
except SystemExit:
    pass
leave()
"""


def run(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
        env={**os.environ, "HOLDFAST_ACTOR": "tester"},
    )
    return done.stderr


@pytest.mark.parametrize("walk", LIMITS)
def test_a_walk_does_not_grow(repository: Path, walk: str) -> None:
    for words in BEFORE:
        run("-m", "holdfast", *words)

    said = run("-c", COUNT, *WORDS.get(walk, [walk]))

    taken = tuple(json.loads(said.rpartition("walk ")[2]))
    assert all(one <= limit for one, limit in zip(taken, LIMITS[walk], strict=True)), taken
