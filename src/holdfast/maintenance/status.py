"""The state of a workspace: where the journal is, what it holds, what needs attention."""

from __future__ import annotations

import os

from holdfast.budgets.alerts import find_own_home
from holdfast.clients import table
from holdfast.estop.stop import lifted_by
from holdfast.gates.rules import people
from holdfast.journal.postgres.url import without_password
from holdfast.kernel import clock, config, failures, inbox, latch
from holdfast.kernel.errors import HoldfastError, StoreAway
from holdfast.kernel.state import load
from holdfast.kernel.text import plural, quote
from holdfast.kernel.trust import replaced_signers
from holdfast.kernel.views import quarantine
from holdfast.kernel.views.absorb import CONFLICTS_FILE
from holdfast.kernel.workspace import MOVED_FILE, worktrees
from holdfast.session import client_questions, quotas, usage_limits
from holdfast.session.ccc_files import broken_progress, list_unfollowed
from holdfast.session.session_files import FOLDER as SLOTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypedDict

    from holdfast.gates.rules.people import PeopleState
    from holdfast.journal.interface import Head
    from holdfast.kernel.workspace import Workspace
    from holdfast.remote.facts import SpoolFacts
    from holdfast.session.quotas import ClientQuota
    from holdfast.session.rules.model import SessionState

    class Attention(TypedDict):
        """Something that a person should look at, and the command for it."""

        what: str
        next: str

    class JournalFacts(TypedDict):
        path: str
        exists: bool
        read_only: bool
        bytes: int
        records: int
        streams: int

    class ServerFacts(SpoolFacts):
        """The server of the journal. While it is away, the rest is what this machine knows."""

        place: str
        reachable: bool

    class ShownStream(Head):
        """A stream, and what a session works on; empty for other streams."""

        about: str

    class Status(TypedDict):
        workspace: str
        worktrees: list[str]
        journal: JournalFacts
        server: ServerFacts | None
        streams: list[ShownStream]
        attention: list[Attention]
        quotas: list[ClientQuota]
        at_work: list[SessionAtWork]

    class SessionAtWork(TypedDict):
        """A session that runs now. `since`: when it began, `age`: how long ago its client last wrote."""

        session: str
        client: str
        since: str
        age: int
        worktree: str
        request: str
        edits: int


SHOWN_STREAMS = 10
SHOWN_CONFLICTS = 3
BUDGET = "budget:default"
# In the journal's home, from the first erasure of a purge to its last look: what it is about to erase.
PURGE_FILE = "purge.json"


def gather(workspace: Workspace, *, streams: int = SHOWN_STREAMS) -> Status:
    server, away = _server(workspace), ""
    if server is not None and not server["reachable"]:
        workspace = workspace.offline()
        away = server["place"]
    facts: JournalFacts = {
        "path": workspace.journal_path,
        "exists": workspace.exists(),
        "read_only": False,
        "bytes": 0,
        "records": 0,
        "streams": 0,
    }
    heads: list[Head] = []
    if facts["exists"]:
        journal = workspace.journal
        heads = journal.heads()
        facts["path"] = away or journal.place
        facts["read_only"] = journal.read_only
        facts["bytes"] = journal.size()
        facts["records"] = sum(head["version"] - head["anchor_version"] for head in heads)
        facts["streams"] = len(heads)
        order = {name: at for at, name in enumerate(journal.newest("", limit=len(heads)))}
        heads.sort(key=lambda head: order.get(head["stream"], len(order)))
    return {
        "workspace": workspace.root,
        "worktrees": worktrees(workspace),
        "journal": facts,
        "server": server,
        "streams": [{**head, "about": _about(workspace, head)} for head in heads[:streams]],
        "attention": [*_list_server(workspace, server), *list_attention(workspace)],
        "quotas": quotas.list_quotas(workspace, clock.now()),
        "at_work": _at_work(workspace),
    }


def _about(workspace: Workspace, head: Head) -> str:
    """What a session works on: its next step, else its task, else its request."""
    if not head["stream"].startswith("session:"):
        return ""
    from holdfast.session.rules import session as rules
    from holdfast.session.rules.handover import progress_of
    from holdfast.session.rules.prompt import is_stated, next_action_of

    state: SessionState = load(workspace.journal, rules, head["stream"])[0]
    known = progress_of(state)
    action = next_action_of(known["prompt"])
    return (action if is_stated(action) else "") or known["current"] or known["title"]


