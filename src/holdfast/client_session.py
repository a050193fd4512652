"""The session that a client runs this process in."""

from __future__ import annotations

import os


def own_id() -> str:
    """The id that the client gives to the processes it starts; empty outside of one."""
    return os.environ.get("CLAUDE_CODE_SESSION_ID") or os.environ.get("GEMINI_SESSION_ID") or ""
