"""Check what changed since a session left its work, and give the text to continue from.

The text is made of what the session stated, what was observed in its client's transcript, and what
waits around it. A transcript alone is enough: no set-up, no journal, and then nothing is written.
"""

from __future__ import annotations

import os

from holdfast.clients.table import clients_at_home, own_id
from holdfast.kernel import clock, config
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.views.files import Unreadable, read_file, text_of
from holdfast.remote.offline import reads_offline
from holdfast.session import client_process, handover_text, pack, session_files, sessions
from holdfast.session.ccc_files import broken_progress, folder_of
from holdfast.session.resume_context import (
    issue_at_work,
    latest_notes,
    look_around,
    with_interrupted,
)
from holdfast.session.rules import progress
from holdfast.session.rules import session as rules
from holdfast.session.rules.handover import progress_of
from holdfast.session.rules.verdict import (
    GRAVITY,
    NOT_LOOKED_AT,
    NOTHING_TO_COMPARE,
    is_foreign,
    judge,
    lacking,
)
from holdfast.session.session_choice import choose, is_running, known_session, session_of_file
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
    from collections.abc import Sequence
    from typing import Any, TypedDict

    from holdfast.clients.discovery import FoundSession
    from holdfast.git.run import Running
    from holdfast.git.status import StatusChange
    from holdfast.kernel.workspace import Workspace
    from holdfast.session.claims import CheckedClaim
    from holdfast.session.observed_state import Observation
    from holdfast.session.resume_context import ResumeContext
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


MOST_PREDECESSORS = 5
# Why a verdict may be no more than UNKNOWN.
WHYS = (NOTHING_TO_COMPARE, NOT_LOOKED_AT)


@reads_offline
def resume(
    workspace: Workspace, request: ResumeRequest, *, now: int, status: Running | None = None
) -> Resumption:
    """The verdict, and the pack within its budget. `status` is the git that a caller has asked already
    what changed in the work tree."""
    if request.get("transcript"):
        return _from_transcript(workspace, request, now)
    settings = config.settings_of(workspace)
    chosen = choose(workspace, request, now)
    state, found = chosen["state"], chosen["found"]
    around = look_around(workspace, state["last"]["at"] if state and state["last"] else "")
    if state is None and found is None:
        around = with_interrupted(workspace, around, now)
        state = session_of_file(workspace, around)
    if state is None:
        assert found is not None
        state = rules.initial(rules.stream_of(found["session"]))
    state = _as_edited(workspace, state, now)
    # A checkpoint of a terminal, and beside it what the newest client's session did.
    observed = state.get("observed")
    seen_in = found["session"] if found else observed.get("session", "") if observed else ""
    seen_in = "" if seen_in == state["session"] else seen_in
    state, seen, source = _with_observation(workspace, state, found, now)
    return _resumed(
        workspace, request, settings, state, seen, source, around, now, status, seen_in=seen_in
    )


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
    around: ResumeContext | None,
    now: int,
    status: Running | None = None,
    *,
    seen_in: str = "",
) -> Resumption:
    present, changes = _world(workspace, status, look=request.get("look", True))
    issue = request.get("issue") or issue_at_work(workspace)
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
    if seen is not None:
        found = _found_of(state["session"], source, seen["cwd"])
        if last is None:
            lost = _lost(workspace, request, found, seen, present)
        elif last["profile"] == "automated" and verdict != "FOREIGN":
            lost = _lost_since(workspace, request, found, seen, present, verdict, changed or ())
    if lost:
        compared = [one for one in reasons if one["what"] not in WHYS]
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
        "notes": latest_notes(workspace),
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
    return bool(source[0]) and is_running(
        workspace, _found_of(session, source, workspace.root), now
    )


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
    found: FoundSession,
    seen: Observation,
    present: World,
) -> list[str]:
    """The files that lack edits of a session without a checkpoint, as `holdfast edits` finds them."""
    if not edited_files(workspace, seen):
        return []
    if not request.get("quick") and request.get("look", True):
        from holdfast.session.edits import list_lacking

        lost = list_lacking(workspace, found, seen)
        if lost is not None:
            return lost
    return lost_files(workspace, seen, present)


def _lost_since(
    workspace: Workspace,
    request: ResumeRequest,
    found: FoundSession,
    seen: Observation,
    present: World,
    verdict: Word,
    changed: Sequence[str],
) -> list[str]:
    """The files that are as git has them although the session edited them. An automated checkpoint looks at
    the work tree after its turn: it may have seen what was left after the loss. `changed` is told anyway."""
    if request.get("quick") and (verdict == "DRIFTED" or seen["commits"]):
        return []  # a session's start asks git as little as it can
    lost = [name for name in lost_files(workspace, seen, present) if name not in changed]
    if lost:
        from holdfast.session.edits import list_lacking

        lacking_edits = list_lacking(workspace, found, seen)
        if lacking_edits is not None:
            return [name for name in lost if name in lacking_edits]
    return lost


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
    return next((one["what"] for one in reasons if one["what"] in WHYS), "")


def _from_transcript(workspace: Workspace | None, request: ResumeRequest, now: int) -> Resumption:
    """A pack from one file, wherever it lies."""
    from holdfast.session.transcript_resume import found_at, resume_transcript

    found = found_at(request["transcript"])
    state = known_session(workspace, found["session"]) if workspace and workspace.exists() else None
    if workspace is not None and state is not None:
        settings = config.settings_of(workspace)
        state, seen, source = _with_observation(workspace, state, found, now)
        return _resumed(workspace, request, settings, state, seen, source, None, now)
    return resume_transcript(found, request, now, workspace)


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


def _world(
    workspace: Workspace, status: Running | None, *, look: bool
) -> tuple[World, list[StatusChange]]:
    world = world_now(workspace, head_now(workspace))
    if not look:
        return world, []
    folder = folder_of(workspace)
    control = [os.path.join(folder, name) for name in CONTROL_FILES]
    return world, look_at_work_tree(workspace, world, control, status)
