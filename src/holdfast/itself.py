"""How we start ourselves: nothing of the folder that we are started in is loaded."""

from __future__ import annotations

import sys

# Without -P the current folder, which is an agent's to write, comes before our own libraries.
MODULE = ("-P", "-m", "holdfast")


def command(*words: str) -> list[str]:
    return [sys.executable, *MODULE, *words]
