"""Check what changed since a session left its work, and give the text to continue from.

The text is made of what the session stated, what was observed in its client's transcript, and what
waits around it. A transcript alone is enough: no set-up, no journal, and then nothing is written.
"""

from __future__ import annotations

import os

from holdfast.clients.table import clients_at_home, own_id, title_of, titles
from holdfast.kernel import clock, config
from holdfast.kernel.errors import HoldfastError, NotFound
from holdfast.kernel.views.files import Unreadable, read_file, text_of
from holdfast.remote.offline import reads_offline
from holdfast.session import client_process, handover_text, pack, session_files, sessions
from holdfast.session.ccc_files import broken_progress, folder_of, read_state
from holdfast.session.rules import progress
from holdfast.session.rules import session as rules
from holdfast.session.rules.handover import progress_of
from holdfast.session.rules.model import PROGRESS_FILE
from holdfast.session.rules.verdict import (
    GRAVITY,
    NOT_LOOKED_AT,
    NOTHING_TO_COMPARE,
    is_foreign,
    judge,
    lacking,
)
from holdfast.session.world import (
    CONTROL_FILES,
    changed_files,
    edited_files,
    head_now,
    is_clone_of,
    look_at_work_tree,
    lost_files,
    work_tree_of,
    world_now,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any, TypedDict

    from holdfast.clients.discovery import FoundSession
    from holdfast.git.run import Running
    from holdfast.git.status import StatusChange
    from holdfast.kernel.workspace import Workspace
    from holdfast.session.claims import CheckedClaim
    from holdfast.session.observed_state import Observation
    from holdfast.session.rules.model import SessionState, World
    from holdfast.session.rules.verdict import Reason, Word
    from holdfast.session.world import WorkTree

    class ResumeRequest(TypedDict, total=False):
        """What is to be resumed. Without `session` and `transcript`: the newest session here.

        `look` asks git about the work tree, `recheck` runs the recorded probes again as far as they
        are known to be the user's own, `discover` looks through the clients' own stores. `begin` says
        that the caller goes on with the session: its next checkpoint is one of a resumed session.
        `quick` finds lost edits through git alone, as a session's start does; otherwise the texts of
        the edits are compared too. `accept_foreign`: the person wants to continue work of another place.
        """

        session: str
        transcript: str
        issue: str
        budget: int
        look: bool
        recheck: bool
        begin: bool
        discover: bool
        quick: bool
        accept_foreign: bool

    class Resumption(TypedDict):
        """What a new session is told. `client` and `transcript` are empty where none was read,
        `work_tree` is None without git and for a transcript that no record knows. `at_work`: the
        session runs at this moment."""

        verdict: Word
        reasons: list[Reason]
        pack: str
        prompt: str
        claims: list[CheckedClaim]
        checkpoint: str
        session: str
        client: str
        transcript: str
        at_work: bool
        work_tree: WorkTree | None

    class _Chosen(TypedDict):
        state: SessionState | None
        found: FoundSession | None


# What waits for a person. By name: gates are built on sessions, not the other way round.
GATES = "holdfast.gates.lookup"
INTERRUPTED = "holdfast.maintenance.interrupted"
DEFAULT_BUDGET = 9_000
MOST_PREDECESSORS = 5
MOST_NOTES = 8
SHORT_ID = 8


@reads_offline
def resume(
    workspace: Workspace, request: ResumeRequest, *, now: int, status: Running | None = None
) -> Resumption:
    """The verdict, and the pack within its budget. `status` is the git that a caller has asked already
    what changed in the work tree."""
    if request.get("transcript"):
        return _from_transcript(workspace, request, now)
    settings = config.settings_of(workspace)
    chosen = _choose(workspace, request, now)
    state, found = chosen["state"], chosen["found"]
    around = _around(workspace, state["last"]["at"] if state and state["last"] else "")
    if state is None and found is None:
        around = _with_interrupted(workspace, around, now)
        state = _from_file(workspace, around)
    if state is None:
        assert found is not None
        state = rules.initial(rules.stream_of(found["session"]))
    state = _as_edited(workspace, state, now)
    # A checkpoint of a terminal, and beside it what the newest client's session did.
    seen_in = found["session"] if found and found["session"] != state["session"] else ""
    state, seen, source = _with_observation(workspace, state, found, now)
    return _resumed(
        workspace, request, settings, state, seen, source, around, now, status, seen_in=seen_in
    )


def resume_without_workspace(folder: str, request: ResumeRequest, *, now: int) -> Resumption:
    """The same in a folder that is no workspace: from the clients' transcripts alone."""
    from holdfast.clients.discovery import sessions_in

    if request.get("transcript"):
        return _from_transcript(None, request, now)
    wanted = request.get("session", "")
    candidates = [one for one in sessions_in(folder) if one["session"] != own_id()]
    matching = [one for one in candidates if one["session"].startswith(wanted)]
    if not matching:
        raise NotFound(
            f"There is nothing to resume here{f': no session {wanted}' if wanted else ''}.",
            hint=f"`holdfast resume --list` shows the sessions of {titles('and')} in this folder.",
        )
    return _of_found(matching[0], request, now)


def refuse_foreign(found: Resumption) -> None:
    """Refuse to continue the work of another place unless the caller accepts it."""
    if found["verdict"] == "FOREIGN":
        reasons = "; ".join(reason["what"] for reason in found["reasons"])
        raise HoldfastError(
            f"FOREIGN: {reasons}.",
            hint="Go there, or give --accept-foreign to continue it here.",
            kind="foreign",
        )


def verdict_above(found: Resumption) -> list[str]:
    """The verdict and its reasons, to be shown above a pack that does not begin with them; otherwise
    nothing: one verdict is enough."""
    if found["pack"].startswith(f"Holdfast: {found['verdict']}"):
        return []
    return [found["verdict"], *(f"  {reason['what']}" for reason in found["reasons"]), ""]


# Which session


def _choose(workspace: Workspace, request: ResumeRequest, now: int) -> _Chosen:
    """A session that the journal knows, one that only a transcript tells of, or both in one."""
    wanted = request.get("session", "")
    discovered = _discovered(workspace, request)
    if wanted:
        return _named(workspace, wanted, discovered)
    busy = _busy(workspace, discovered, now)
    discovered = [one for one in discovered if one["session"] not in busy]
    try:
        state = _whose(workspace, busy)
    except NotFound:
        if not discovered:
            raise
        state = None
    if busy and state is None and not discovered:
        shown = ", ".join(f"{title_of(client)} {id[:8]}".strip() for id, client in busy.items())
        raise NotFound(
            f"Every session here is at work: {shown}.",
            hint=f"`holdfast resume --session {next(iter(busy))[:8]}` prints what it does all the same.",
        )
    newest = discovered[0] if discovered else None
    if newest is not None and (state is None or newest["modified"] > _last_seen(state)):
        known = _known(workspace, newest["session"])
        # A statement that no client's session made, such as a person's, is no older news than it.
        if known is not None or state is None or state.get("observed") is not None:
            return {"state": known, "found": newest}
    found = next((one for one in discovered if state and one["session"] == state["session"]), None)
    return {"state": state, "found": found or (newest if _is_bare(state) else None)}


def _discovered(workspace: Workspace, request: ResumeRequest) -> list[FoundSession]:
    """The sessions of all clients in this worktree, newest first, without the one we run in."""
    if not request.get("discover", True) or not sessions.reads_transcripts(workspace):
        return []
    from holdfast.clients.discovery import sessions_in

    own = own_id()
    return [one for one in sessions_in(workspace.root) if one["session"] != own]


def _busy(workspace: Workspace, discovered: list[FoundSession], now: int) -> dict[str, str]:
    """The sessions whose process runs at this moment, but ours, each with its client: none of them
    waits to be continued."""
    busy = {
        kept["session"]: str(kept.get("client") or "")
        for kept in session_files.every(workspace, client_process.NAME)
        if isinstance(kept.get("session"), str)
        and kept["session"] != own_id()
        and client_process.liveness_of(workspace, kept["session"], now) == "alive"
    }
    for one in discovered:
        if one["session"] not in busy and _runs(workspace, one, now):
            busy[one["session"]] = one["client"]
    return busy


def _runs(workspace: Workspace | None, found: FoundSession, now: int) -> bool:
    """Whether the processes of this machine say that a session without hooks runs."""
    if workspace is not None and client_process.has_slot(workspace, found["session"]):
        return False  # its hooks told better
    from holdfast.clients.liveness import liveness, running_clients

    return liveness(found, running_clients(), now=now) == "alive"


def _named(workspace: Workspace, wanted: str, discovered: list[FoundSession]) -> _Chosen:
    matching = [one for one in discovered if one["session"].startswith(wanted)]
    try:
        state: SessionState | None = sessions.find_session(workspace, wanted)
    except NotFound:
        if not matching:
            raise
        state = None
    session = state["session"] if state else matching[0]["session"]
    found = next((one for one in matching if one["session"] == session), None)
    return {"state": state, "found": found}


def _known(workspace: Workspace, session: str) -> SessionState | None:
    state = sessions.read_or_new(workspace, session) if workspace.exists() else None
    return state if state and (state["captures"] or state.get("observed")) else None


def _last_seen(state: SessionState) -> int:
    observed, last = state.get("observed"), state["last"]
    times = [one["at"] for one in (observed, last) if one]
    return max((clock.parse(time) for time in times), default=0)


def _is_bare(state: SessionState | None) -> bool:
    """A session that a person or a program captured, with no client behind it that is known."""
    return state is not None and not state.get("observed")


def _whose(workspace: Workspace, busy: Container[str]) -> SessionState | None:
    """The session that this process belongs to, else one to take over that is not busy, or nothing
    that any record knows."""
    known = sessions.here(workspace)
    found = sessions.at_work(workspace, busy) or sessions.predecessor(known, own_id())
    if found is not None:
        return found
    taken_over = [state for state in known if state["session"] not in busy]
    if taken_over:
        return taken_over[0]
    if known:
        return None
    elsewhere = sessions.latest(workspace)
    if elsewhere and not _has_file(workspace):
        others = f"{len(elsewhere)} {'is' if len(elsewhere) == 1 else 'are'} known of other places"
        raise NotFound(
            f"No session of this worktree waits; {others}.",
            hint=f"`holdfast resume --session {elsewhere[0]['session'][:8]} --accept-foreign` continues "
            "the newest of them here; `holdfast resume --list` lists them.",
        )
    return next((state for state in elsewhere if _is_shown(workspace, state)), None)


def _is_shown(workspace: Workspace, state: SessionState) -> bool:
    """Whether the progress file here is that of a session, which was captured in another place."""
    try:
        _, content = read_file(_file(workspace))
        shown = progress.parse(text_of(content))
        return any(progress.parse(text) == shown for text in rules.render(state).values())
    except (OSError, Unreadable, rules.Unparsable):
        return False


# What is known of it


def _with_observation(
    workspace: Workspace, state: SessionState, found: FoundSession | None, now: int
) -> tuple[SessionState, Observation | None, tuple[str, str]]:
    """The state with what its transcript says by now. A session that did nothing yet is asked for
    the one that it took over."""
    for _ in range(MOST_PREDECESSORS):
        looked = _look(workspace, state, found, now)
        if looked is not None:
            seen = looked["seen"]
            at = clock.stamp(now)
            shown: dict[str, Any] = {**seen}
            client, path = looked["client"], looked["path"]
            state = {
                **state,
                "observed": {"client": client, "path": path, "at": at, "seen": shown},
            }
            return state, seen, (client, path)
        observed = state.get("observed")
        if observed is not None and sessions.reads_transcripts(workspace):
            # The transcript is gone: what the journal last knew of it serves.
            kept: Any = observed["seen"]
            return state, kept, (observed["client"], observed["path"])
        if not state["adopts"] or state.get("stated"):
            break
        before, found = sessions.read_or_new(workspace, state["adopts"]), None
        if not before["captures"] and not before.get("observed"):
            break
        state = before
    return state, None, ("", "")


def _look(workspace: Workspace, state: SessionState, found: FoundSession | None, now: int) -> Any:
    if not state["session"] or (found is None and not _may_be_observed(workspace, state)):
        return None
    from holdfast.session import observation, spending

    if not workspace.exists():
        own_rules = config.load(workspace, None)["redact.rules"]
        seen = observation.read_once(found, own_rules) if found else None
        if found is None or seen is None:
            return None
        return {"client": found["client"], "path": found["path"], "seen": seen}
    if found is not None and found["client"] != "opencode":
        return observation.look_at(workspace, spending.sources_at(found["path"]), now=now)
    return observation.look(workspace, state["session"], state=state, now=now)


def _may_be_observed(workspace: Workspace, state: SessionState) -> bool:
    """Whether there can be a transcript. The modules that read one take longer to load than a pack."""
    if session_files.read(workspace, state["session"], session_files.TRANSCRIPT):
        return True
    if state.get("observed") is not None:
        return True
    if not clients_at_home():
        return False
    from holdfast.clients.discovery import files_of

    return bool(files_of(state["session"]))


def _resumed(
    workspace: Workspace,
    request: ResumeRequest,
    settings: dict[str, Any],
    state: SessionState,
    seen: Observation | None,
    source: tuple[str, str],
    around: _Around | None,
    now: int,
    status: Running | None = None,
    *,
    seen_in: str = "",
) -> Resumption:
    present, changes = _world(workspace, status, look=request.get("look", True))
    issue = request.get("issue") or _issue_here(workspace)
    last = state["last"]
    claims: Any = []
    not_run: dict[str, str] = {}
    recheck = request.get("recheck", False)
    if last is not None and last["claims"] and recheck:
        from holdfast.session import claims as probes

        if is_foreign(state, present, issue):
            not_run = {claim["claim"]: "it is of another place" for claim in last["claims"]}
        else:
            commit = present["commit"]
            claims, not_run = probes.recheck(workspace, last["claims"], settings, commit, now)
    changed = changed_files(workspace, last["world"], present) if last else None
    verdict, reasons = judge(
        state,
        present,
        issue=issue,
        claims=claims,
        changed=changed,
        stale_after=int(settings["session.stale_hours"]) * clock.HOUR,
        now=now,
        is_clone=last is not None and is_clone_of(workspace, last["world"]),
    )
    broken = broken_progress(workspace) if state["session"] else ""
    if broken:
        what = f"{broken}; what follows is of the last checkpoint, not of the file"
        reasons = [*reasons, {"verdict": "DRIFTED", "what": what}]
    lost: list[str] = []
    if seen is not None and last is None:
        lost = _lost(workspace, request, state["session"], seen, source, present)
    if lost:
        compared = [one for one in reasons if one["what"] != NOTHING_TO_COMPARE]
        reasons = [*compared, lacking(lost)]
    if broken or lost:
        reasons.sort(key=lambda reason: -GRAVITY[reason["verdict"]])
        verdict = reasons[0]["verdict"]
    if last is not None and claims:
        state = {**state, "last": {**last, "claims": claims}}
    if request.get("begin") and last is not None and workspace.exists():
        _begin(workspace, state["session"], now)
    at_work = not request.get("quick") and _is_at_work(workspace, state["session"], source, now)
    budget = request.get("budget") or int(settings["session.pack_characters"])
    edited = {name for name, file in seen["files"].items() if file["edits"]} if seen else set()
    parts: pack.Parts = {
        "verdict": handover_text.verdict_lines(
            state,
            verdict,
            why=_why_unknown(reasons),
            lacks_edits=bool(lost) or not edited.isdisjoint(changed or ()),
            at_work=at_work,
            seen_in=seen_in if seen is not None else "",
            is_accepted=request.get("accept_foreign", False),
            now=now,
        ),
        "changes": [one["what"] for one in reasons if one["verdict"] not in ("CLEAN", "UNKNOWN")],
        "notes": _notes(workspace),
    }
    tree = work_tree_of(present, changes, last["world"] if last else None, edited)
    if tree is not None:
        parts["tree"] = tree
    if seen is not None:
        here = handover_text.as_it_is(seen, workspace.root)
        parts["seen"] = handover_text.as_stated(here, state)
        parts["transcript"] = source[1]
    stated = handover_text.stated_part(state, seen, workspace.root, now=now)
    if stated is not None:
        parts["stated"] = stated
    if around is not None:
        parts["beside"] = around["sections"]
        parts["first"] = around["first"]
    return {
        "verdict": verdict,
        "reasons": reasons,
        "pack": pack.render(parts, budget),
        "prompt": progress_of(state)["prompt"],
        "claims": _checked(state, not_run, recheck=recheck),
        "checkpoint": last["id"] if last else "",
        "session": state["session"],
        "client": source[0],
        "transcript": source[1],
        "at_work": at_work,
        "work_tree": tree,
    }


def _is_at_work(workspace: Workspace, session: str, source: tuple[str, str], now: int) -> bool:
    """Whether the session runs at this moment, beside the process that asks."""
    if not session or session == own_id():
        return False
    if client_process.has_slot(workspace, session):
        return client_process.lives(workspace, session, now)
    return bool(source[0]) and _runs(workspace, _found_of(session, source, workspace.root), now)


def _found_of(session: str, source: tuple[str, str], folder: str) -> FoundSession:
    """A session whose client and transcript are known, as if it had just been found."""
    client: Any = source[0]
    return {
        "client": client,
        "session": session,
        "path": source[1],
        "modified": 0,
        "cwd": folder,
    }


def _lost(
    workspace: Workspace,
    request: ResumeRequest,
    session: str,
    seen: Observation,
    source: tuple[str, str],
    present: World,
) -> list[str]:
    """The files that lack edits of the session, as `holdfast edits` finds them."""
    if not edited_files(workspace, seen):
        return []
    if not request.get("quick") and request.get("look", True):
        from holdfast.session.edits import list_lacking

        lost = list_lacking(workspace, _found_of(session, source, seen["cwd"]), seen)
        if lost is not None:
            return lost
    return lost_files(workspace, seen, present)


def _begin(workspace: Workspace, session: str, now: int) -> None:
    """Leave a mark for the next checkpoint; where it cannot be written, there is none."""
    try:
        session_files.keep(workspace, session, session_files.RESUMED, {"at": clock.stamp(now)})
    except (OSError, HoldfastError):
        pass


def _checked(state: SessionState, not_run: dict[str, str], *, recheck: bool) -> list[CheckedClaim]:
    """Each claim: when it was last verified, by whom, and at which commit."""
    last, stated = state["last"], state.get("stated")
    if last is None or not last["claims"]:
        return []
    from holdfast.session.rules.progress import spell

    return [
        {
            "claim": claim["claim"],
            "probe": spell(claim["probe"]),
            "ok": claim["ok"],
            "at": claim["at"],
            "commit": claim["commit"],
            "by": stated["by"] if stated else "",
            "rechecked": recheck and claim["claim"] not in not_run,
            "reason": not_run.get(claim["claim"], ""),
        }
        for claim in last["claims"]
    ]


def _why_unknown(reasons: list[Reason]) -> str:
    """Why the verdict is not more than it is, in our own words; empty where files were compared."""
    whys = (NOTHING_TO_COMPARE, NOT_LOOKED_AT)
    return next((one["what"] for one in reasons if one["what"] in whys), "")


def _from_transcript(workspace: Workspace | None, request: ResumeRequest, now: int) -> Resumption:
    """A pack from one file, wherever it lies."""
    found = found_at(request["transcript"])
    state = _known(workspace, found["session"]) if workspace and workspace.exists() else None
    if workspace is not None and state is not None:
        settings = config.settings_of(workspace)
        state, seen, source = _with_observation(workspace, state, found, now)
        return _resumed(workspace, request, settings, state, seen, source, None, now)
    return _of_found(found, request, now, workspace)


def found_at(path: str) -> FoundSession:
    """The session that a transcript file holds; refused where it is no client's."""
    from holdfast.clients.discovery import session_at

    found = session_at(path)
    if found is None:
        missing = "There is no file" if not os.path.exists(path) else "No client's transcript:"
        raise NotFound(
            f"{missing} {path}.",
            hint="`holdfast resume --list` lists the sessions of all clients here; --session ID "
            "resumes one of them without the name of its file.",
        )
    return found


def _of_found(
    found: FoundSession, request: ResumeRequest, now: int, workspace: Workspace | None = None
) -> Resumption:
    """A pack from a transcript that no journal knows. In a workspace its edits are compared with the
    work tree, also if the session worked in another clone of it."""
    from holdfast.session.observation import read_once

    seen = read_once(found)
    if seen is None:
        raise NotFound(
            f"{found['path']} holds no request and no work yet.",
            hint="`holdfast resume --list` shows other sessions.",
        )
    at_work = found["session"] != own_id() and _runs(None, found, now)
    reasons: list[Reason] = [{"verdict": "UNKNOWN", "what": NOTHING_TO_COMPARE}]
    lost: list[str] | None = None
    is_here = workspace is not None and os.path.realpath(found["cwd"]) == workspace.root
    if workspace is not None:
        from holdfast.session.edits import list_lacking

        lost = list_lacking(workspace, found, seen, named=True)
    if lost:
        reasons = [lacking(lost, was_here=is_here)]
    parts: pack.Parts = {
        "verdict": handover_text.transcript_lines(
            found, lacks_edits=bool(lost), at_work=at_work, now=now
        ),
        "changes": [one["what"] for one in reasons] if lost else [],
        "seen": handover_text.as_it_is(seen, seen["cwd"] or found["cwd"]),
        "transcript": found["path"],
    }
    text = pack.render(parts, request.get("budget") or DEFAULT_BUDGET)
    state = rules.initial(rules.stream_of(found["session"]))
    shown: dict[str, Any] = {**seen}
    client, path = found["client"], found["path"]
    state = {**state, "observed": {"client": client, "path": path, "at": "", "seen": shown}}
    return {
        "verdict": reasons[0]["verdict"],
        "reasons": reasons,
        "pack": text,
        "prompt": progress_of(state)["prompt"],
        "claims": [],
        "checkpoint": "",
        "session": found["session"],
        "client": found["client"],
        "transcript": found["path"],
        "at_work": at_work,
        "work_tree": None,
    }


if TYPE_CHECKING:

    class _Around(TypedDict):
        """What waits beside the session: commands to run first, and sections to read."""

        first: list[str]
        sections: list[tuple[str, list[str]]]


def _around(workspace: Workspace, since: str) -> _Around | None:
    """Gates that wait, what people answered since, and the reasoning of open RFCs."""
    first, sections = _reasoning(workspace)
    if workspace.exists() and workspace.journal.heads("gate:"):
        commands, more = __import__(GATES, fromlist=["for_a_pack"]).for_a_pack(workspace, since)
        first, sections = [*first, *commands], [*more, *sections]
    return {"first": first, "sections": sections} if first or sections else None


def _with_interrupted(workspace: Workspace, around: _Around | None, now: int) -> _Around | None:
    """With the runs, agents and tracks that stand still: without a session, they are what goes on."""
    if not workspace.exists() or not any(map(workspace.journal.heads, ("run:", "agent:", "loop:"))):
        return around
    found = __import__(INTERRUPTED, fromlist=["list_interrupted"]).list_interrupted(workspace, now)
    if not found:
        return around
    lines = [f"- {progress.one_line(what)}: `{next}`" for what, next in found]
    known = around or {"first": [], "sections": []}
    return {
        "first": known["first"],
        "sections": [("Work that stands still", lines), *known["sections"]],
    }


def _reasoning(workspace: Workspace) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Open RFCs, and those that want a bootstrap."""
    known = workspace.exists() and workspace.journal.heads("rfc:")
    if not known and not os.path.isdir(os.path.join(workspace.root, ".ohrfc")):
        return [], []
    from holdfast.rfc.summary import active_reasoning

    waiting, notes = active_reasoning(workspace)
    return [f"holdfast rfc bootstrap {id}" for id in waiting], notes


def _notes(workspace: Workspace) -> list[tuple[str, str]]:
    """The notes that were left last, the latest first, with the ids of their records."""
    if not workspace.exists():
        return []
    found = []
    for record in workspace.journal.latest(kind="noted", limit=MOST_NOTES):
        body = record["body"]
        if isinstance(body, dict) and body.get("text"):
            when = clock.minute(str(body.get("at") or record["at"]))
            found.append((f"{when} {body.get('by', '')}: {body['text']}", record["id"][:SHORT_ID]))
    return found


def _from_file(workspace: Workspace, around: _Around | None) -> SessionState:
    """A progress file that no record knows, from another tool or another machine; AMB-CCC-26.
    Without one, what waits around a session is still worth a pack."""
    try:
        _, content = read_file(_file(workspace))
        read = progress.parse(text_of(content))
    except FileNotFoundError:
        if around is not None:
            return rules.initial(rules.stream_of(""))
        raise NotFound("There is nothing to resume here.", hint=_why_nothing(workspace)) from None
    except (Unreadable, rules.Unparsable) as problem:
        raise HoldfastError(
            f"{PROGRESS_FILE} cannot be read: {problem}.",
            hint="Correct it; `holdfast checkpoint` keeps a copy of it in quarantine.",
        ) from None
    state = rules.initial(rules.stream_of(""))
    return {**state, "progress": read, "folder": folder_of(workspace)}


def _why_nothing(workspace: Workspace) -> str:
    if not sessions.reads_transcripts(workspace):
        return (
            "No checkpoint was found, and transcripts are not read here: `session.observe` is false. "
            "`holdfast resume --transcript FILE` reads one."
        )
    return (
        f"No session of {titles()} was found in this folder, "
        "and no checkpoint. `holdfast checkpoint` captures a session."
    )


def _as_edited(workspace: Workspace, state: SessionState, now: int) -> SessionState:
    """With what a person wrote into the file since; the next checkpoint makes a record of it."""
    stream = rules.stream_of(state["session"])
    for path, written in rules.render(state).items():
        try:
            _, content = read_file(os.path.join(workspace.root, path))
            # Asked after the file was read: a writer says so in the journal before it writes.
            if not workspace.journal.views(worktree=workspace.root, stream=stream, path=path):
                continue  # the file shows a session that was captured later
            base: SessionState = {**state, "progress": progress.parse(written), "observed": None}
            change: Any = {"kind": "edited", "path": path, "text": text_of(content)}
            edits = rules.absorb(state, base, change, now)
        except (OSError, Unreadable, rules.Unparsable):
            continue
        at = clock.stamp(now)
        for kind, body in edits:
            state = rules.apply(
                state, {"id": "", "kind": kind, "body": body, "at": at, "actor": ""}
            )
    return state


def _has_file(workspace: Workspace) -> bool:
    return os.path.exists(_file(workspace))


def _file(workspace: Workspace) -> str:
    return os.path.join(workspace.root, folder_of(workspace), PROGRESS_FILE)


def _issue_here(workspace: Workspace) -> str:
    """What the engine is set to work on, when it says so."""
    try:
        state = read_state(workspace)
    except HoldfastError:
        return ""
    issue = state.get("linearIssue") or state.get("activeIssue")
    return issue if isinstance(issue, str) else ""


def _world(
    workspace: Workspace, status: Running | None, *, look: bool
) -> tuple[World, list[StatusChange]]:
    world = world_now(workspace, head_now(workspace))
    if not look:
        return world, []
    folder = folder_of(workspace)
    control = [os.path.join(folder, name) for name in CONTROL_FILES]
    return world, look_at_work_tree(workspace, world, control, status)
