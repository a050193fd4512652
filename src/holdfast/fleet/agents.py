"""The operations of one agent's life: start, heartbeats and other updates, completion, resume.

Each is `verb(context, request) -> AgentResult`, and every face calls it: the command line, MCP, the
hooks' entry and the library.
"""

from __future__ import annotations

import os
import time

from holdfast.estop.stop import refuse_stopped
from holdfast.fleet import backups, current_life, machines
from holdfast.fleet.messages import bring_messages, unread_count
from holdfast.fleet.rules.liveness import age_minutes, instant_of, liveness
from holdfast.fleet.rules.model import EPIC_README, PRIMARY, README
from holdfast.fleet.rules.names import check_feature, checkpoint_path
from holdfast.kernel import clock
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import Conflict, FenceLost, HoldfastError, NotFound, Stopped, Usage
from holdfast.kernel.writer import Order
from holdfast.processes.agent_process import own_process, process_state
from holdfast.remote.offline import works_offline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypedDict, TypeVar

    from holdfast.fleet.context import FleetAgent, FleetContext
    from holdfast.fleet.current_life import CurrentLife
    from holdfast.fleet.rules.handoff import Package
    from holdfast.fleet.rules.model import Life
    from holdfast.fleet.rules.updates import Standing
    from holdfast.kernel.commit import Outcome

    class AgentRequest(TypedDict):
        """A request about one agent, by its id."""

        agent: str

    class StartRequest(AgentRequest, total=False):
        """`package` is a parsed handoff package, `archive` the path of an archived checkpoint to start
        from. With `or_resume`, or a package, an agent that is at work already is resumed."""

        feature: str
        transcript: str
        package: Package
        archive: str
        or_resume: bool

    class ResumeRequest(AgentRequest, total=False):
        """`yes` resumes even if the agent may still be alive."""

        feature: str
        transcript: str
        yes: bool

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

    Request = TypeVar("Request")
    Operation = Callable[[FleetContext, Request], "AgentResult"]

# The fields of a heartbeat, and the checkpoint's fields that they set.
_TEXT_FIELDS = {
    "step": "current_step",
    "recovery": "recovery_instructions",
    "stage": "stage",
    "phase": "phase",
    "status": "status",
}


class AgentResult:
    """What an operation did: the protocol's own lines, warnings, commands to go on with, and data."""

    def __init__(self, agent: FleetAgent) -> None:
        self.agent = agent
        self.lines: list[str] = []
        self.warnings: list[str] = []
        self.next: list[str] = []
        self.session = ""
        self.fence = 0
        self.queued = ""
        self.sync: Standing | None = None
        # Whether EPIC_README.md needs an edit.
        self.has_news = False

    def add(self, outcome: Outcome) -> None:
        """Take over what a write says: its fence, and the files that it could not write."""
        self.fence = outcome["fence"] or self.fence
        self.queued = outcome["queued"]
        for view in outcome["views"]:
            if view["status"] == "failed":
                self.warnings.append(
                    f"{view['path']} was not written: {view['reason']}. The record is safe."
                )

    def refuse_stopped(self) -> None:
        """Raise Stopped while an emergency stop holds; what the agent said is safe."""
        refuse_stopped(self.agent.context.worktree, "What you said is saved.")

    def data(self) -> dict[str, Any]:
        """The result for programs."""
        return {
            "agent_id": self.agent.id,
            "session_id": self.session,
            "fence": self.fence,
            "checkpoint": self.agent.state["checkpoint"],
            "path": self.agent.file,
            "queued": self.queued,
            "said": self.lines,
            "warnings": self.warnings,
            **({"sync": self.sync} if self.sync is not None else {}),
        }


# What holds for every operation


def changes_life(operation: Operation[Request]) -> Operation[Request]:
    """An operation that begins, ends or repairs a life: refused while an emergency stop holds."""

    def run(context: FleetContext, request: Request) -> AgentResult:
        refuse_stopped(context.worktree)
        return _conclude(operation(context, request))

    return run


def updates_life(operation: Operation[Request]) -> Operation[Request]:
    """An operation of a living agent: saved even while an emergency stop holds. If it fails then, the
    stop is the answer."""

    def run(context: FleetContext, request: Request) -> AgentResult:
        try:
            return _conclude(operation(context, request))
        except Stopped:
            raise
        except HoldfastError as error:
            refuse_stopped(context.worktree, f"What you said was not saved: {error.message}")
            raise

    return run


def _conclude(result: AgentResult) -> AgentResult:
    """Write the agent's news into EPIC_README.md. What fails is a warning, and is tried again."""
    if result.has_news:
        from holdfast.fleet.epic_readme import deliver

        agent = result.agent
        for delivery in deliver(agent.epic.workspace, agent.writer, agent.context.now):
            if not delivery["delivered"]:
                result.warnings.append(
                    f"EPIC_README.md was not written: {delivery['error']} It is tried again later."
                )
    return result


