"""The operations of a living agent: heartbeats, blockers, stages, completion; and its checkpoint file.

Every update backs up the file, writes it, and reads it back.
"""

from __future__ import annotations

import os
import time

from holdfast.fleet import backups, changed_files
from holdfast.fleet.context import AgentResult, changes_life, updates_life
from holdfast.fleet.messages import bring_messages, tell_primary, unread_count
from holdfast.fleet.rules.agent import decide, is_late
from holdfast.fleet.rules.model import EPIC_README, PRIMARY, checkpoint_path
from holdfast.fleet.rules.updates import has_news
from holdfast.kernel import clock
from holdfast.kernel.commit import Order
from holdfast.kernel.errors import Conflict, FenceLost, HoldfastError, Usage
from holdfast.kernel.streams import works_offline
from holdfast.kernel.text import quote
from holdfast.processes.agent_process import own_process, process_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from holdfast.fleet.context import AgentRequest, FleetAgent, FleetContext
    from holdfast.kernel.commit import Outcome

    class BeatRequest(AgentRequest, total=False):
        """A field that is missing or None stays as it was. `busy_until` and `doing` declare a long
        operation, until the next heartbeat that does not repeat them."""

        step: str | None
        done: Sequence[str] | None
        next: Sequence[str] | None
        files: Sequence[str] | None
        file_notes: Mapping[str, str] | None
        recovery: str | None
        stage: str | None
        phase: str | None
        status: str | None
        committed: bool
        busy_until: str | None
        doing: str | None
        transcript: str | None
        backup: bool

    class BlockRequest(AgentRequest, total=False):
        blocker: str
        recovery: str | None

    class UnblockRequest(AgentRequest, total=False):
        """Without `blocker`, all blockers are resolved."""

        blocker: str | None

    class PhaseRequest(AgentRequest, total=False):
        """`next` are the first steps of the new stage; by default those of its guide."""

        stage: str
        next: Sequence[str]


# The fields of a heartbeat, and the checkpoint's fields that they set.
_TEXT_FIELDS = {
    "step": "current_step",
    "recovery": "recovery_instructions",
    "stage": "stage",
    "phase": "phase",
    "status": "status",
}


@works_offline
@updates_life
def beat(context: FleetContext, request: BeatRequest) -> AgentResult:
    """Save a heartbeat: what is done, what comes next, and how another agent would go on."""
    command: dict[str, Any] = {
        "do": "beat",
        "set": {
            field: request[name]  # type: ignore[literal-required]
            for name, field in _TEXT_FIELDS.items()
            if request.get(name) is not None
        },
        "completed_steps": _texts(request, "done"),
        "files_modified": [_from_epic(context, path) for path in _texts(request, "files")],
        "committed": bool(request.get("committed")),
        "file_notes": {
            _from_epic(context, path): str(note)
            for path, note in (request.get("file_notes") or {}).items()
        },
        "busy_until": "",
        "doing": str(request.get("doing") or ""),
    }
    next_steps = _texts(request, "next")
    if next_steps:
        command["set"]["next_steps"] = next_steps
    if request.get("busy_until"):
        command["busy_until"] = parse_time(str(request["busy_until"]), context.now)
    if request.get("transcript"):
        command["transcript"] = request["transcript"]
    return update(context, request["agent"], command, backup=request.get("backup", True))


def _texts(request: BeatRequest, name: str) -> list[str]:
    values: Any = request.get(name) or ()
    if isinstance(values, str) or not all(
        isinstance(each, str) and each.strip() for each in values
    ):
        raise Usage(
            f"{name} is a list of texts, and none of them is empty.",
            hint="Leave it out when there is nothing to say.",
        )
    return list(values)


def _from_epic(context: FleetContext, path: str) -> str:
    """A file's path from the epic's folder if it exists there; otherwise as it was given."""
    root, place = context.here.root, os.path.realpath(os.path.join(context.folder, path))
    is_inside = place.startswith(root + os.sep) and os.path.exists(place)
    return os.path.relpath(place, root) if is_inside else path


