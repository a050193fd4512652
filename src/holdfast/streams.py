"""The kinds of streams, and the writer that follows their rules.

A stream's kind is the word before its colon. The table below is the only place that ties a kind to
code: stored data never names a module.
"""

from __future__ import annotations

import os

from holdfast.kernel import config
from holdfast.kernel.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.kernel.rules import Rules
    from holdfast.kernel.workspace import Workspace
    from holdfast.kernel.writer import Writer


class StreamKind:
    """What holds for all streams of one kind.

    `rules` names the module with its five functions. A stream `of_one_life` belongs to one session
    or agent, which alone writes to it; only these may be written to this machine's file first and
    to the server later (ADR 0027). `is_fenced` says that each life has a fence. Hooks read streams
    that are `mirrored`, so each machine keeps a copy of them. `follower` names the module that
    brings this machine's files in line when the stream changed on the server. `acts` are the commands
    of people and of holdfast itself: they do not count when they come from the inbox. `found_by` names the
    module that knows which of these streams began on this machine.
    """

    __slots__ = ("acts", "follower", "found_by", "is_fenced", "mirrored", "of_one_life", "rules")

    def __init__(
        self,
        rules: str,
        *,
        of_one_life: bool = False,
        is_fenced: bool = False,
        mirrored: bool = False,
        follower: str = "",
        found_by: str = "",
        acts: tuple[str, ...] = (),
    ) -> None:
        self.rules = rules
        self.of_one_life = of_one_life
        self.is_fenced = is_fenced
        self.mirrored = mirrored
        self.follower = follower
        self.found_by = found_by
        self.acts = acts


KINDS = {
    "agent": StreamKind(
        "holdfast.fleet.rules.agent",
        of_one_life=True,
        is_fenced=True,
        found_by="holdfast.fleet.current_life",
        acts=("settle",),
    ),
    "budget": StreamKind(
        "holdfast.budgets.rules.budget",
        mirrored=True,
        follower="holdfast.budgets.stop",
        acts=("ack", "halt", "reset"),
    ),
    "comms": StreamKind("holdfast.fleet.rules.comms"),
    "feature": StreamKind("holdfast.fleet.rules.feature"),
    "flight": StreamKind("holdfast.plans.rules.flight"),
    "gate": StreamKind(
        "holdfast.gates.rules.gate", mirrored=True, acts=("answer", "withdraw", "present", "notify")
    ),
    "logbook": StreamKind("holdfast.plans.rules.logbook"),
    "loop": StreamKind("holdfast.loop.rules.loop", acts=("settle",)),
    "note": StreamKind("holdfast.note.rules.note"),
    "people": StreamKind("holdfast.gates.rules.people"),
    "rfc": StreamKind("holdfast.rfc.rules.rfc", mirrored=True, acts=("settle",)),
    "run": StreamKind("holdfast.plans.rules.run"),
    "session": StreamKind("holdfast.session.rules.session", of_one_life=True, acts=("settle",)),
    "stop": StreamKind(
        "holdfast.estop.rules.stop",
        mirrored=True,
        follower="holdfast.estop.stop",
        acts=("release",),
    ),
}
# What the names of these streams begin with.
LIVES = tuple(f"{name}:" for name, kind in KINDS.items() if kind.of_one_life)
FENCED = tuple(f"{name}:" for name, kind in KINDS.items() if kind.is_fenced)
MIRRORED = tuple(f"{name}:" for name, kind in KINDS.items() if kind.mirrored)
# Effects on files of the machine that decided them: no other machine may carry them out.
LOCAL_EFFECTS = ("epic_readme", "move")


def rules_of(stream: str) -> Rules:
    """The rules of a stream, imported when they are first needed."""
    name = stream.partition(":")[0]
    kind = KINDS.get(name)
    if kind is None:
        raise NotFound(
            f"This holdfast knows no streams of the kind {name!r}.",
            hint="A newer holdfast may have written it.",
            kind="unknown_stream",
        )
    rules: Rules = __import__(kind.rules, fromlist=["decide"])
    return rules


def accept_from_inbox(stream: str, command: Any) -> Any:
    """The part of a queued command that an agent may ask for; None if it may not. A probe is run by
    the process that states its claim, and by no other, so claims from the inbox have none."""
    kind = KINDS.get(stream.partition(":")[0])
    if kind is None or not isinstance(command, dict) or command.get("do") in kind.acts:
        return None
    return {**command, "claims": []} if command.get("claims") else command


def open_writer(workspace: Workspace) -> Writer:
    """The writer of a workspace, with the workspace's own redaction rules."""
    from holdfast.kernel.redact import Redactor
    from holdfast.kernel.writer import Writer

    journal = workspace.journal if workspace.exists() else None
    settings = config.load(workspace, journal)
    if workspace.local and settings["journal.url"]:
        workspace.spools = True
    redactor = Redactor(rules=settings["redact.rules"])
    return Writer(workspace, rules_of, redactor, lives=LIVES, accept=accept_from_inbox)


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