def _at_work(workspace: Workspace) -> list[SessionAtWork]:
    """The sessions of all worktrees that run now, as their hooks told."""
    trees = map(workspace.at, filter(os.path.isdir, worktrees(workspace)))
    if not any(os.path.isdir(os.path.join(tree.private, SLOTS)) for tree in trees):
        return []
    from holdfast.session.session_list import list_at_work

    return [
        {
            "session": one["session"],
            "client": one["client"],
            "since": one["since"],
            "age": one["age"],
            "worktree": one["worktree"],
            "request": one["request"],
            "edits": one["edits"],
        }
        for one in list_at_work(workspace, clock.now())
    ]


def _server(workspace: Workspace) -> ServerFacts | None:
    """The state of the server; None if the journal is a file."""
    if not workspace.url:
        return None
    from holdfast.remote import facts

    reachable = True
    try:
        _ = workspace.journal
    except StoreAway:
        reachable = False
    return {
        "place": without_password(workspace.url),
        "reachable": reachable,
        **facts.gather(workspace),
    }


def _list_server(workspace: Workspace, server: ServerFacts | None) -> Iterator[Attention]:
    """A server that is away, and records that it lost."""
    if server is None:
        return
    from holdfast.remote.facts import find_loss, in_words, loss_in_words

    if not server["reachable"]:
        what = "; ".join(filter(None, ("The server is away", in_words(server))))
        yield {"what": what, "next": "holdfast doctor"}
    # While the server is away, `workspace` is the one without it.
    loss = find_loss(workspace, clock.now()) if workspace.url else None
    if loss:
        yield {"what": loss_in_words(loss), "next": "holdfast doctor"}


