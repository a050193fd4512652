"""The command line. Features name their verbs; nothing is imported before it is needed."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main() -> None:
    """Run `holdfast` and end with its exit code."""
    sys.unraisablehook, sys.excepthook = _hide_shortage, _name_shortage
    try:
        if sys.argv[1:] == ["mcp"]:
            from holdfast.mcp.greeting import greet

            if greet():
                return
        from holdfast.cli.frame import run

        sys.exit(run(sys.argv[1:]))
    except (ImportError, MemoryError, OSError, SystemError) as error:
        _fail_to_start(error)
        raise


def _hide_shortage(found: sys.UnraisableHookArgs) -> None:
    """Print no traceback where memory was short while something was closed: the command names the shortage."""
    if not isinstance(found.exc_value, MemoryError):
        sys.__unraisablehook__(found)


def _name_shortage(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """Name a shortage that the interpreter meets outside of `main`, and for which it has no exception of its own."""
    if isinstance(error, (MemoryError, SystemError)):
        _fail_to_start(MemoryError())
    sys.__excepthook__(kind, error, trace)


def _fail_to_start(error: BaseException) -> None:
    """End with the reason where a shortage keeps the command line from being loaded."""
    reason = str(error) or "not enough memory"
    if isinstance(error, ImportError) and not any(
        part in reason for part in ("Too many open files", "failed to map segment")
    ):
        return
    hint = "hint: Allow it more open files and memory: ulimit -n 256; ulimit -v unlimited"
    os.write(2, f"error: Holdfast could not be loaded: {reason}.\n{hint}\n".encode())
    os._exit(75)