# Start and resume


@changes_life
def start(context: FleetContext, request: StartRequest) -> AgentResult:
    """Write an agent's first checkpoint; it owns its feature from now on. FLEET-25 to FLEET-32"""
    package = request.get("package")
    id, feature = request["agent"], request.get("feature") or ""
    if package is not None:
        for named, given in ((package["agent"], id), (package["feature"], feature)):
            if given and named and given != named:
                raise Usage(f"The package is for {named}, not for {given}.")
        id, feature = id or package["agent"], feature or package["feature"]
    if id and (package is not None or request.get("or_resume")) and _is_at_work(context, id):
        again: ResumeRequest = {"agent": id, "transcript": request.get("transcript", "")}
        return _resume(context, again)
    if not id or not feature:
        raise Usage(
            "An agent begins with its id and its feature.",
            hint="holdfast agent start Secondary-A --feature feature_02_team_penalty",
        )
    archive = request.get("archive") or ""
    saved = _read_archive(context, archive) if archive else None
    return _start(context, id, feature, transcript=request.get("transcript", ""), saved=saved)


def _is_at_work(context: FleetContext, id: str) -> bool:
    agent = context.agent(id)
    agent.look()
    saved = agent.state["checkpoint"]
    return saved is not None and saved.get("status") != "COMPLETE"


def _read_archive(context: FleetContext, path: str) -> dict[str, Any]:
    from holdfast.fleet.rules.checkpoint import parse
    from holdfast.kernel.rules import Unparsable
    from holdfast.kernel.views.files import Unreadable, read_file, text_of

    try:
        return parse(text_of(read_file(os.path.join(context.folder, path))[1]))
    except (OSError, Unreadable, Unparsable) as error:
        raise NotFound(
            f"{path} is no archived checkpoint: {error}.", hint="agent_checkpoints/*_crashed_*.json"
        ) from None


def _start(
    context: FleetContext,
    id: str,
    feature: str,
    *,
    transcript: str = "",
    saved: dict[str, Any] | None = None,
) -> AgentResult:
    """Begin a life; with `saved`, an archived checkpoint, where that one stopped."""
    check_feature(feature)
    agent = context.agent(id)
    agent.adopt()
    result = AgentResult(agent)
    life = new_life(context, transcript)
    agent.epic = context.epic
    command = {
        "do": "start",
        "agent": id,
        "feature": feature,
        "life": life,
        **whereabouts(agent),
        **({"from": {**saved, "feature": feature}} if saved else {}),
        **epic_files(agent, feature),
    }
    claim = {"do": "claim", "agent": id, "session": life["session"]}
    _refuse_taken(agent, feature)
    begin(result, command, life, [Order(agent.epic.stream("feature", feature), claim)])
    result.lines = [f"Session ID: {life['session']}", "Initial checkpoint created"]
    result.next = [f"holdfast agent beat {id} --step '...'", "holdfast agent list"]
    _introduce(agent, feature)
    return result


def new_life(context: FleetContext, transcript: str = "") -> Life:
    """A life that begins now, in this worktree and process."""
    return {
        "session": new_session(),
        "started_at": clock.stamp(context.now),
        "worktree": context.worktree.root,
        "process": own_process(),
        "transcript": transcript,
        "busy_until": "",
        "doing": "",
    }


def new_session() -> str:
    """A random UUID, as `uuidgen` prints it; FLEET-26, AMB-FLEET-13."""
    text = new_id()
    variant = "89ab"[int(text[16], 16) % 4]
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"


def begin(result: AgentResult, command: Any, life: Life, others: list[Order]) -> None:
    """Give a life its fence, in one transaction with the other orders."""
    agent = result.agent
    order = Order(agent.stream, command, grant=True, raise_removed=True)
    result.add(agent.execute_together([order, *others])[0])
    result.has_news = True
    result.session = life["session"]
    try:
        life_here: CurrentLife = {"session": result.session, "fence": result.fence}
        current_life.remember(agent.context.worktree, agent.stream, life_here)
    except OSError as error:
        result.warnings.append(
            f"This worktree cannot remember its life ({error.strerror}): "
            f"say --fence {result.fence} with each command."
        )
    agent.reload()


def whereabouts(agent: FleetAgent) -> dict[str, Any]:
    """Where an agent's files are from now on."""
    workspace = agent.epic.workspace
    return {"worktree": workspace.root, "machine": machines.own(workspace)}


def epic_files(agent: FleetAgent, feature: str) -> dict[str, bool]:
    """Which other files of the epic have to be kept up to date."""
    return {
        "has_status_file": os.path.isdir(agent.epic.file(feature)),
        "readme": os.path.exists(agent.epic.file(README)),
    }


