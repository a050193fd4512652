"""Check what changed since a session left its work, and give the text to continue from.

The text is made of what the session stated, what was observed in its client's transcript, and what
waits around it. A transcript alone is enough: no set-up, no journal, and then nothing is written.
"""

from __future__ import annotations

import os

from holdfast.clients.table import clients_at_home, own_id
from holdfast.kernel import clock, config
from holdfast.kernel.door import Door
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.streams import reads_offline
from holdfast.kernel.tree_file import TreeFile
from holdfast.kernel.views.files import Unreadable, read_file, text_of
from holdfast.pack import handover_text, pack
from holdfast.pack.around import issue_at_work, latest_notes, look_around, with_interrupted
from holdfast.session import client_process, session_files, sessions
from holdfast.session.ccc_files import broken_progress, folder_of
from holdfast.session.rules import progress
from holdfast.session.rules import session as rules
from holdfast.session.rules.handover import as_stated, progress_of
from holdfast.session.rules.model import empty_progress
from holdfast.session.rules.prompt import generic
from holdfast.session.rules.verdict import (
    GRAVITY,
    HAS_ALL_EDITS,
    NOT_LOOKED_AT,
    NOTHING_TO_COMPARE,
    is_foreign,
    judge,
    lacking,
)
from holdfast.session.session_choice import (
    beside_trivial,
    choose,
    found_at,
    is_running,
    known_session,
    session_of_file,
    worked_before,
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
    from collections.abc import Sequence
    from typing import Any, TypedDict

    from holdfast.clients.discovery import FoundSession
    from holdfast.git.run import Running
    from holdfast.git.status import StatusChange
    from holdfast.kernel.workspace import Workspace
    from holdfast.observe.model import Observation
    from holdfast.pack.around import ResumeContext
    from holdfast.session.claims import CheckedClaim
    from holdfast.session.edits import ComparedEdits
    from holdfast.session.rules.model import Claim, Observed, SessionState, World
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
        """What a new session is told. `request` is the one under way, in one line; `client` and `transcript` are
        empty where none was read, `work_tree` is None without git and for a transcript that no record knows. `at_work`: the
        session runs at this moment."""

        verdict: Word
        reasons: list[Reason]
        request: str
        pack: str
        prompt: str
        claims: list[CheckedClaim]
        checkpoint: str
        session: str
        client: str
        transcript: str
        at_work: bool
        work_tree: WorkTree | None


# A session's start reads a transcript of at most so many calls again, to tell lost edits from undone ones.
MOST_CALLS_AT_START = 200
MOST_PREDECESSORS = 5
# Why a verdict may be no more than UNKNOWN.
WHYS = (NOTHING_TO_COMPARE, HAS_ALL_EDITS, NOT_LOOKED_AT)


@reads_offline
def resume(
    workspace: Workspace, request: ResumeRequest, *, now: int, status: Running | None = None
) -> Resumption:
    """The verdict, and the pack within its budget. `status` is the git that a caller has asked already
    what changed in the work tree."""
    if request.get("transcript"):
        return _from_transcript(workspace, request, now)
    chosen = choose(workspace, request, now)
    state, found = chosen["state"], chosen["found"]
    trivial = chosen.get("trivial", [])
    around = look_around(workspace, state["last"]["at"] if state and state["last"] else "")
    if state is None and found is None:
        around = with_interrupted(workspace, around, now)
        state = session_of_file(workspace, around)
    if state is None:
        assert found is not None
        state = sessions.read_or_new(workspace, found["session"])
    if not state.get("stated") and (request.get("quick") or not request.get("session")):
        state, found, passed = worked_before(workspace, state, found)
        trivial = [*trivial, *passed]
    state = _absorb_file(workspace, state, now)
    resumed = _observe(workspace, state, found, now)
    _inherit(workspace, resumed, found)
    if trivial:
        known = around or {"first": [], "sections": []}
        around = {**known, "sections": [*known["sections"], *beside_trivial(trivial)]}
    return _judge_and_tell(workspace, request, resumed, around, now, status)


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
    whats = [reason["what"] for reason in found["reasons"]]
    if found["verdict"] == "UNKNOWN":
        # Only a pack of a bare transcript does not say it.
        is_said = not found["pack"].startswith("Holdfast: session ")
        return [] if is_said else [*(f"{what[0].upper()}{what[1:]}." for what in whats), ""]
    if found["pack"].startswith(f"Holdfast: {found['verdict']}"):
        return []
    return [found["verdict"], *(f"  {what}" for what in whats), ""]


class ResumedSession:
    """The session that is resumed, and what was seen of its work. `client` and `path` say where that was read;
    both are empty where nothing was. `seen_in` is the client's session where that is another one: the one
    beside a checkpoint of a terminal."""

    def __init__(self, state: SessionState, seen: Observation | None) -> None:
        observed = state.get("observed") if seen is not None else None
        self.state = state
        self.seen = seen
        self.client = observed["client"] if observed else ""
        self.path = observed["path"] if observed else ""
        self.seen_in = observed.get("session", "") if observed else ""

    def found_in(self, folder: str) -> FoundSession:
        """The client's session, as if it had just been found."""
        client: Any = self.client
        session, path = self.state["session"], self.path
        return {"client": client, "session": session, "path": path, "modified": 0, "cwd": folder}


def _observe(
    workspace: Workspace, state: SessionState, found: FoundSession | None, now: int
) -> ResumedSession:
    """The session with what its transcript says by now. One that did nothing yet is asked for the one that
    it took over."""
    for _ in range(MOST_PREDECESSORS):
        observed = state.get("observed")
        looked = _look(workspace, state, found, now)
        if looked is not None:
            shown: dict[str, Any] = {**looked["seen"]}
            after: Observed = {
                "client": looked["client"],
                "path": looked["path"],
                "at": clock.stamp(now),
                "seen": shown,
            }
            beside = found["session"] if found else observed.get("session", "") if observed else ""
            if beside and beside != state["session"]:
                after["session"] = beside
            return ResumedSession({**state, "observed": after}, looked["seen"])
        if observed is not None and sessions.reads_transcripts(workspace):
            # The transcript is gone: what the journal last knew of it serves.
            kept: Any = observed["seen"]
            return ResumedSession(state, kept)
        if not state["adopts"] or state.get("stated"):
            break
        before, found = sessions.read_or_new(workspace, state["adopts"]), None
        if not before["captures"] and not before.get("observed"):
            break
        state = before
    return ResumedSession(state, None)


def _inherit(workspace: Workspace, resumed: ResumedSession, found: FoundSession | None) -> None:
    """Complete what was seen of a session that only went on with the work of one before."""
    observed = resumed.state.get("observed")
    if resumed.seen is None or observed is None:
        return
    from holdfast.observe.lineage import goes_on

    if not goes_on(resumed.seen):
        return
    from holdfast.session.lineage import seen_before, with_lineage

    resumed.seen = with_lineage(resumed.seen, seen_before(workspace, resumed.state, found))
    shown: dict[str, Any] = {**resumed.seen}
    resumed.state = {**resumed.state, "observed": {**observed, "seen": shown}}


def _look(workspace: Workspace, state: SessionState, found: FoundSession | None, now: int) -> Any:
    if not state["session"] or (found is None and not _may_be_observed(workspace, state)):
        return None
    from holdfast.session import observation
    from holdfast.usage import spending

    if not workspace.exists():
        return _look_at_kept(workspace, found) if found else None
    if found is not None and not os.path.exists(found["path"]):
        return _look_at_kept(workspace, found)
    if found is not None and found["client"] != "opencode":
        return observation.look_at(workspace, spending.sources_at(found["path"]), now=now)
    return observation.look(workspace, state["session"], state=state, now=now)


def _look_at_kept(workspace: Workspace, found: FoundSession) -> Any:
    """What was kept of a session says, or nothing."""
    from holdfast.session import observation

    seen = observation.read_once(found, config.load(workspace)["redact.rules"])
    return seen and {"client": found["client"], "path": found["path"], "seen": seen}


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


def _judge_and_tell(
    workspace: Workspace,
    request: ResumeRequest,
    resumed: ResumedSession,
    around: ResumeContext | None,
    now: int,
    status: Running | None = None,
) -> Resumption:
    """Compare what is there with what the session left, and write the pack."""
    settings = config.settings_of(workspace)
    state, seen = resumed.state, resumed.seen
    last = state["last"]
    present, changes = _look_at_world(workspace, status, look=request.get("look", True))
    issue = request.get("issue") or issue_at_work(workspace)
    claims, not_run = _recheck(workspace, request, state, present, issue, settings, now)
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
    lost, has_all = _lost_edits(workspace, request, resumed, present, verdict, changed or ())
    broken = broken_progress(workspace) if state["session"] else ""
    if broken or lost:
        reasons = _with_drift(reasons, broken, lost)
        verdict = reasons[0]["verdict"]
    elif has_all and last is None:
        reasons = [{"verdict": verdict, "what": HAS_ALL_EDITS}]
    if last is not None and claims:
        resumed.state = state = {**state, "last": {**last, "claims": claims}}
    if request.get("begin") and last is not None and workspace.exists():
        _mark_resumed(workspace, state["session"], now)
    at_work = not request.get("quick") and _is_at_work(workspace, resumed, now)
    edited = {name for name, file in seen["files"].items() if file["edits"]} if seen else set()
    tree = work_tree_of(present, changes, last["world"] if last else None, edited)
    parts = _recorded_parts(workspace, resumed, around, now)
    parts["verdict"] = handover_text.verdict_lines(
        state,
        verdict,
        why=_why_unknown(reasons),
        lacks_edits=bool(lost) or not edited.isdisjoint(changed or ()),
        at_work=at_work,
        seen_in=resumed.seen_in,
        is_accepted=request.get("accept_foreign", False),
        now=now,
    )
    parts["changes"] = [
        one["what"] for one in reasons if one["verdict"] not in ("CLEAN", "UNKNOWN")
    ]
    if tree is not None:
        parts["tree"] = tree
    if at_work:
        parts["at_work"] = True
    asked = ""
    if seen is not None:
        from holdfast.session.lineage import request_line

        asked = request_line(seen)
    budget = request.get("budget") or int(settings["session.pack_characters"])
    door, told = Door(workspace, opens=True), progress_of(state)
    prompt = told["prompt"]
    if not prompt.strip():
        # The protocol's template, for a session or its file that has no continuation prompt.
        prompt = "" if told == empty_progress() else generic(told["issue"])
    return {
        "verdict": verdict,
        "reasons": reasons,
        "request": door.text(asked),
        "pack": door.text(pack.render(parts, budget)),
        "prompt": door.text(prompt),
        "claims": _list_claims(state, not_run, recheck=request.get("recheck", False)),
        "checkpoint": last["id"] if last else "",
        "session": state["session"],
        "client": resumed.client,
        "transcript": resumed.path,
        "at_work": at_work,
        "work_tree": tree,
    }


def _recorded_parts(
    workspace: Workspace, resumed: ResumedSession, around: ResumeContext | None, now: int
) -> pack.Parts:
    """What a pack says of the session itself and of what waits around it."""
    state, seen = resumed.state, resumed.seen
    parts: pack.Parts = {"notes": latest_notes(workspace)}
    if seen is not None:
        here = handover_text.mark_missing_files(seen, workspace.root)
        parts["seen"] = as_stated(here, state)
        parts["transcript"] = resumed.path
    stated = handover_text.stated_part(state, seen, workspace.root, now=now)
    if stated is not None:
        parts["stated"] = stated
    if state.get("handover"):
        from holdfast.pack.said_of_itself import handover_section

        said = handover_section(state, parts.get("seen"), now=now)
        parts["handover"] = said or ("", [])
    if around is not None:
        parts["beside"], parts["first"] = around["sections"], around["first"]
    return parts


def _recheck(
    workspace: Workspace,
    request: ResumeRequest,
    state: SessionState,
    present: World,
    issue: str,
    settings: dict[str, Any],
    now: int,
) -> tuple[list[Claim], dict[str, str]]:
    """The claims with what their probes say now, and why a probe was not run; nothing unless asked for."""
    last = state["last"]
    if last is None or not last["claims"] or not request.get("recheck"):
        return [], {}
    if is_foreign(state, present, issue):
        return [], {claim["claim"]: "it is of another place" for claim in last["claims"]}
    from holdfast.session.claims import recheck

    return recheck(workspace, last["claims"], settings, present["commit"], now)


def _with_drift(reasons: list[Reason], broken: str, lost: Sequence[str]) -> list[Reason]:
    """The reasons with what a comparison with the checkpoint does not show, the most serious first."""
    if broken:
        what = f"{broken}; what follows is of the last checkpoint, not of the file"
        reasons = [*reasons, {"verdict": "DRIFTED", "what": what}]
    if lost:
        reasons = [*(one for one in reasons if one["what"] not in WHYS), lacking(lost)]
    return sorted(reasons, key=lambda reason: -GRAVITY[reason["verdict"]])


def _is_at_work(workspace: Workspace, resumed: ResumedSession, now: int) -> bool:
    """Whether the session runs at this moment, beside the process that asks."""
    session = resumed.state["session"]
    if not session or session == own_id():
        return False
    if client_process.has_slot(workspace, session):
        return client_process.lives(workspace, session, now)
    return bool(resumed.client) and is_running(workspace, resumed.found_in(workspace.root), now)


def _lost_edits(
    workspace: Workspace,
    request: ResumeRequest,
    resumed: ResumedSession,
    present: World,
    verdict: Word,
    changed: Sequence[str],
) -> tuple[list[str], bool]:
    """The files that lack edits of the session, and whether all files have all of them, as far as they were
    compared. `changed` are those that are told anyway."""
    seen, last, is_quick = resumed.seen, resumed.state["last"], request.get("quick", False)
    if seen is None or not edited_files(workspace, seen):
        return [], False
    if last is None:
        is_compared = not is_quick and request.get("look", True)
        compared = _compare_edits(workspace, resumed, seen) if is_compared else None
        if compared is None:
            return lost_files(workspace, seen, present), False
        return compared["lacking"], compared["has_all"]
    # An automated checkpoint looks at the work tree after its turn: it may have seen what was left after
    # the loss. A person or an agent who makes a checkpoint states what is there.
    if last["profile"] != "automated" or verdict == "FOREIGN":
        return [], False
    is_long = seen["calls"] > MOST_CALLS_AT_START
    if is_quick and (verdict == "DRIFTED" or seen["commits"] or is_long):
        # A session's start reads and asks git as little as it can; `holdfast resume` compares.
        return [], False
    suspects = [name for name in lost_files(workspace, seen, present) if name not in changed]
    compared = _compare_edits(workspace, resumed, seen) if suspects else None
    if compared is not None:
        suspects = [name for name in suspects if name in compared["lacking"]]
    return suspects, False


def _compare_edits(
    workspace: Workspace, resumed: ResumedSession, seen: Observation
) -> ComparedEdits | None:
    from holdfast.session.edits import compare_edits

    return compare_edits(workspace, resumed.found_in(seen["cwd"]), seen)


def _mark_resumed(workspace: Workspace, session: str, now: int) -> None:
    """Leave a mark for the next checkpoint; where it cannot be written, there is none."""
    try:
        session_files.keep(workspace, session, session_files.RESUMED, {"at": clock.stamp(now)})
    except (OSError, HoldfastError):
        pass


def _list_claims(
    state: SessionState, not_run: dict[str, str], *, recheck: bool
) -> list[CheckedClaim]:
    """Each claim: when it was last verified, by whom, and at which commit."""
    last, stated = state["last"], state.get("stated")
    if last is None or not last["claims"]:
        return []
    return [
        {
            "claim": claim["claim"],
            "probe": progress.spell(claim["probe"]),
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
    from holdfast.session.transcript_resume import resume_transcript

    found = found_at(request["transcript"])
    state = known_session(workspace, found["session"]) if workspace and workspace.exists() else None
    if workspace is not None and state is not None:
        resumed = _observe(workspace, state, found, now)
        return _judge_and_tell(workspace, request, resumed, None, now)
    return resume_transcript(found, request, now, workspace)


def _absorb_file(workspace: Workspace, state: SessionState, now: int) -> SessionState:
    """With what a person wrote into the file since; the next checkpoint makes a record of it."""
    stream = rules.stream_of(state["session"])
    for path, written in rules.render(state).items():
        try:
            _, content = read_file(TreeFile(workspace.root, path))
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


def _look_at_world(
    workspace: Workspace, status: Running | None, *, look: bool
) -> tuple[World, list[StatusChange]]:
    world = world_now(workspace, head_now(workspace))
    if not look:
        return world, []
    folder = folder_of(workspace)
    control = [os.path.join(folder, name) for name in CONTROL_FILES]
    return world, look_at_work_tree(workspace, world, control, status)
