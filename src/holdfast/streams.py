"""Which rules belong to a stream, and the writer that follows them.

A stream's kind is the word before its colon. The table below is the only place that ties a kind to
code: stored data never names a module.
"""

from __future__ import annotations

import os

from holdfast.kernel.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.rules import Rules
    from holdfast.kernel.workspace import Workspace
    from holdfast.kernel.writer import Writer

RULES = {
    "agent": "holdfast.fleet.rules.agent",
    "budget": "holdfast.budgets.rules.budget",
    "comms": "holdfast.fleet.rules.comms",
    "feature": "holdfast.fleet.rules.feature",
    "flight": "holdfast.plans.rules.flight",
    "gate": "holdfast.gates.rules.gate",
    "logbook": "holdfast.plans.rules.logbook",
    "loop": "holdfast.loop.rules.loop",
    "note": "holdfast.note.rules.note",
    "people": "holdfast.gates.rules.people",
    "rfc": "holdfast.rfc.rules.rfc",
    "run": "holdfast.plans.rules.run",
    "session": "holdfast.session.rules.session",
    "stop": "holdfast.estop.rules.stop",
}


def rules_of(stream: str) -> Rules:
    """The rules of a stream, imported when they are first needed."""
    kind = stream.partition(":")[0]
    name = RULES.get(kind)
    if name is None:
        raise NotFound(
            f"This holdfast knows no streams of the kind {kind!r}.",
            hint="A newer holdfast may have written it.",
            kind="unknown_stream",
        )
    rules: Rules = __import__(name, fromlist=["decide"])
    return rules


def open_writer(workspace: Workspace) -> Writer:
    """The writer of a workspace, with the workspace's own redaction rules."""
    from holdfast.kernel import config
    from holdfast.kernel.redact import Redactor
    from holdfast.kernel.writer import Writer

    journal = workspace.journal if workspace.exists() else None
    settings = config.load(workspace, journal)
    if workspace.local and settings["journal.url"]:
        workspace.spools = True
    return Writer(workspace, rules_of, Redactor(rules=settings["redact.rules"]))


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
