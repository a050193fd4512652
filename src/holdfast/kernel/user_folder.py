"""The folder where holdfast keeps what is a user's own, for all workspaces."""

from __future__ import annotations

import os


def folder() -> str:
    """`$XDG_STATE_HOME/holdfast`, by default `~/.local/state/holdfast`."""
    state = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):  # the specification: a relative one is to be ignored
        state = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "holdfast")
