"""How we start ourselves: nothing of the folder that we are started in is loaded."""

from __future__ import annotations

import os
import sys

# Without -P the current folder, which is an agent's to write, comes before our own libraries.
MODULE = ("-P", "-m", "holdfast")


def command(*words: str) -> list[str]:
    return [sys.executable, *MODULE, *words]


def leave(words: list[str]) -> bool:
    """Start a command of ours that outlives this process, which does not wait for it."""
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    actions = [(os.POSIX_SPAWN_DUP2, nothing, descriptor) for descriptor in (0, 1, 2)]
    # What the agent's environment tells Python to load is not for what runs outside of its sandbox.
    environment = {name: value for name, value in os.environ.items() if name[:6] != "PYTHON"}
    try:
        os.posix_spawn(words[0], words, environment, file_actions=actions, setsid=True)
    except (OSError, NotImplementedError):
        return False
    finally:
        os.close(nothing)
    return True
