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
from holdfast.fleet.rules.updates import TOLD, was_stale
from holdfast.kernel import clock
from holdfast.kernel.commit import Order
from holdfast.kernel.errors import Conflict, FenceLost, HoldfastError, Usage
from holdfast.kernel.streams import works_offline
from holdfast.kernel.text import nearest, quote
from holdfast.processes.agent_process import own_process, process_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from holdfast.fleet.context import FleetContext

# Kinds: a text that may be empty; one that may not; a list of texts; notes on files; a flag.
TEXT, WORD, LIST, NOTES, FLAG = "text", "word", "list", "notes", "flag"


class BeatField:
    """One field of a heartbeat: its option of the command line, its argument of the tool and of the library, and the field
    of the checkpoint that a text `sets`. The tool has no argument where `tool`, its description, is None."""

    def __init__(
        self,
        name: str,
        kind: str,
        option: str,
        help: str,
        *,
        metavar: str | None = None,
        tool: str | None = "",
        sets: str = "",
    ) -> None:
        self.name, self.kind, self.option, self.help = name, kind, option, help
        self.metavar, self.tool, self.sets = metavar, tool, sets


FIELDS = (
    BeatField("step", TEXT, "--step", "What you are doing right now.", sets="current_step"),
    BeatField("done", LIST, "--done", "A step that is done; repeatable."),
    BeatField("next", LIST, "--next", "A step still to do; repeatable. Replaces the list.", tool="Steps left."),
    BeatField("files", LIST, "--file", "A file that you changed; repeatable.", metavar="PATH"),
    BeatField("file_notes", NOTES, "--file-note", "How far a file is; repeatable.", metavar="PATH=TEXT", tool=None),
    BeatField("recovery", TEXT, "--recovery", "How another agent would go on from here.", tool="How to continue.", sets="recovery_instructions"),
    BeatField("stage", WORD, "--stage", "S2.P1, S2.P2 or S2.P3; never backwards.", tool="S2.P1, S2.P2 or S2.P3.", sets="stage"),
    BeatField("phase", TEXT, "--phase", "The phase, as a short text.", sets="phase"),
    BeatField("status", WORD, "--status", "IN_PROGRESS, WAITING or BLOCKED.", tool="Or WAITING, BLOCKED.", sets="status"),
    BeatField("committed", FLAG, "--committed", "Everything is committed: clear the list of changed files.", tool="Clear the list of files."),
    BeatField("busy_until", WORD, "--busy-until", "Expect no heartbeat before TIME.", metavar="TIME", tool="Such as 15:40."),
    BeatField("doing", WORD, "--doing", "The long operation that --busy-until is about."),
    BeatField("transcript", WORD, "--transcript", "The session's transcript; its growth is a sign of life.", metavar="FILE", tool=None),
)  # fmt: skip
NAMES = [field.name for field in FIELDS]


@works_offline
@updates_life
def beat(context: FleetContext, id: str, /, **given: Any) -> AgentResult:
    """Save a heartbeat: what is done, what comes next, and how another agent would go on.

    A field that is missing or None stays as it was, but `busy_until` and `doing` end with the next heartbeat that does
    not repeat them.
    """
    for name in given.keys() - NAMES:
        raise Usage(f"A heartbeat has no {name}.", hint=nearest(name, NAMES))
    command: dict[str, Any] = {
        "do": "beat",
        "set": {
            field.sets: given[field.name]
            for field in FIELDS
            if field.sets and given.get(field.name) is not None
        },
        "completed_steps": _texts(given, "done"),
        "files_modified": [_from_epic(context, path) for path in _texts(given, "files")],
        "committed": bool(given.get("committed")),
        "file_notes": {
            _from_epic(context, path): str(note)
            for path, note in (given.get("file_notes") or {}).items()
        },
        "busy_until": "",
        "doing": str(given.get("doing") or ""),
    }
    if next_steps := _texts(given, "next"):
        command["set"]["next_steps"] = next_steps
    if given.get("busy_until"):
        command["busy_until"] = parse_time(str(given["busy_until"]), context.now)
    if given.get("transcript"):
        command["transcript"] = given["transcript"]
    return update(context, id, command)