def _refuse_taken(agent: FleetAgent, feature: str) -> None:
    """Also the file of an agent that does not use holdfast owns its feature."""
    from holdfast.fleet.roster import listing

    for entry in listing(agent.epic, agent.context.now):
        others = entry["feature"] == feature and entry["status"] != "COMPLETE"
        if others and entry["agent_id"] != agent.id:
            source = entry["path"] or entry["machine"] or "the journal"
            raise Conflict(
                f"{feature} belongs to {entry['agent_id']}, says {source}.",
                hint=f"Take it over: holdfast agent takeover {entry['agent_id']} --by {agent.id}",
                kind="feature_taken",
            )


def _introduce(agent: FleetAgent, feature: str) -> None:
    """Create the two message files between an agent and the Primary, and report the start."""
    if agent.id == PRIMARY:
        return
    from holdfast.fleet.messages import open_channel

    context = agent.context
    open_channel(agent.epic, PRIMARY, agent.id, actor=context.actor, now=context.now)
    _tell_primary(
        context,
        agent.id,
        {
            "subject": f"STARTED - {feature}",
            "action": "None",
            "next": "S2.P1 Research Phase",
            "acknowledge": "Not needed",
        },
    )


def _tell_primary(context: FleetContext, sender: str, fields: Mapping[str, str]) -> None:
    from holdfast.fleet.messages import write_message

    epic = context.agent(PRIMARY).epic
    write_message(epic, sender, PRIMARY, fields, actor=context.actor, now=context.now)


@changes_life
def resume(context: FleetContext, request: ResumeRequest) -> AgentResult:
    """Scenario 1: the same agent goes on in a fresh session. FLEET-59 to FLEET-65"""
    return _resume(context, request)


def _resume(context: FleetContext, request: ResumeRequest) -> AgentResult:
    from holdfast.fleet.rules import handoff
    from holdfast.fleet.rules.liveness import too_old_lines

    feature, transcript = request.get("feature", ""), request.get("transcript", "")
    agent = context.agent(request["agent"])
    result = AgentResult(agent)
    content = _repair_file(result)
    agent.adopt()
    checkpoint = agent.state["checkpoint"]
    if checkpoint is None:
        return _start_over(agent, feature, transcript)
    if not request.get("yes") and not agent.is_caller():
        _refuse_living(agent)
    result.lines += handoff.resume_lines(checkpoint, missing_files(agent, checkpoint))
    age = age_of(checkpoint, context.now)
    result.warnings += too_old_lines(age)
    message = handoff.resume_message(checkpoint, agent.state["file_notes"], context.now, age)
    life = new_life(context, transcript)
    feature = str(checkpoint.get("feature") or feature)
    # An agent's files are where its life is: from now on in this worktree.
    agent.epic = context.epic
    command = {
        "do": "resume",
        "life": life,
        "feature": feature,
        **whereabouts(agent),
        **epic_files(agent, feature),
    }
    claim = {"do": "claim", "agent": agent.id, "session": life["session"], "decision": "resume"}
    if content:
        backups.make(agent.epic, agent.id, content, context.now)
        backups.prune(agent.epic, agent.id)
    begin(result, command, life, [Order(agent.epic.stream("feature", feature), claim)])
    result.lines += ["", message]
    result.next = [f"holdfast agent beat {agent.id} --step '...'"]
    return result


def _start_over(agent: FleetAgent, feature: str, transcript: str) -> AgentResult:
    """There is no checkpoint to resume from: start afresh if the feature is known. AMB-FLEET-22"""
    if not feature:
        raise agent.unknown()
    result = _start(agent.context, agent.id, feature, transcript=transcript)
    result.lines[:0] = [
        "WARNING: Checkpoint file missing",
        "Creating fresh checkpoint from current state...",
    ]
    return result


def _refuse_living(agent: FleetAgent) -> None:
    """While an agent's own process runs, the caller is not that agent in a fresh session. A process on
    another machine cannot be seen: there the age of the last checkpoint decides."""
    life = agent.state["life"]
    if life is not None and not agent.is_here:
        age = age_of(agent.state["checkpoint"] or {}, agent.context.now)
        if liveness(age, "") == "ACTIVE":
            raise Conflict(
                f"{agent.id} is alive on {machines.name_of(agent.state)}: "
                f"its last word is {age} min old.",
                hint="If it shall write no more, say so: --yes",
                kind="agent_lives",
            )
    process = life["process"] if life else None
    if process is None or process == own_process():
        return
    if process_state(process) == "alive":
        raise Conflict(
            f"{agent.id} is alive: its process {process['pid']} still runs.",
            hint="If it shall write no more, say so: --yes",
            kind="agent_lives",
        )


