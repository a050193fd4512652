"""Gates are asked in a repository, by whoever runs the tests, outside of every agent's client."""

from __future__ import annotations

from tests.cli import conftest as command_line

holdfast = command_line.holdfast
