"""holdfast go: the name that users of the CCC protocol know."""

from __future__ import annotations

from holdfast.cli.verbs.resume import command

__all__ = ["command"]
