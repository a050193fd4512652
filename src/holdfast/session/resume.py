"""Resuming: first whether the world is still as it was left, then one text that restarts the work."""

from __future__ import annotations

import os

from holdfast.clients.current_session import own_id
from holdfast.kernel import clock, config
from holdfast.kernel.errors import HoldfastError, NotFound
from holdfast.kernel.views.files import Unreadable, read_file, text_of
from holdfast.session import sessions
from holdfast.session.ccc_files import folder_of, read_state
from holdfast.session.rules import pack, progress
from holdfast.session.rules import session as rules
from holdfast.session.rules.model import PROGRESS_FILE
from holdfast.session.rules.verdict import is_foreign, judge
from holdfast.session.world import CONTROL_FILES, head_now, look_at_work_tree, world_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from holdfast.kernel.workspace import Workspace
    from holdfast.session.rules.model import SessionState, World
    from holdfast.session.rules.verdict import Reason, Word

    class Resumption(TypedDict):
        """What a new session is told."""

        verdict: Word
        reasons: list[Reason]
        pack: str
        prompt: str
        checkpoint: str
        session: str


# What waits for a person. By name: gates are built on sessions, not the other way round.
GATES = "holdfast.gates.summary"


def resume(
    workspace: Workspace,
    *,
    session: str = "",
    issue: str = "",
    budget: int = 0,
    look: bool = True,
    probe: bool = True,
    now: int,
) -> Resumption:
    """The verdict and the pack. `look` asks git, `probe` runs the probes again, which may be any
    command; a hook does neither."""
    settings = config.load(workspace, workspace.journal if workspace.exists() else None)
    state = sessions.named(workspace, session) if session else _whose(workspace)
    budget = budget or int(settings["session.pack_characters"])
    beside = _beside(workspace, state["last"]["at"] if state and state["last"] else "")
    state = _from_file(workspace, beside) if state is None else _as_edited(workspace, state, now)
    present = _world(workspace, look)
    issue = issue or _issue_here(workspace)
    last = state["last"]
    claims: Any = []
    probe = probe and look and not is_foreign(state, present, issue)
    if last is not None and last["claims"] and probe:
        from holdfast.session.claims import run_all

        claims = run_all(last["claims"], workspace.root, settings, present["commit"], now)
        state = {**state, "last": {**last, "claims": claims}}
    verdict, reasons = judge(
        state if last is None else {**state, "last": last},
        present,
        issue=issue,
        claims=claims,
        stale_after=int(settings["session.stale_hours"]) * clock.HOUR,
        now=now,
    )
    return {
        "verdict": verdict,
        "reasons": reasons,
        "pack": pack.write(state, verdict, reasons, budget=budget, beside=beside),
        "prompt": state["progress"]["prompt"],
        "checkpoint": last["id"] if last else "",
        "session": state["session"],
    }


def refuse_foreign(found: Resumption) -> None:
    """Nobody goes on with another place's work without saying so."""
    if found["verdict"] == "FOREIGN":
        reasons = "; ".join(reason["what"] for reason in found["reasons"])
        raise HoldfastError(
            f"FOREIGN: {reasons}.",
            hint="Go there, or give --accept-foreign to continue it here.",
            kind="foreign",
        )


def _beside(workspace: Workspace, since: str) -> pack.Beside | None:
    """What goes on beside the session: the reasoning of open RFCs, the gates that wait, and what
    people answered since it was captured."""
    first, notes = _reasoning(workspace)
    if workspace.exists() and workspace.journal.heads("gate:"):
        commands, sections = __import__(GATES, fromlist=["for_a_pack"]).for_a_pack(workspace, since)
        first, notes = [*first, *commands], [*sections, *notes]
    return {"first": first, "notes": notes} if first or notes else None


def _reasoning(workspace: Workspace) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Open RFCs, and those that want a bootstrap."""
    known = workspace.exists() and workspace.journal.heads("rfc:")
    if not known and not os.path.isdir(os.path.join(workspace.root, ".ohrfc")):
        return [], []
    from holdfast.rfc.reasoning import active_reasoning

    waiting, notes = active_reasoning(workspace)
    return [f"holdfast rfc bootstrap {id}" for id in waiting], notes


def _whose(workspace: Workspace) -> SessionState | None:
    """The session at work here, or the one to take over, or nothing that any record knows."""
    found = sessions.at_work(workspace) or sessions.predecessor(workspace, own_id())
    if found is not None:
        return found
    taken_over = sessions.here(workspace)
    if taken_over:
        return taken_over[0]
    elsewhere = sessions.latest(workspace)
    if elsewhere and not _has_file(workspace):
        raise NotFound(
            f"No session of this worktree waits; {len(elsewhere)} are known in other places.",
            hint="`holdfast resume --list` lists them, `--session ID` reads one.",
        )
    return None


def _from_file(workspace: Workspace, beside: pack.Beside | None) -> SessionState:
    """A progress file that no record knows, from another tool or another machine; AMB-CCC-26.
    Without one, what goes on beside a session is still worth a pack."""
    try:
        _, content = read_file(_file(workspace))
        read = progress.parse(text_of(content))
    except FileNotFoundError:
        if beside is not None:
            return rules.initial(rules.stream_of(""))
        raise NotFound(
            "There is nothing to resume here.",
            hint="`holdfast checkpoint` captures a session; the next one resumes it.",
        ) from None
    except (Unreadable, rules.Unparsable) as problem:
        raise HoldfastError(
            f"{PROGRESS_FILE} cannot be read: {problem}.",
            hint="Correct it; `holdfast checkpoint` keeps a copy of it in quarantine.",
        ) from None
    state = rules.initial(rules.stream_of(""))
    return {**state, "progress": read, "folder": folder_of(workspace)}


def _as_edited(workspace: Workspace, state: SessionState, now: int) -> SessionState:
    """With what a person wrote into the file since; the next checkpoint makes a record of it."""
    stream = rules.stream_of(state["session"])
    for path, written in rules.render(state).items():
        try:
            _, content = read_file(os.path.join(workspace.root, path))
            # Asked after the file was read: whoever writes it says so in the journal before.
            if not workspace.journal.views(worktree=workspace.root, stream=stream, path=path):
                continue  # the file shows a session that was captured later
            base: SessionState = {**state, "progress": progress.parse(written)}
            change: Any = {"kind": "edited", "path": path, "text": text_of(content)}
            edits = rules.absorb(state, base, change, now)
        except (OSError, Unreadable, rules.Unparsable):
            continue
        for kind, body in edits:
            state = rules.apply(
                state, {"id": "", "kind": kind, "body": body, "at": "", "actor": ""}
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


def _world(workspace: Workspace, look: bool) -> World:
    world = world_now(workspace, head_now(workspace))
    if look:
        folder = folder_of(workspace)
        look_at_work_tree(workspace, world, [os.path.join(folder, name) for name in CONTROL_FILES])
    return world
