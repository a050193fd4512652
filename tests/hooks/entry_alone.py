"""The hooks' entry without the processes that a hook leaves behind: `python entry_alone.py HOOK...`."""

from __future__ import annotations

import sys

from holdfast.hooks.run import run
from holdfast.processes import relaunch

if __name__ == "__main__":
    relaunch.leave = lambda words: True
    run(sys.argv[1:])
