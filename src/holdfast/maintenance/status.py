"""The state of a workspace: where the journal is, what it holds, what needs attention."""

from __future__ import annotations

import os
from shlex import quote

from holdfast.clients import table
from holdfast.estop.stop import lifted_by
from holdfast.gates.rules import people
from holdfast.journal.postgres.url import without_password
from holdfast.kernel import clock, config, failures, inbox, latch
from holdfast.kernel.errors import HoldfastError, StoreAway
from holdfast.kernel.state import load
from holdfast.kernel.text import plural
from holdfast.kernel.trust import replaced_signers
from holdfast.kernel.views import quarantine
from holdfast.kernel.views.reconcile import CONFLICTS_FILE
from holdfast.kernel.workspace import MOVED_FILE, worktrees
from holdfast.session import client_questions, quotas, usage_limits
from holdfast.session.ccc_files import broken_progress
from holdfast.session.session_files import FOLDER as SLOTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.gates.rules.people import PeopleState
    from holdfast.journal.interface import Head
    from holdfast.kernel.workspace import Workspace
    from holdfast.remote.facts import SpoolFacts
    from holdfast.session.quotas import ClientQuota

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

    class Status(TypedDict):
        workspace: str
        worktrees: list[str]
        journal: JournalFacts
        server: ServerFacts | None
        streams: list[Head]
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
# In the journal's home: what a purge is about to erase.
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
        "streams": heads[:streams],
        "attention": [*_away(server), *_lost_on_server(workspace), *attention(workspace)],
        "quotas": quotas.list_quotas(workspace, clock.now()),
        "at_work": _at_work(workspace),
    }


def _at_work(workspace: Workspace) -> list[SessionAtWork]:
    """The sessions of all worktrees that run now, as their hooks told."""
    folder = os.path.join(os.path.relpath(workspace.tool_folder, workspace.root), SLOTS)
    if not any(os.path.isdir(os.path.join(root, folder)) for root in worktrees(workspace)):
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


def _away(server: ServerFacts | None) -> list[Attention]:
    if server is None or server["reachable"]:
        return []
    from holdfast.remote.facts import in_words

    what = "The server is away"
    waits = in_words(server)
    return [{"what": f"{what}; {waits}" if waits else what, "next": "holdfast doctor"}]


def _lost_on_server(workspace: Workspace) -> list[Attention]:
    if not workspace.url:
        return []
    from holdfast.remote.facts import find_loss, loss_in_words

    loss = find_loss(workspace, clock.now())
    return [{"what": loss_in_words(loss), "next": "holdfast doctor"}] if loss else []


