"""What needs the Claude Agent SDK runs where it is installed: `make test-contrib`."""

from __future__ import annotations

from importlib.util import find_spec

from tests.cli import conftest as command_line

collect_ignore = [] if find_spec("claude_agent_sdk") else ["test_store.py"]

holdfast = command_line.holdfast
