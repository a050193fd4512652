"""The operations that begin an agent's life: start and resume."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from holdfast.clients.table import own_id
from holdfast.fleet import backups, transfer
from holdfast.fleet.context import AgentResult, changes_life
from holdfast.fleet.epic import machine_name, own_machine_of
from holdfast.fleet.messages import open_channel, tell_primary
from holdfast.fleet.roster import listing
from holdfast.fleet.rules import handoff
from holdfast.fleet.rules.agent import refuse_at_work, refuse_resume, unknown
from holdfast.fleet.rules.checkpoint import parse
from holdfast.fleet.rules.model import PRIMARY, check_feature
from holdfast.fleet.rules.verdict import age_minutes, liveness, too_old_lines
from holdfast.fleet.updates import repair_file
from holdfast.kernel import clock
from holdfast.kernel.clock import instant_of
from holdfast.kernel.commit import Order
from holdfast.kernel.errors import Conflict, HoldfastError, NotFound, Usage
from holdfast.kernel.rules import Unparsable
from holdfast.kernel.text import quote
from holdfast.kernel.views.files import Unreadable, read_file, text_of
from holdfast.kernel.workspace import Workspace
from holdfast.processes.agent_process import VARIABLE as PROCESS_VARIABLE
from holdfast.processes.agent_process import own_process, process_state

if TYPE_CHECKING:
    from holdfast.fleet.context import FleetAgent, FleetContext
    from holdfast.fleet.rules.handoff import Package
    from holdfast.fleet.rules.model import AgentLife, Origin


@changes_life
def start(
    context: FleetContext,
    id: str,
    feature: str = "",
    *,
    transcript: str = "",
    package: Package | None = None,
    archive: str = "",
    origin: Origin | None = None,
    or_resume: bool = False,
) -> AgentResult:
    """Write an agent's first checkpoint; it owns its feature from now on. FLEET-25 to FLEET-32

    Args:
        package: a parsed handoff package. With it, or with `or_resume`, an agent that is at work already is resumed.
        archive: the path of an archived checkpoint to start from.
        origin: where its work is.
    """
    if package is not None:
        for named, given in ((package["agent"], id), (package["feature"], feature)):
            if given and named and given != named:
                raise Usage(f"The package is for {named}, not for {given}.")
        id, feature = id or package["agent"], feature or package["feature"]
    can_resume = package is not None or or_resume
    if id and _is_at_work(context, id, feature, can_resume=can_resume):
        return resume(context, id, transcript=transcript)
    saved = _read_archive(context, archive) if archive else None
    feature = feature or str((saved or {}).get("feature") or "")
    if id and not feature:
        refuse_at_work(context.agent(id).state, takes_over=False)
    if not id or not feature:
        raise Usage(
            "An agent begins with its id and its feature.",
            hint="holdfast agent start Secondary-A --feature feature_02_team_penalty",
        )
    return _start(context, id, feature, transcript=transcript, saved=saved, origin=origin)


def _is_at_work(context: FleetContext, id: str, feature: str, *, can_resume: bool) -> bool:
    """Whether a start goes on with a life that there is: one that awaits its session, or any other if
    the caller `can_resume`."""
    agent = context.agent(id)
    agent.look()
    saved, life = agent.state["checkpoint"], agent.state["life"]
    if saved is None or saved.get("status") == "COMPLETE":
        return False
    is_awaited = bool(life and life.get("awaits")) and feature in ("", saved.get("feature"))
    return can_resume or is_awaited


def _read_archive(context: FleetContext, path: str) -> dict[str, Any]:
    home = context.find_home(PRIMARY) or context.epic
    place = os.path.join(context.folder, path)
    if not os.path.exists(place):
        place = home.file(path)
    try:
        return parse(text_of(read_file(place)[1]))
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
    origin: Origin | None = None,
) -> AgentResult:
    """Begin a life; with `saved`, an archived checkpoint, where that one stopped."""
    check_feature(feature)
    agent = context.agent(id)
    agent.look()
    _refuse_taken(agent, feature)
    agent.adopt()
    result = AgentResult(agent)
    life = new_life(context, transcript)
    agent.epic = context.find_home(id) or context.epic
    command = {
        "do": "start",
        "agent": id,
        "feature": feature,
        "life": life,
        **({"from": {**saved, "feature": feature}, "origin": origin} if saved else {}),
        **describe_files(agent, feature),
    }
    claim = {"do": "claim", "agent": id, "session": life["session"]}
    begin(result, command, life, [Order(agent.epic.stream("feature", feature), claim)])
    result.lines = [f"Session ID: {life['session']}", "Initial checkpoint created"]
    if saved:
        missing = missing_files(agent, saved)
        message = handoff.resume_message(saved, {}, age_of(saved, context.now))
        result.lines = [*handoff.resume_lines(saved, missing), *result.lines, "", message]
    result.next = [f"holdfast agent beat {quote(id)} --step '...'", "holdfast agent list"]
    tell_origin(result, origin)
    _introduce(agent, feature)
    return result


def new_life(context: FleetContext, transcript: str) -> AgentLife:
    """A life that begins now, in this worktree and process."""
    process = own_process()
    life: AgentLife = {**_life(context), "process": process, "transcript": transcript}
    # A command of its own begins it, outside of any client and any program that names itself.
    is_of_agent = own_id() or os.environ.get(PROCESS_VARIABLE)
    if process is not None and process["pid"] != os.getpid() and not is_of_agent:
        life["launched"] = True
    return life


def awaited_life(context: FleetContext) -> AgentLife:
    """A life for another session to start: the caller may be the Primary, or a person."""
    return {**_life(context), "awaits": True}


def _life(context: FleetContext) -> AgentLife:
    return {
        # As `uuidgen` prints it; FLEET-26, AMB-FLEET-13.
        "session": str(uuid.uuid4()),
        "started_at": clock.stamp(context.now),
        "worktree": context.worktree.root,
        "process": None,
        "transcript": "",
        "busy_until": "",
        "doing": "",
    }


def begin(result: AgentResult, command: Any, life: AgentLife, others: list[Order]) -> None:
    """Give a life its fence, in one transaction with the other orders."""
    agent = result.agent
    order = Order(agent.stream, command, grant=True, raise_removed=True)
    result.add(agent.commit([order, *others])[0])
    result.has_news = True
    result.session = life["session"]
    result.remember(
        {"session": result.session, "fence": result.fence}, is_own=not life.get("awaits")
    )
    agent.reload()
    agent.write_copy()


def describe_files(agent: FleetAgent, feature: str) -> dict[str, Any]:
    """Where an agent's files are from now on, and which other files of the epic have to be kept up to
    date: the feature's STATUS, and EPIC_README.md in a worktree."""
    workspace = agent.epic.workspace
    return {
        "worktree": workspace.root,
        "machine": own_machine_of(workspace),
        "has_status_file": os.path.isdir(agent.epic.file(feature)),
        "readme": agent.readme_worktree(),
    }