def _list_around(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """What holds in the repository's own home, where HOLDFAST_HOME names another."""
    own = find_own_home(workspace)
    if own is None:
        return
    try:
        what = f"HOLDFAST_HOME names another journal than this repository's own ({own.home}); its stops, "
        yield f"{what}alerts and limits still hold", "env -u HOLDFAST_HOME holdfast status"
        if own.journal.head(BUDGET) is not None:
            from holdfast.budgets.stop import AROUND, list_waiting

            for waits, command in list_waiting(own):
                yield f"{waits} {AROUND}", f"env -u HOLDFAST_HOME {command}"
    finally:
        own.close()


def list_attention(workspace: Workspace) -> list[Attention]:
    """What needs a person, the most urgent first."""
    found = [
        *_list_stops(workspace),
        *_list_around(workspace),
        *_list_waiting(workspace),
        *_list_settings(workspace),
        *_list_files(workspace),
        *(_list_in_journal(workspace) if workspace.exists() else ()),
    ]
    return [{"what": what, "next": next} for what, next in found]


def _list_stops(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """The stop that holds, and attempts of programs to change what people decided."""
    stopped = latch.read(workspace)
    if stopped is not None:
        by = f" by {stopped['by']}" if stopped["by"] else ""
        yield f"Stopped{by}: {stopped['reason']}", lifted_by(stopped)
    replaced = replaced_signers(workspace)
    if replaced:
        what = "gate.signers was changed by no person; signatures by"
        yield f"{what} {replaced} are still asked for", "holdfast trust --show"
    if not workspace.exists() or workspace.journal.head(people.STREAM) is None:
        return
    state: PeopleState = load(workspace.journal, people, people.STREAM)[0]
    since = clock.precise(clock.now() - clock.DAY)
    for one in state["latest"]:
        # Files of stops and alerts that a program removed, and that were set again.
        is_lifted = one["purpose"].startswith("lift ") and "removed" in one["why"]
        if is_lifted and one["at"] >= since:
            what = f"A program tried to {one['purpose']} ({one['at']}): {one['why']}"
            yield what, "holdfast history people:workspace"


def _list_waiting(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Gates, and sessions whose client asks its person or is at a usage limit."""
    if workspace.exists() and workspace.journal.heads("gate:"):
        from holdfast.gates.lookup import open_gates, title_of

        gates = [state for state in open_gates(workspace) if state["presented_at"]]
        if gates:
            wait = plural(len(gates), "gate waits", "gates wait")
            yield f"{wait} for a person; longest: {title_of(gates[0])}", "holdfast gate list"
    now = clock.now()
    for one in client_questions.list_waiting(workspace, now):
        who = f"{table.title_of(one['client'])} {one['session'][:8]}"
        yield f"{who} waits for you in {one['root']}: {one['asks']}", f"cd {quote(one['root'])}"
    for limited in usage_limits.list_limited(workspace, now):
        who = f"{table.title_of(limited['client'])} {limited['session'][:8]}"
        where = "" if limited["root"] == workspace.root else f" in {limited['root']}"
        what = f"{who}{where} {usage_limits.describe(limited, now)}"
        yield what, usage_limits.command_for(limited, workspace.root, now)


def _list_settings(workspace: Workspace) -> Iterator[tuple[str, str]]:
    try:
        untrusted = sorted(config.untrusted_in(workspace, config.from_file(workspace, None)))
        if untrusted:
            what = f"Settings that do not count until you trust them: {', '.join(untrusted)}"
            yield what, "holdfast trust --show"
        config.load(workspace, workspace.journal if workspace.exists() else None)
    except HoldfastError as error:
        yield error.message, "holdfast doctor"


def _list_files(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """What files in the journal's home and in the worktrees tell."""
    if os.path.exists(os.path.join(workspace.home, PURGE_FILE)):
        yield "A purge was interrupted, and the text is not gone yet", "holdfast doctor --fix"
    for name in list_unfollowed(workspace):
        yield f"{name} came with the repository and is not followed", "holdfast trust"
    broken = broken_progress(workspace)
    if broken:
        yield f"{broken}; the next checkpoint writes it anew and keeps a copy", "holdfast resume"
    if os.path.exists(os.path.join(workspace.home, CONFLICTS_FILE)):
        from holdfast.maintenance.conflicts import describe, list_conflicts

        found = list_conflicts(workspace)
        for one in found[:SHOWN_CONFLICTS]:
            yield describe(one), "holdfast conflicts"
        if len(found) > SHOWN_CONFLICTS:
            more = f"{len(found) - SHOWN_CONFLICTS} more edits by hand met a newer change"
            yield more, "holdfast conflicts"
    failed = failures.read(workspace)
    if failed:
        what = f"{plural(len(failed), 'hook')} failed; last: {failed[-1]['reason']}"
        yield what, "holdfast doctor"
    queued = [path for root in worktrees(workspace) for path in inbox.waiting(root)]
    if queued and not workspace.spools:
        wait = plural(len(queued), "command waits", "commands wait")
        yield f"{wait} in .holdfast/inbox to be taken in", "holdfast doctor --fix"
    kept = quarantine.listing(workspace)
    if kept:
        what = f"{plural(len(kept), 'file')} in quarantine: {os.path.dirname(kept[0])}"
        yield what, "holdfast doctor"
    from holdfast.budgets.limits import describe_raised, find_problem, has_file

    if has_file(workspace):
        from holdfast.budgets.check import Budget

        state = Budget(workspace, actor="").state()
        problem = find_problem(workspace, state)
        if problem:
            yield problem.removesuffix("."), "holdfast guard limits"
        else:
            raised = describe_raised(state.get("own", {}))
            if raised:
                yield raised, "holdfast trust"


def _list_in_journal(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Refused writes, budgets, another journal, effects that wait, and work that stands still."""
    journal = workspace.journal
    refused = journal.refusals()
    if refused:
        yield f"{plural(len(refused), 'write')} refused and kept", "holdfast doctor"
    if journal.head(BUDGET) is not None:
        from holdfast.budgets.stop import list_waiting

        yield from list_waiting(workspace)
    was_moved = os.path.exists(os.path.join(workspace.home, MOVED_FILE))
    # Only then there may be two journals.
    if (workspace.url or was_moved) and not workspace.spools:
        from holdfast.remote.move import astray

        stray = astray(workspace)
        if stray:
            yield stray.what, "holdfast doctor"
    failing = [effect for effect in journal.effects() if effect["error"]]
    if failing:
        yield f"{plural(len(failing), 'effect')} could not be delivered yet", "holdfast doctor"
    if any(map(journal.heads, ("run:", "agent:", "loop:"))):
        from holdfast.maintenance.interrupted import list_interrupted

        yield from list_interrupted(workspace, clock.now())
