"""Asking a person: a gate is opened once, however often its agent starts again."""

from __future__ import annotations

from holdfast.clients.current_session import own_id
from holdfast.gates import lookup, notices, pictures
from holdfast.gates.rules import gate as rules
from holdfast.kernel import clock
from holdfast.kernel.digest import id_of
from holdfast.kernel.errors import HoldfastError, NotFound, Usage
from holdfast.streams import open_writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from holdfast.gates.rules.content import Content
    from holdfast.gates.rules.gate import GateState
    from holdfast.kernel.workspace import Workspace

    class Opened(TypedDict):
        """The gate, whether it was open already, and where it waits when the journal cannot be
        written."""

        id: str
        state: GateState
        again: bool
        queued: str
        warnings: list[str]


SHORT = 12
UNITS = {"s": 1000, "min": clock.MINUTE, "h": clock.HOUR, "d": clock.DAY}


def ask(
    workspace: Workspace,
    content: Content,
    *,
    actor: str,
    now: int,
    name: str = "",
    batch: bool = False,
    phase: str = "",
    holds: str = "",
    agent: str = "",
    cost_tokens: int | None = None,
    expires_at: str = "",
    default: str = "",
    attach: Sequence[str] = (),
    strict: bool = False,
    dry_run: bool = False,
) -> Opened:
    """Open a gate. The same question from the same worktree, while it is open, is the same gate, with
    the pictures that it had. `attach` are files of pictures."""
    attached = pictures.taken(attach)
    command = {
        "do": "open",
        "content": content,
        "pictures": [picture for picture, _ in attached],
        "batch": batch,
        "phase": phase,
        "holds": holds,
        "cost_tokens": cost_tokens
        if batch or cost_tokens is not None
        else _context(workspace, now),
        "expires_at": expires_at,
        "default": default,
        "strict": strict,
        "asked": {
            "by": actor,
            "session": own_id(),
            "agent": agent or _agent_here(workspace),
            "worktree": workspace.root,
        },
    }
    id = _id_for(workspace, content, name)
    # Before anything is queued or written: a refusal must reach the agent that asks.
    planned = rules.decide(_present(workspace, id), command, now)
    if dry_run:
        state = lookup.after(_present(workspace, id), planned.records, clock.stamp(now), actor)
        return _opened(state, content, again=not planned.records, queued="")
    if planned.records:
        pictures.keep(workspace, id, attached)
    writer = open_writer(workspace)
    outcome = writer.execute(rules.stream_of(id), command, actor=actor, now=now)
    state = lookup.read(workspace, id)
    if not outcome["queued"]:
        notices.announce(workspace, [state], now=now)
    return _opened(state, content, again=not planned.records, queued=outcome["queued"])


def expiry(text: str, now: int) -> str:
    """When a gate expires that does so after `30min`; never, when nothing is said."""
    if not text:
        return ""
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = UNITS.get(text[len(number) :])
    if unit is None or not number.isascii() or not number.isdigit() or not 0 < int(number) < 10_000:
        raise Usage(f"{text!r} is no time.", hint="Such as 90s, 30min, 2h or 1d.")
    return clock.stamp(now + int(number) * unit)


def _context(workspace: Workspace, now: int) -> int | None:
    """How many tokens of context the session that asks would have to rebuild, when that is known."""
    if not own_id():
        return None
    from holdfast.session.spending import measured

    try:
        return measured(workspace, session=own_id(), now=now)["context_tokens"]
    except (HoldfastError, OSError):
        return None


def _agent_here(workspace: Workspace) -> str:
    from holdfast.fleet.current_life import lives_of_session

    lives = lives_of_session(workspace, own_id())
    return lives[0][0].rpartition("/")[2].rpartition(":")[2] if len(lives) == 1 else ""


def _id_for(workspace: Workspace, content: Content, name: str) -> str:
    """A name, or what follows from the question; `.2` and so on once it was answered or withdrawn."""
    base = name or id_of(f"{workspace.root}\n{rules.digest_of(content)}")[:SHORT]
    rules.stream_of(base)
    id, number = base, 1
    while rules.is_over(_present(workspace, id)):
        number += 1
        id = f"{base}.{number}"
    return id


def _present(workspace: Workspace, id: str) -> GateState:
    try:
        return lookup.read(workspace, id)
    except NotFound:
        return rules.initial(rules.stream_of(id))


def _opened(state: GateState, content: Content, *, again: bool, queued: str) -> Opened:
    from holdfast.gates.rules.lint import findings

    warnings = [f"{one['what']}. {one['instead']}" for one in findings(content)]
    return {
        "id": state["id"],
        "state": state,
        "again": again,
        "queued": queued,
        "warnings": warnings,
    }
