"""Savers in a repository of the test. What needs LangGraph runs where it is installed: `make test-contrib`."""

from __future__ import annotations

from importlib.util import find_spec

from tests.cli import conftest as command_line
from tests.journal.postgres import conftest as postgres

collect_ignore = (
    [] if find_spec("langgraph") else ["test_suite.py", "test_graphs.py", "test_import.py"]
)

holdfast = command_line.holdfast
url = postgres.url
workspace_name = postgres.workspace_name
on_server = postgres.on_server
