"""The command line. One verb is one file in `verbs/`; nothing is imported before it is needed."""

from __future__ import annotations

import sys


def main() -> None:
    """The entry point of `holdfast`."""
    from holdfast.cli.frame import run

    sys.exit(run(sys.argv[1:]))
