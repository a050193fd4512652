"""The command line. `verb_list` names the verbs, `verbs/` holds them; nothing is imported before it is needed."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """The entry point of `holdfast`."""
    # A verb that needs no parser is over before its garbage matters; the parser turns this on again.
    gc.disable()
    try:
        from holdfast.cli.frame import run

        code = run(sys.argv[1:])
        if "holdfast.cli.parser" in sys.modules or "threading" in sys.modules:
            sys.exit(code)
        # To end the interpreter takes a fifth as long as such a verb, and would do nothing more.
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            pass
    except (ImportError, MemoryError, OSError, SystemError) as error:
        _fail_to_start(error)
        raise
    os._exit(code)


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