def attention(workspace: Workspace) -> list[Attention]:
    """What needs a person, the most urgent first."""
    found: list[Attention] = []

    def add(what: str, next: str) -> None:
        found.append({"what": what, "next": next})

    stopped = latch.read(workspace)
    if stopped is not None:
        by = f" by {stopped['by']}" if stopped["by"] else ""
        add(f"Stopped{by}: {stopped['reason']}", lifted_by(stopped))
    replaced = replaced_signers(workspace)
    if replaced:
        what = (
            f"gate.signers was changed by no person; signatures by {replaced} are still asked for"
        )
        add(what, "holdfast trust --show")
    for what in _lately_removed(workspace):
        add(what, "holdfast history people:workspace")
    if workspace.exists() and workspace.journal.heads("gate:"):
        from holdfast.gates.lookup import open_gates, title_of

        gates = [state for state in open_gates(workspace) if state["presented_at"]]
        if gates:
            wait = f"{plural(len(gates), 'gate')} wait{'s' if len(gates) == 1 else ''} for a person"
            add(f"{wait}; longest: {title_of(gates[0])}", "holdfast gate list")
    for one in client_questions.list_waiting(workspace, clock.now()):
        who = f"{table.title_of(one['client'])} {one['session'][:8]}"
        add(f"{who} waits for you in {one['root']}: {one['asks']}", f"cd {quote(one['root'])}")
    for limited in usage_limits.list_limited(workspace, clock.now()):
        who = f"{table.title_of(limited['client'])} {limited['session'][:8]}"
        where = "" if limited["root"] == workspace.root else f" in {limited['root']}"
        what = f"{who}{where} {usage_limits.describe(limited, clock.now())}"
        add(what, usage_limits.command_for(limited, workspace.root, clock.now()))
    try:
        untrusted = sorted(config.untrusted_in(workspace, config.from_file(workspace, None)))
        if untrusted:
            what = f"Settings that do not count until you trust them: {', '.join(untrusted)}"
            add(what, "holdfast trust --show")
        config.load(workspace, workspace.journal if workspace.exists() else None)
    except HoldfastError as error:
        add(error.message, "holdfast doctor")
    if os.path.exists(os.path.join(workspace.home, PURGE_FILE)):
        add("A purge was interrupted, and the text is not gone yet", "holdfast doctor --fix")
    broken = broken_progress(workspace)
    if broken:
        add(f"{broken}; the next checkpoint writes it anew and keeps a copy", "holdfast resume")
    for what in _conflicts(workspace):
        add(what, "holdfast conflicts")
    failed = failures.read(workspace)
    if failed:
        add(
            f"{plural(len(failed), 'hook')} failed; last: {failed[-1]['reason']}", "holdfast doctor"
        )
    queued = [path for root in worktrees(workspace) for path in inbox.waiting(root)]
    if queued and not workspace.spools:
        wait = plural(len(queued), "command waits", "commands wait")
        add(f"{wait} in .holdfast/inbox to be taken in", "holdfast doctor --fix")
    kept = quarantine.listing(workspace)
    if kept:
        add(
            f"{plural(len(kept), 'file')} in quarantine: {os.path.dirname(kept[0])}",
            "holdfast doctor",
        )
    problem = _problem_of_limits(workspace)
    if problem:
        add(problem, "holdfast guard limits")
    if workspace.exists():
        refused = workspace.journal.refusals()
        if refused:
            add(f"{plural(len(refused), 'write')} refused and kept", "holdfast doctor")
        if workspace.journal.head(BUDGET) is not None:
            from holdfast.budgets.stop import list_waiting

            for what, next in list_waiting(workspace):
                add(what, next)
        failing = [effect for effect in workspace.journal.effects() if effect["error"]]
        stray = _astray(workspace)
        if stray:
            add(stray, "holdfast doctor")
        if failing:
            add(f"{plural(len(failing), 'effect')} could not be delivered yet", "holdfast doctor")
        if any(map(workspace.journal.heads, ("run:", "agent:", "loop:"))):
            from holdfast.maintenance.interrupted import list_interrupted

            for what, next in list_interrupted(workspace, clock.now()):
                add(what, next)
    return found


def _conflicts(workspace: Workspace) -> list[str]:
    """Edits by hand that did not count, with both texts."""
    if not os.path.exists(os.path.join(workspace.home, CONFLICTS_FILE)):
        return []
    from holdfast.maintenance.conflicts import describe, list_conflicts

    found = list_conflicts(workspace)
    more = [f"{len(found) - SHOWN_CONFLICTS} more edits by hand met a newer change"]
    lines = [describe(one) for one in found[:SHOWN_CONFLICTS]]
    return lines + (more if len(found) > SHOWN_CONFLICTS else [])


def _problem_of_limits(workspace: Workspace) -> str:
    from holdfast.budgets.limits import find_problem, has_file

    if not has_file(workspace):
        return ""
    from holdfast.budgets.check import Budget

    return find_problem(workspace, Budget(workspace, actor="").state()).removesuffix(".")


def _lately_removed(workspace: Workspace) -> list[str]:
    """Files of stops and alerts that a program removed in the last day, and that were set again."""
    if not workspace.exists() or workspace.journal.head(people.STREAM) is None:
        return []
    state: PeopleState = load(workspace.journal, people, people.STREAM)[0]
    since = clock.precise(clock.now() - clock.DAY)
    return [
        f"A program tried to {one['purpose']} ({one['at']}): {one['why']}"
        for one in state["latest"]
        if one["at"] >= since and one["purpose"].startswith("lift ") and "removed" in one["why"]
    ]


def _astray(workspace: Workspace) -> str:
    """Whether another journal holds records. It looks only if there may be two journals."""
    was_moved = os.path.exists(os.path.join(workspace.home, MOVED_FILE))
    if workspace.spools or not (workspace.url or was_moved):
        return ""
    from holdfast.remote.move import astray

    found = astray(workspace)
    return found.what if found else ""