def _refuse_taken(agent: FleetAgent, feature: str) -> None:
    """Also the file of an agent that does not use holdfast owns its feature."""
    _end_archived_owner(agent, feature)
    for entry in listing(agent.epic, agent.context.now):
        others = entry["feature"] == feature and entry["status"] != "COMPLETE"
        if others and entry["agent_id"] != agent.id:
            source = entry["path"] or entry["machine"] or "the journal"
            raise Conflict(
                f"{feature} belongs to {entry['agent_id']}, says {source}.",
                hint=f"Take it over: holdfast agent takeover {quote(entry['agent_id'])} --by {quote(agent.id)}",
                kind="feature_taken",
            )


def _end_archived_owner(agent: FleetAgent, feature: str) -> None:
    """Another owner of the feature whose file was archived by hand owns it no more."""
    owner = agent.writer.load(agent.epic.stream("feature", feature))["owner"]
    if owner and owner != agent.id:
        agent.context.agent(owner).end_if_archived()


def _introduce(agent: FleetAgent, feature: str) -> None:
    """Create the two message files between an agent and the Primary, and report the start. The Primary's own start
    brings the files of the others to the Epic Path."""
    context = agent.context
    if agent.id == PRIMARY:
        for entry in listing(agent.epic, context.now):
            with suppress(HoldfastError, OSError):
                context.agent(entry["agent_id"]).take_in_copy()
        return
    open_channel(context, agent.epic, PRIMARY, agent.id)
    tell_primary(
        context,
        agent.id,
        {
            "subject": f"STARTED - {feature}",
            "action": "None",
            "next": "S2.P1 Research Phase",
            "acknowledge": "Not needed",
        },
    )