def parse_time(text: str, now: int) -> str:
    """The UTC time of `15:40`, the next time that the local clock shows it, or of a full UTC time."""
    try:
        return clock.stamp(clock.parse(text))
    except ValueError:
        pass
    hour, colon, minute = text.partition(":")
    if not (colon and hour.isdigit() and minute.isdigit() and int(hour) < 24 and int(minute) < 60):
        raise Usage(f"{text!r} is no time.", hint="15:40, or 2026-01-31T15:40:00Z")
    today = time.localtime(now // 1000)
    then = time.mktime((*today[:3], int(hour), int(minute), 0, 0, 0, -1))
    if then * 1000 <= now:
        then = time.mktime((*today[:2], today[2] + 1, int(hour), int(minute), 0, 0, 0, -1))
    return clock.stamp(int(then * 1000))


@updates_life
def block(context: FleetContext, request: BlockRequest) -> AgentResult:
    """Report what keeps the agent from working: status BLOCKED. FLEET-22"""
    recovery = request.get("recovery")
    given = {"recovery_instructions": recovery} if recovery is not None else {}
    command = {"do": "block", "blocker": request["blocker"], "set": given}
    result = update(context, request["agent"], command)
    sender = request["agent"]
    result.next = [
        f"holdfast agent send {PRIMARY} --from {quote(sender)} --subject 'ESCALATION - ...'"
    ]
    return result


@updates_life
def unblock(context: FleetContext, request: UnblockRequest) -> AgentResult:
    """Resolve one blocker, or all of them."""
    blocker = request.get("blocker")
    command = {"do": "unblock", **({"blocker": blocker} if blocker else {})}
    return update(context, request["agent"], command)


@updates_life
def phase(context: FleetContext, request: PhaseRequest) -> AgentResult:
    """Write the last checkpoint of a stage, which starts the next one. FLEET-21, FLEET-85"""
    stage = request["stage"]
    command = {"do": "phase", "stage": stage, "next_steps": list(request.get("next", ()))}
    result = update(context, request["agent"], command)
    result.lines.append(f"Proceed to {stage}")
    result.next = [f"holdfast agent guide {stage}"]
    return result


@updates_life
def complete(context: FleetContext, request: AgentRequest) -> AgentResult:
    """Report the feature as done and free it; a message tells the Primary."""
    id = request["agent"]
    agent = context.agent(id)
    feature = str((agent.state["checkpoint"] or {}).get("feature", ""))
    release = Order(agent.epic.stream("feature", feature), {"do": "release", "agent": id})
    result = update(context, id, {"do": "complete"}, others=[release])
    result.next = [f"holdfast agent sync {quote(id)} S2-S3"]
    if id != PRIMARY:
        tell_primary(
            context,
            id,
            {
                "subject": f"COMPLETE - {feature}",
                "action": "Go on to S3 once all features are complete",
                "next": "Waiting at the sync point S2-S3",
                "acknowledge": "Not needed",
            },
        )
    return result


def update(
    context: FleetContext,
    id: str,
    command: Any,
    *,
    backup: bool = True,
    others: Sequence[Order] = (),
) -> AgentResult:
    """Carry out an update of a life: back up the file, write it, read it back. FLEET-33 to FLEET-40"""
    agent = context.agent(id)
    result = AgentResult(agent)
    caller = agent.required_caller()
    command = {**command, "session": caller["session"]}
    if not is_late(agent.state, caller["session"]):
        agent.look()
        decide(agent.state, command, context.now)
        agent.reload()
        agent.take_in_copy()
        said = list(command.get("files_modified", []))
        changed, command["unchanged_files"] = changed_files.look(agent, said)
        command["files_modified"] = [*said, *changed]
        _back_up(result, command, backup=backup)
    _add_circumstances(result, command)
    agent.writer.remember(agent.stream, agent.state, agent.head)
    order = Order(agent.stream, command, fence=caller["fence"], raise_removed=True)
    try:
        outcome = agent.commit([order, *others], can_wait=not others)[0]
        is_refused = bool(outcome["records"]) and outcome["records"][-1]["kind"] == "late"
    except FenceLost:
        is_refused = True
    if is_refused:  # the update of a life that is over is only recorded
        agent.reload()
        raise agent.lost(caller["session"])
    result.add(outcome)
    result.session, result.fence = caller["session"], caller["fence"]
    if result.queued:
        result.warnings.append(f"The journal cannot be written here: queued as {result.queued}.")
        return result
    if "awaits" in command:
        result.remember(caller)
    result.lines.append("Checkpoint updated")
    agent.write_copy()
    if _is_written(agent, outcome):
        _verify(result, command.get("stage") or command.get("set", {}).get("stage"))
    else:
        agent.reload()
        result.lines.append("Checkpoint file could not be written")
    if command["unread"]:
        messages = "message" if command["unread"] == 1 else "messages"
        result.lines.append(f"You have {command['unread']} unread {messages}")
    return result


def _back_up(result: AgentResult, command: Any, *, backup: bool) -> None:
    """Repair the file if it is broken, and back up what it says."""
    agent = result.agent
    content = repair_file(result)
    if agent.state["life"] is None:
        raise agent.lost(command["session"])
    if not backup or not content:
        return
    try:
        command["backup"] = backups.renew(agent.epic, agent.state, content, agent.context.now)
    except HoldfastError as error:
        # A heartbeat does not fail for its backup: the journal has every version.
        result.warnings.append(f"No backup was made: {error.message}")


def _add_circumstances(result: AgentResult, command: Any) -> None:
    """Add to a command what its caller does not say: EPIC_README.md, unread messages, the process."""
    agent, life = result.agent, result.agent.state["life"]
    is_news = has_news(agent.state, command, agent.context.now)
    command["readme"] = agent.readme_worktree() if is_news else ""
    result.has_news = bool(command["readme"]) or _readme_waits(agent)
    bring_messages(agent.epic, agent.id)
    command["unread"] = unread_count(agent.epic, agent.id)
    if life is not None and process_state(life["process"]) != "alive":
        command["process"] = own_process()
    if life is not None and life.get("awaits"):
        command["awaits"] = False


def _readme_waits(agent: FleetAgent) -> bool:
    """Whether an earlier edit of EPIC_README.md is due to be tried again."""
    journal, now = agent.epic.workspace.journal, clock.precise(agent.context.now)
    return bool(journal.effects(due=now, kinds=[EPIC_README], limit=1))


def _is_written(agent: FleetAgent, outcome: Outcome) -> bool:
    path = agent.epic.path(checkpoint_path(agent.id))
    return all(view["status"] != "failed" for view in outcome["views"] if view["path"] == path)


# The file before and after an update


@changes_life
def restore(context: FleetContext, request: AgentRequest) -> AgentResult:
    """Bring the newest valid backup back; FLEET-80."""
    result = AgentResult(context.agent(request["agent"]))
    if not _restore_newest(result):
        raise HoldfastError(
            "ERROR: No backup found",
            hint=f"A fresh one: holdfast agent restart {quote(request['agent'])}",
            kind="no_backup",
        )
    return result


def repair_file(result: AgentResult) -> bytes:
    """The file as the last update left it, to be backed up. A broken file is restored first, and a
    missing one is written again by the update. FLEET-87, FLEET-88. A file that was archived by hand ends
    the life."""
    agent = result.agent
    if not agent.is_here:
        return b""
    content, saved = agent.read()
    if saved:
        return content
    if saved is None:
        result.lines += ["ERROR: Checkpoint corrupted", "Attempting to restore from backup..."]
        if not _restore_newest(result, keep=True):
            result.lines.append("No backup available, creating fresh checkpoint")
    elif agent.state["checkpoint"] is not None and not agent.end_if_archived():
        result.lines += [
            "WARNING: Checkpoint file missing",
            "Creating fresh checkpoint from current state...",
        ]
    return b""


def _restore_newest(result: AgentResult, *, keep: bool = False) -> bool:
    """Replace the checkpoint by its newest valid backup. With `keep`, steps that were done since the
    backup stay done."""
    agent = result.agent
    found = backups.newest_valid(agent.epic, agent.id, agent.state.get("backups", []))
    if found is None:
        result.lines.append("ERROR: No backup found")
        return False
    path, saved = found
    result.lines.append(f"Restoring from backup: {path}")
    command = {"do": "restore", "checkpoint": saved, "backup": path, "keep": keep}
    result.add(agent.execute(command, raise_removed=True))
    agent.reload()
    result.lines.append("Checkpoint restored")
    return True


def _verify(result: AgentResult, stage: str | None) -> None:
    """Read back what was written; FLEET-39, FLEET-40, FLEET-86."""
    agent = result.agent
    _, saved = agent.read()
    if saved is None:
        result.lines.append("ERROR: Checkpoint corrupted during update")
        _restore_newest(result)
        return
    if not saved:
        agent.reload()
        return
    agent.state = {**agent.state, "checkpoint": saved}
    if stage and saved.get("stage") != stage:
        raise Conflict(
            f"The file says stage {saved.get('stage')}, not {stage}: another writer changes it.",
            hint="Do not go on to the next phase; look at the file, then beat again.",
            kind="stage_not_saved",
        )
    result.lines.append("Checkpoint valid")