def age_of(checkpoint: dict[str, Any], now: int) -> int:
    """Minutes since a checkpoint; 0 when its time is unknown."""
    last = instant_of(checkpoint.get("last_checkpoint"))
    return 0 if last is None else age_minutes(last, now)


def missing_files(agent: FleetAgent, checkpoint: dict[str, Any]) -> list[str]:
    """The modified files that are gone; FLEET-62."""
    listed = checkpoint.get("files_modified")
    names = [str(name) for name in listed] if isinstance(listed, list) else []
    return [name for name in names if not os.path.isfile(agent.epic.file(name))]


# Updates of a living agent


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
    root, place = context.epic.root, os.path.realpath(os.path.join(context.folder, path))
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
    result.next = [f"holdfast agent send {PRIMARY} --from {sender} --subject 'ESCALATION - ...'"]
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
    result.next = [f"holdfast agent sync {id} S2-S3"]
    if id != PRIMARY:
        _tell_primary(
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
    content = _repair_file(result)
    if backup and content and not _is_lost(agent, caller["session"]):
        backups.make(agent.epic, agent.id, content, context.now)
        backups.prune(agent.epic, agent.id)
    command = {**command, "session": caller["session"]}
    command["readme"] = os.path.exists(agent.epic.file(README))
    if command["readme"]:
        from holdfast.fleet.rules.wishes import has_news

        result.has_news = has_news(agent.state, command, context.now) or _readme_waits(agent)
    bring_messages(agent.epic, agent.id)
    command["unread"] = unread_count(agent.epic, agent.id)
    life = agent.state["life"]
    if life is not None and process_state(life["process"]) != "alive":
        command["process"] = own_process()
    try:
        outcome = _write(agent, command, caller["fence"], others)
    except FenceLost:
        agent.reload()
        raise agent.lost(caller["session"]) from None
    result.add(outcome)
    result.session, result.fence = caller["session"], caller["fence"]
    if result.queued:
        result.warnings.append(f"The journal cannot be written here: queued as {result.queued}.")
        return result
    if outcome["records"] and outcome["records"][-1]["kind"] == "late":
        agent.reload()
        raise agent.lost(caller["session"])
    result.lines.append("Checkpoint updated")
    if _is_written(agent, outcome):
        _verify(result, command.get("stage") or command.get("set", {}).get("stage"))
    else:
        agent.reload()
        result.lines.append("Checkpoint file could not be written")
    if command["unread"]:
        messages = "message" if command["unread"] == 1 else "messages"
        result.lines.append(f"You have {command['unread']} unread {messages}")
    return result


def _readme_waits(agent: FleetAgent) -> bool:
    """Whether an earlier edit of EPIC_README.md is due to be tried again."""
    journal, now = agent.epic.workspace.journal, clock.precise(agent.context.now)
    return bool(journal.effects(due=now, kinds=[EPIC_README], limit=1))


def _write(agent: FleetAgent, command: Any, fence: int, others: Sequence[Order]) -> Outcome:
    if not others:
        return agent.execute(command, fence=fence, raise_removed=True)
    order = Order(agent.stream, command, fence=fence, raise_removed=True)
    return agent.execute_together([order, *others])[0]


def _is_written(agent: FleetAgent, outcome: Outcome) -> bool:
    path = agent.epic.path(checkpoint_path(agent.id))
    return all(view["status"] != "failed" for view in outcome["views"] if view["path"] == path)


def _is_lost(agent: FleetAgent, session: str) -> bool:
    life = agent.state["life"]
    return life is None or life["session"] != session


# The file before and after an update


@changes_life
def restore(context: FleetContext, request: AgentRequest) -> AgentResult:
    """Bring the newest valid backup back; FLEET-80."""
    result = AgentResult(context.agent(request["agent"]))
    if not _restore_newest(result):
        raise HoldfastError(
            "ERROR: No backup found",
            hint=f"A fresh one: holdfast agent restart {request['agent']}",
            kind="no_backup",
        )
    return result


def _repair_file(result: AgentResult) -> bytes:
    """The file as the last update left it, to be backed up. A broken file is restored first, and a
    missing one is written again by the update. FLEET-87, FLEET-88"""
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
    elif agent.state["checkpoint"] is not None:
        result.lines += [
            "WARNING: Checkpoint file missing",
            "Creating fresh checkpoint from current state...",
        ]
    return b""


def _restore_newest(result: AgentResult, *, keep: bool = False) -> bool:
    """Replace the checkpoint by its newest valid backup. With `keep`, steps that were done since the
    backup stay done."""
    agent = result.agent
    found = backups.newest_valid(agent.epic, agent.id)
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
            f"The file says stage {saved.get('stage')}, not {stage}: somebody else writes it.",
            hint="Do not go on to the next phase; look at the file, then beat again.",
            kind="stage_not_saved",
        )
    result.lines.append("Checkpoint valid")
