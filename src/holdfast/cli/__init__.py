"""The command line. `verb_list` names the verbs, `verbs/` holds them; nothing is imported before it is needed."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """The entry point of `holdfast`."""
    # A verb that needs no parser is over before its garbage matters; the parser turns this on again.
    gc.disable()
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
    os._exit(code)
