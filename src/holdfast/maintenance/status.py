"""The state of a workspace: where the journal is, what it holds, what needs attention."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypedDict

from holdfast import registry
from holdfast.clients import table
from holdfast.journal.postgres.url import without_password
from holdfast.kernel import clock, config, failures, inbox, latch
from holdfast.kernel.errors import HoldfastError, StoreAway
from holdfast.kernel.state import load
from holdfast.kernel.stops import find_own_home, lifted_by
from holdfast.kernel.streams import list_unknown
from holdfast.kernel.text import plural, quote
from holdfast.kernel.trust import replaced_signers
from holdfast.kernel.views import quarantine
from holdfast.kernel.views.absorb import CONFLICTS_FILE
from holdfast.kernel.workspace import MOVED_FILE, worktrees
from holdfast.maintenance import conflicts
from holdfast.maintenance.record_text import tell_about
from holdfast.people.rules import people
from holdfast.registry import BROKEN, SETTINGS, STOPPED, WAITS, Attention
from holdfast.session import client_questions
from holdfast.session.ccc_files import broken_progress, list_unfollowed
from holdfast.session.rules import session
from holdfast.session.rules.handover import title_of
from holdfast.session.session_files import FOLDER as SLOTS
from holdfast.session.session_list import list_at_work
from holdfast.usage import quotas, usage_limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.journal.interface import Head
    from holdfast.kernel.workspace import Workspace
    from holdfast.people.rules.people import PeopleState
    from holdfast.remote.facts import SpoolFacts
    from holdfast.session.rules.model import SessionState
    from holdfast.usage.quotas import ClientQuota

    class ServerFacts(SpoolFacts):
        """The server of the journal. While it is away, the rest is what this machine knows."""

        place: str
        reachable: bool

    class ShownStream(Head):
        """A stream, and what a session works on; of other streams what their feature says, or empty."""

        about: str


class ShownAttention(TypedDict):
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


class SessionAtWork(TypedDict):
    """A session that runs now. `since`: when it began, `age`: how long ago its client last wrote."""

    session: str
    client: str
    since: str
    age: int
    worktree: str
    request: str
    edits: int


class Status(TypedDict):
    workspace: str
    worktrees: list[str]
    journal: JournalFacts
    server: ServerFacts | None
    streams: list[ShownStream]
    attention: list[ShownAttention]
    quotas: list[ClientQuota]
    at_work: list[SessionAtWork]


SHOWN_STREAMS = 10
SHOWN_CONFLICTS = 3
# In the journal's home, from the first erasure of a purge to its last look: what it is about to erase.
PURGE_FILE = "purge.json"


def gather(workspace: Workspace) -> Status:
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
        "streams": [{**head, "about": _about(workspace, head)} for head in heads[:SHOWN_STREAMS]],
        "attention": [
            show(one) for one in (*_list_server(workspace, server), *list_attention(workspace))
        ],
        "quotas": quotas.list_quotas(workspace, clock.now()),
        "at_work": _at_work(workspace),
    }


def _about(workspace: Workspace, head: Head) -> str:
    """Return what a session is called in every list; of another stream, what its feature says."""
    if not head["stream"].startswith("session:"):
        return tell_about(workspace.journal, head["stream"])
    state: SessionState = load(workspace.journal, session, head["stream"])[0]
    return title_of(state)


def _at_work(workspace: Workspace) -> list[SessionAtWork]:
    """Return the sessions of all worktrees that run now, as their hooks told."""
    trees = map(workspace.at, filter(os.path.isdir, worktrees(workspace)))
    if not any(os.path.isdir(os.path.join(tree.private, SLOTS)) for tree in trees):
        return []
    names = SessionAtWork.__annotations__
    listed = list_at_work(workspace, clock.now())
    return [{name: one[name] for name in names} for one in listed]  # type: ignore[misc, literal-required]


def _server(workspace: Workspace) -> ServerFacts | None:
    """Return the state of the server; None if the journal is a file."""
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
    """Return a server that is away, and records that it lost."""
    if server is None:
        return
    from holdfast.remote.facts import find_loss, in_words, loss_in_words

    if not server["reachable"]:
        what = "; ".join(filter(None, ("The server is away", in_words(server))))
        yield Attention(what, "holdfast doctor", STOPPED)
    # While the server is away, `workspace` is the one without it.
    loss = find_loss(workspace, clock.now()) if workspace.url else None
    if loss:
        yield Attention(loss_in_words(loss), "holdfast doctor", STOPPED)


def list_attention(workspace: Workspace) -> list[Attention]:
    """Return what needs a person, the most urgent first: what the core knows, and each feature."""
    now = clock.now()
    found = [
        *_list_stops(workspace),
        *_list_waiting(workspace, now),
        *_list_settings(workspace),
        *_list_files(workspace),
        *(_list_in_journal(workspace) if workspace.exists() else ()),
    ]
    for find in registry.parts("attention", registry.all_features):
        found += find(workspace, now)
    return sorted(found, key=lambda one: one.urgency)


def show(attention: Attention) -> ShownAttention:
    """Return what `--json` shows of it."""
    return {"what": attention.what, "next": attention.next}


def list_stop(workspace: Workspace) -> Iterator[Attention]:
    """Return the stop that holds."""
    stopped = latch.read(workspace)
    if stopped is not None:
        by = f" by {stopped['by']}" if stopped["by"] else ""
        yield Attention(f"Stopped{by}: {stopped['reason']}", lifted_by(stopped), STOPPED)


def _list_stops(workspace: Workspace) -> Iterator[Attention]:
    """Return the stop that holds, and attempts of programs to change what people decided."""
    yield from list_stop(workspace)
    own = find_own_home(workspace)
    if own is not None:
        what = f"HOLDFAST_HOME names another journal than this repository's own ({own.home}); its stops, "
        what += "alerts and limits still hold"
        yield Attention(what, "env -u HOLDFAST_HOME holdfast status", STOPPED)
        own.close()
    replaced = replaced_signers(workspace)
    if replaced:
        what = (
            f"gate.signers was changed by no person; signatures by {replaced} are still asked for"
        )
        yield Attention(what, "holdfast trust --show", STOPPED)
    if not workspace.exists() or workspace.journal.head(people.STREAM) is None:
        return
    state: PeopleState = load(workspace.journal, people, people.STREAM)[0]
    since = clock.precise(clock.now() - clock.DAY)
    for one in state["latest"]:
        # Files of stops and alerts that a program removed, and that were set again.
        is_lifted = one["purpose"].startswith("lift ") and "removed" in one["why"]
        if is_lifted and one["at"] >= since:
            what = f"A program tried to {one['purpose']} ({one['at']}): {one['why']}"
            yield Attention(what, "holdfast history people:workspace", STOPPED)


def _list_waiting(workspace: Workspace, now: int) -> Iterator[Attention]:
    """Return the sessions whose client asks its person or is at a usage limit."""
    elsewhere: dict[str, str] = {}
    for find in registry.offers("answerable"):
        elsewhere |= find(workspace, now)
    for one in client_questions.list_waiting(workspace, now):
        id = elsewhere.get(one["session"])
        next = f"holdfast gate answer {quote(id)}" if id else f"cd {quote(one['root'])}"
        who = f"{table.title_of(one['client'])} {one['session'][:8]}"
        what = f"{who} waits for you in {one['root']}: {one['asks']}"
        yield Attention(what, next, WAITS, has_card=True)
    for limited in usage_limits.list_limited(workspace, now):
        who = f"{table.title_of(limited['client'])} {limited['session'][:8]}"
        where = "" if limited["root"] == workspace.root else f" in {limited['root']}"
        what = f"{who}{where} {usage_limits.describe(limited, now)}"
        command = usage_limits.command_for(limited, workspace.root, now)
        yield Attention(what, command, WAITS, has_card=True)


def _list_settings(workspace: Workspace) -> Iterator[Attention]:
    try:
        untrusted = sorted(config.untrusted_in(workspace, config.from_file(workspace, None)))
        if untrusted:
            what = f"Settings that do not count until you trust them: {', '.join(untrusted)}"
            yield Attention(what, "holdfast trust --show", SETTINGS)
        config.load(workspace, workspace.journal if workspace.exists() else None)
    except HoldfastError as error:
        yield Attention(error.message, "holdfast doctor", SETTINGS)


def _list_files(workspace: Workspace) -> Iterator[Attention]:
    """Return what files in the journal's home and in the worktrees tell."""

    def broken(what: str, next: str) -> Attention:
        return Attention(what, next, BROKEN)

    if os.path.exists(os.path.join(workspace.home, PURGE_FILE)):
        what = "A purge was interrupted, and the text is not gone yet"
        yield broken(what, "holdfast doctor --fix")
    for name in list_unfollowed(workspace):
        yield broken(f"{name} came with the repository and is not followed", "holdfast trust")
    problem = broken_progress(workspace)
    if problem:
        what = f"{problem}; the next checkpoint writes it again and keeps a copy"
        yield broken(what, "holdfast resume")
    if os.path.exists(os.path.join(workspace.home, CONFLICTS_FILE)):
        found = conflicts.list_conflicts(workspace)
        for one in found[:SHOWN_CONFLICTS]:
            yield broken(conflicts.describe(one), "holdfast conflicts")
        if len(found) > SHOWN_CONFLICTS:
            more = f"{len(found) - SHOWN_CONFLICTS} more edits by hand met a newer change"
            yield broken(more, "holdfast conflicts")
    failed = failures.read(workspace)
    if failed:
        what = f"{plural(len(failed), 'hook')} failed; last: {failed[-1]['reason']}"
        yield broken(what, "holdfast doctor")
    queued = [path for root in worktrees(workspace) for path in inbox.list_waiting(root)]
    if queued and not workspace.spools:
        wait = plural(len(queued), "command waits", "commands wait")
        yield broken(f"{wait} in .holdfast/inbox to be taken in", "holdfast doctor --fix")
    kept = quarantine.list_kept(workspace)
    if kept:
        what = f"{plural(len(kept), 'file')} in quarantine: {os.path.dirname(kept[0])}"
        yield broken(what, "holdfast doctor")


def _list_in_journal(workspace: Workspace) -> Iterator[Attention]:
    """Return refused writes, records of no known feature, another journal, and effects that wait."""
    journal = workspace.journal
    refused = journal.refusals()
    if refused:
        what = f"{plural(len(refused), 'write')} refused and kept"
        yield Attention(what, "holdfast doctor", BROKEN)
    unknown = list_unknown(journal)
    if unknown:
        what = f"Records of {', '.join(unknown)}, which this holdfast does not know, are kept"
        yield Attention(what, "holdfast doctor", BROKEN)
    was_moved = os.path.exists(os.path.join(workspace.home, MOVED_FILE))
    # Only then there may be two journals.
    if (workspace.url or was_moved) and not workspace.spools:
        from holdfast.remote.move import astray

        stray = astray(workspace)
        if stray:
            yield Attention(stray.what, "holdfast doctor", BROKEN)
    failing = [effect for effect in journal.effects() if effect["error"]]
    if failing:
        what = f"{plural(len(failing), 'effect')} could not be delivered yet"
        yield Attention(what, "holdfast doctor", BROKEN)