@changes_life
def resume(
    context: FleetContext, id: str, *, feature: str = "", transcript: str = "", yes: bool = False
) -> AgentResult:
    """Scenario 1: the same agent goes on in a fresh session, with `yes` even if it may still be alive. FLEET-59 to FLEET-65"""
    agent = context.agent(id)
    result = AgentResult(agent)
    if not yes and not agent.is_caller():
        # Before anything is repaired: a refused command changes nothing.
        _refuse_living(agent)
    agent.look()
    if agent.state["checkpoint"] is not None:
        refuse_resume(agent.state, feature)
    content = repair_file(result)
    agent.reload()
    agent.adopt()
    checkpoint = agent.state["checkpoint"]
    if checkpoint is None:
        return _start_over(agent, feature, transcript)
    origin, problems = _origin_in(agent, context.worktree)
    result.warnings += problems
    agent.epic = context.find_home(agent.id) or context.epic
    missing = missing_files(agent, checkpoint)
    result.lines += handoff.resume_lines(checkpoint, missing)
    result.next = [f"holdfast agent beat {quote(agent.id)} --step '...'"]
    tell_origin(result, origin)
    age = age_of(checkpoint, context.now)
    if checkpoint.get("status") != "COMPLETE":
        result.warnings += too_old_lines(age)
    message = handoff.resume_message(checkpoint, agent.state["file_notes"], age)
    life = new_life(context, transcript)
    feature = str(checkpoint.get("feature") or feature)
    command = {
        "do": "resume",
        "life": life,
        "feature": feature,
        "origin": origin,
        **describe_files(agent, feature),
    }
    _end_archived_owner(agent, feature)
    claim = {"do": "claim", "agent": agent.id, "session": life["session"], "decision": "resume"}
    if content:
        command["backup"] = backups.renew(agent.epic, agent.state, content, context.now)
    begin(result, command, life, [Order(agent.epic.stream("feature", feature), claim)])
    result.lines += ["", message]
    return result


def _origin_in(agent: FleetAgent, worktree: Workspace) -> tuple[Origin | None, list[str]]:
    """Where the work was; a life that goes on in its own worktree needs no snapshot of it."""
    life = agent.state["life"]
    if life is not None and not life.get("awaits") and life["worktree"] == worktree.root:
        return agent.state.get("origin"), []
    return transfer.origin_of(agent)


def tell_origin(result: AgentResult, origin: Origin | None) -> None:
    """Say where the work of a life is that began in another worktree, and how to bring it over."""
    here = result.agent.context.worktree.root
    if origin is not None and (origin["machine"] or origin["worktree"] != here):
        lines, commands = transfer.describe(origin)
        result.lines += lines
        result.next[:0] = commands


def _start_over(agent: FleetAgent, feature: str, transcript: str) -> AgentResult:
    """There is no checkpoint to resume from: start afresh if the feature is known. AMB-FLEET-22"""
    if not feature:
        raise unknown(agent.state, agent.id)
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
    if life is not None and life.get("awaits"):
        return
    hint = f"If it shall write no more: holdfast agent resume {quote(agent.id)} --yes"
    if life is not None and not agent.is_here:
        age = age_of(agent.state["checkpoint"] or {}, agent.context.now)
        if liveness(age, "") == "ACTIVE":
            raise Conflict(
                f"{agent.id} is alive on {machine_name(agent.state)}: "
                f"its last word is {age} min old.",
                hint=hint,
                kind="agent_lives",
            )
    process = life["process"] if life else None
    if process is None or process == own_process():
        return
    if process_state(process) == "alive":
        raise Conflict(
            f"{agent.id} is alive: its process {process['pid']} still runs.",
            hint=hint,
            kind="agent_lives",
        )


def age_of(checkpoint: dict[str, Any], now: int) -> int:
    """Minutes since a checkpoint; 0 when its time is unknown."""
    last = instant_of(checkpoint.get("last_checkpoint"))
    return 0 if last is None else age_minutes(last, now)


def missing_files(agent: FleetAgent, checkpoint: dict[str, Any]) -> list[str]:
    """The modified files that are not in the caller's worktree; FLEET-62."""
    listed = checkpoint.get("files_modified")
    names = [str(name) for name in listed] if isinstance(listed, list) else []
    return [name for name in names if not os.path.isfile(agent.context.here.file(name))]
