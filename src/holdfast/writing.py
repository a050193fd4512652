"""The writer of a workspace, as every face gets it: with its rules, its redaction and its user."""

from __future__ import annotations

import os

from holdfast.kernel import config
from holdfast.kernel.redact import Redactor
from holdfast.kernel.writer import Writer
from holdfast.streams import subject_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace


def writer_of(workspace: Workspace) -> Writer:
    """The writer of a workspace with its own redaction rules."""
    journal = workspace.journal if workspace.exists() else None
    settings = config.load(workspace, journal)
    if workspace.local and settings["journal.url"]:
        workspace.spools = True
    return Writer(workspace, subject_of, Redactor(rules=settings["redact.rules"]))


def actor() -> str:
    """Who writes: HOLDFAST_ACTOR, else the user's name."""
    name = os.environ.get("HOLDFAST_ACTOR") or os.environ.get("USER")
    if name:
        return name
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"