def _texts(given: Mapping[str, Any], name: str) -> list[str]:
    values: Any = given.get(name) or ()
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
def block(
    context: FleetContext, id: str, blocker: str, *, recovery: str | None = None
) -> AgentResult:
    """Report what keeps the agent from working: status BLOCKED. FLEET-22"""
    given = {"recovery_instructions": recovery} if recovery is not None else {}
    result = update(context, id, {"do": "block", "blocker": blocker, "set": given})
    result.next = [f"holdfast agent send {PRIMARY} --from {quote(id)} --subject 'ESCALATION - ...'"]
    return result


@updates_life
def unblock(context: FleetContext, id: str, blocker: str | None = None) -> AgentResult:
    """Resolve one blocker, or all of them."""
    return update(context, id, {"do": "unblock", **({"blocker": blocker} if blocker else {})})


@updates_life
def phase(context: FleetContext, id: str, stage: str, *, next: Sequence[str] = ()) -> AgentResult:
    """Write the last checkpoint of a stage, which starts the next one. FLEET-21, FLEET-85. The `next` steps of the new
    one are by default those of its guide."""
    result = update(context, id, {"do": "phase", "stage": stage, "next_steps": list(next)})
    result.lines.append(f"Proceed to {stage}")
    result.next = [f"holdfast agent guide {stage}"]
    return result


@updates_life
def complete(context: FleetContext, id: str) -> AgentResult:
    """Report the feature as done and free it; a message tells the Primary."""
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
    context: FleetContext, id: str, command: Any, *, others: Sequence[Order] = ()
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
        _back_up(result, command)
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
    path = agent.epic.path(checkpoint_path(agent.id))
    if all(view["status"] != "failed" for view in outcome["views"] if view["path"] == path):
        _verify(result, command.get("stage") or command.get("set", {}).get("stage"))
    else:
        agent.reload()
        result.lines.append("Checkpoint file could not be written")
    if command["unread"]:
        messages = "message" if command["unread"] == 1 else "messages"
        result.lines.append(f"You have {command['unread']} unread {messages}")
    return result


def _back_up(result: AgentResult, command: Any) -> None:
    """Repair the file if it is broken, and back up what it says."""
    agent = result.agent
    content = repair_file(result)
    if agent.state["life"] is None:
        raise agent.lost(command["session"])
    if not content:
        return
    try:
        command["backup"] = backups.renew(agent.epic, agent.state, content, agent.context.now)
    except HoldfastError as error:
        # A heartbeat does not fail for its backup: the journal has every version.
        result.warnings.append(f"No backup was made: {error.message}")


def _add_circumstances(result: AgentResult, command: Any) -> None:
    """Add to a command what its caller does not say: EPIC_README.md, unread messages, the process."""
    agent, life = result.agent, result.agent.state["life"]
    is_news = command["do"] in TOLD or was_stale(agent.state, agent.context.now)
    command["readme"] = agent.readme_worktree() if is_news else ""
    journal, due = agent.epic.workspace.journal, clock.precise(agent.context.now)
    # An earlier edit of EPIC_README.md may be due to be tried again.
    waits = journal.effects(due=due, kinds=[EPIC_README], limit=1)
    result.has_news = bool(command["readme"] or waits)
    bring_messages(agent.epic, agent.id)
    command["unread"] = unread_count(agent.epic, agent.id)
    if life is not None and process_state(life["process"]) != "alive":
        command["process"] = own_process()
    if life is not None and life.get("awaits"):
        command["awaits"] = False


# The file before and after an update


@changes_life
def restore(context: FleetContext, id: str) -> AgentResult:
    """Bring the newest valid backup back; FLEET-80."""
    result = AgentResult(context.agent(id))
    if not _restore_newest(result):
        raise HoldfastError(
            "ERROR: No backup found",
            hint=f"A fresh one: holdfast agent restart {quote(id)}",
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
