"""Maintenance is tested as a user meets it: through the command line, in a repository."""

from __future__ import annotations

from tests.cli import conftest as command_line

holdfast = command_line.holdfast
