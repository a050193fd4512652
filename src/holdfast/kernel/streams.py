"""The kinds of streams that the features bring, and the writer that follows their rules.

A stream's kind is the word before its colon. Only the features' tables tie a kind to code: stored data never names a
module.
"""

from __future__ import annotations

import os

from holdfast import registry
from holdfast.kernel import config
from holdfast.kernel.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from holdfast.journal.interface import Journal
    from holdfast.kernel.rules import Rules
    from holdfast.kernel.workspace import Workspace
    from holdfast.kernel.writer import Writer

    Operation = TypeVar("Operation", bound=Callable[..., Any])

# What the names of these streams begin with.
LIVES = registry.prefixes(lambda kind: kind.of_one_life)
FENCED = registry.prefixes(lambda kind: kind.is_fenced)
MIRRORED = registry.prefixes(lambda kind: kind.mirrored)
DECIDED = registry.prefixes(lambda kind: kind.is_decided)
# Effects on files of the machine that decided them: no other machine may carry them out.
LOCAL_EFFECTS = tuple(name for feature in registry.features() for name in feature.effects)


def rules_of(stream: str) -> Rules:
    """Return the rules of a stream, imported when they are first needed."""
    kind = registry.kind_of(stream)
    if kind is None:
        raise NotFound(
            f"This holdfast knows no streams of the kind {stream.partition(':')[0]!r}.",
            hint="A newer holdfast, or a feature that is not installed, may have written it.",
            kind="unknown_stream",
        )
    rules: Rules = registry.load(kind.rules)
    return rules


def can_settle(stream: str) -> bool:
    """Return whether the states of a stream have open conflicts, which a person settles."""
    kind = registry.kind_of(stream)
    return kind is not None and "settle" in kind.acts


def is_known(stream: str) -> bool:
    """Return whether a feature knows the kind of a stream."""
    return registry.kind_of(stream) is not None


def list_unknown(journal: Journal) -> list[str]:
    """Return the kinds of streams in a journal that no feature knows: they are kept, and nothing is done with them."""
    return [kind[:-1] for kind in _list_kinds(journal) if registry.kind_of(kind) is None]


def list_exact(journal: Journal) -> list[str]:
    """Return what the names of those streams begin with whose records hold values of programs exactly as they were
    put. Their rules say so (`EXACT`): nothing in them is redacted, and `gc` leaves them."""
    known = [kind for kind in _list_kinds(journal) if registry.kind_of(kind) is not None]
    return [kind for kind in known if getattr(rules_of(kind), "EXACT", False)]


def _list_kinds(journal: Journal) -> list[str]:
    return sorted({f"{head['stream'].partition(':')[0]}:" for head in journal.heads()})


def accept_from_inbox(stream: str, command: Any) -> Any:
    """Return the part of a queued command that an agent may ask for; None if it may not. A probe is run by
    the process that states its claim, and by no other, so claims from the inbox have none."""
    kind = registry.kind_of(stream)
    if kind is None or not isinstance(command, dict) or command.get("do") in kind.acts:
        return None
    return {**command, "claims": []} if command.get("claims") else command


def open_writer(workspace: Workspace) -> Writer:
    """Return the writer of a workspace, with the workspace's own redaction rules."""
    from holdfast.kernel.redact import Redactor
    from holdfast.kernel.writer import Writer

    journal = workspace.journal if workspace.exists() else None
    settings = config.load(workspace, journal)
    if workspace.local and settings["journal.url"]:
        workspace.spools = True
    redactor = Redactor(rules=settings["redact.rules"])
    return Writer(workspace, rules_of, redactor, lives=LIVES, accept=accept_from_inbox)


def actor() -> str:
    """Return who writes: HOLDFAST_ACTOR, else the user's name."""
    name = os.environ.get("HOLDFAST_ACTOR") or os.environ.get("USER")
    if name:
        return name
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"


def works_offline(operation: Operation) -> Operation:
    """Mark an operation that goes on while the server is away: it writes only what its caller says of
    itself, so it needs no agreement with other machines."""
    operation.works_offline = True  # type: ignore[attr-defined]
    return operation


def reads_offline(operation: Operation) -> Operation:
    """Mark an operation that only reads and still helps while the server is away, with what this machine
    knows."""
    operation.reads_offline = True  # type: ignore[attr-defined]
    return works_offline(operation)
