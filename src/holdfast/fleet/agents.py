"""The life of an agent: start, heartbeats and other updates, resume."""

from __future__ import annotations

import os

from holdfast.fleet import backups, current_life, machines
from holdfast.fleet.rules.liveness import liveness
from holdfast.fleet.rules.model import EPIC_README, PRIMARY, README
from holdfast.fleet.rules.names import check_feature, checkpoint_path
from holdfast.fleet.unread import unread_count
from holdfast.kernel import clock
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import Conflict, FenceLost
from holdfast.kernel.writer import Order
from holdfast.processes.agent_process import own_process, process_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.fleet.context import Known, Post
    from holdfast.fleet.current_life import Own
    from holdfast.fleet.rules.model import Life
    from holdfast.kernel.commit import Outcome


class Told:
    """What a command about an agent has to say: the protocol's own lines, warnings, and data."""

    def __init__(self, agent: Known) -> None:
        self.agent = agent
        self.lines: list[str] = []
        self.warnings: list[str] = []
        self.session = ""
        self.fence = 0
        self.queued = ""
        # Where the life was that this one goes on with, if elsewhere: worktree, and its machine.
        self.left: tuple[str, str] | None = None
        # Whether there is something new for EPIC_README.md.
        self.has_news = False

    def take(self, outcome: Outcome) -> None:
        self.fence = outcome["fence"] or self.fence
        self.queued = outcome["queued"]
        for view in outcome["views"]:
            if view["status"] == "failed":
                self.warnings.append(
                    f"{view['path']} was not written: {view['reason']}. The record is safe."
                )


def new_life(post: Post, transcript: str = "") -> Life:
    """A life that begins now, here, in this process."""
    return {
        "session": new_session(),
        "started_at": clock.stamp(post.now),
        "worktree": post.worktree.root,
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


def start(post: Post, agent: str, feature: str, *, transcript: str = "", saved: Any = None) -> Told:
    """The first checkpoint of an agent, which owns its feature from now on; FLEET-25 to FLEET-32. With
    `saved`, an archived checkpoint, it goes on where that one stopped."""
    check_feature(feature)
    known = post.agent(agent)
    known.adopt()
    told = Told(known)
    life = new_life(post, transcript)
    known.epic = post.epic
    command = {
        "do": "start",
        "agent": agent,
        "feature": feature,
        "life": life,
        **whereabouts(known),
        **({"from": {**saved, "feature": feature}} if saved else {}),
        **surroundings(known, feature),
    }
    claim = {"do": "claim", "agent": agent, "session": life["session"]}
    _refuse_taken(known, feature)
    begin(told, command, life, [Order(known.epic.stream("feature", feature), claim)])
    told.lines = [f"Session ID: {life['session']}", "Initial checkpoint created"]
    _introduce(known, feature)
    return told


def _introduce(known: Known, feature: str) -> None:
    """The files in which an agent and the Primary write to each other, and its first words."""
    if known.id == PRIMARY:
        return
    from holdfast.fleet import messages as letters

    options: Any = {"actor": known.post.actor, "now": known.post.now}
    letters.open_channel(known.epic, PRIMARY, known.id, **options)
    fields = {
        "subject": f"STARTED - {feature}",
        "action": "None",
        "next": "S2.P1 Research Phase",
        "acknowledge": "Not needed",
    }
    letters.send(known.post.agent(PRIMARY).epic, known.id, PRIMARY, fields, **options)


def begin(told: Told, command: Any, life: Life, others: list[Order]) -> None:
    """Give a life its fence, together with what else must happen in the same transaction."""
    known = told.agent
    order = Order(known.stream, command, grant=True, raise_removed=True)
    outcomes = known.writer.execute_together(
        [order, *others], actor=known.post.actor, now=known.post.now
    )
    told.take(outcomes[0])
    told.has_news = True
    told.session = life["session"]
    try:
        life_here: Own = {"session": told.session, "fence": told.fence}
        current_life.remember(known.post.worktree, known.stream, life_here)
    except OSError as error:
        told.warnings.append(
            f"This worktree cannot remember its life ({error.strerror}): "
            f"say --fence {told.fence} with each command."
        )
    known.reload()


def whereabouts(known: Known) -> dict[str, Any]:
    """Where an agent's files are from now on."""
    workspace = known.epic.workspace
    return {"worktree": workspace.root, "machine": machines.own(workspace)}


def surroundings(known: Known, feature: str) -> dict[str, bool]:
    """What else of the epic is there to be kept up to date."""
    return {
        "has_status_file": os.path.isdir(known.epic.file(feature)),
        "readme": os.path.exists(known.epic.file(README)),
    }


def _refuse_taken(known: Known, feature: str) -> None:
    """A file that somebody wrote without holdfast owns its feature as well."""
    from holdfast.fleet.roster import listing

    for entry in listing(known.epic, known.post.now):
        others = entry["feature"] == feature and entry["status"] != "COMPLETE"
        if others and entry["agent_id"] != known.id:
            source = entry["path"] or entry["machine"] or "the journal"
            raise Conflict(
                f"{feature} belongs to {entry['agent_id']}, says {source}.",
                hint=f"Take it over: holdfast agent takeover {entry['agent_id']} --by {known.id}",
                kind="feature_taken",
            )


def _readme_waits(known: Known) -> bool:
    """Whether an earlier edit of EPIC_README.md is due to be tried again."""
    journal, now = known.epic.workspace.journal, clock.precise(known.post.now)
    return bool(journal.effects(due=now, kinds=[EPIC_README], limit=1))


def complete(post: Post, agent: str) -> Told:
    """The feature is done and free again; the Primary is told."""
    known = post.agent(agent)
    feature = str((known.state["checkpoint"] or {}).get("feature", ""))
    release = Order(known.epic.stream("feature", feature), {"do": "release", "agent": agent})
    told = update(post, agent, {"do": "complete"}, others=[release])
    if agent != PRIMARY:
        from holdfast.fleet import messages as letters

        fields = {
            "subject": f"COMPLETE - {feature}",
            "action": "Go on to S3 once all features are complete",
            "next": "Waiting at the sync point S2-S3",
            "acknowledge": "Not needed",
        }
        desk = post.agent(PRIMARY).epic
        letters.send(desk, agent, PRIMARY, fields, actor=post.actor, now=post.now)
    return told


def update(
    post: Post, agent: str, command: Any, *, backup: bool = True, others: Sequence[Order] = ()
) -> Told:
    """A heartbeat, or another update of a life: backup, write, verify; FLEET-33 to FLEET-40."""
    known = post.agent(agent)
    told = Told(known)
    mine = known.required()
    content = _before_update(told)
    if backup and content and not _is_lost(known, mine["session"]):
        backups.make(known.epic, known.id, content, post.now)
        backups.prune(known.epic, known.id)
    command = {**command, "session": mine["session"]}
    command["readme"] = os.path.exists(known.epic.file(README))
    if command["readme"]:
        from holdfast.fleet.rules.wishes import has_news

        told.has_news = has_news(known.state, command, post.now) or _readme_waits(known)
    if known.epic.workspace.url:
        from holdfast.fleet.arrivals import bring

        bring(known.epic, known.id)
    command["unread"] = unread_count(known.epic, known.id)
    life = known.state["life"]
    if life is not None and process_state(life["process"]) != "alive":
        command["process"] = own_process()
    try:
        outcome = _write(known, command, mine["fence"], others)
    except FenceLost:
        known.reload()
        raise known.lost(mine["session"]) from None
    told.take(outcome)
    told.session, told.fence = mine["session"], mine["fence"]
    if told.queued:
        told.warnings.append(f"The journal cannot be written here: queued as {told.queued}.")
        return told
    if outcome["records"] and outcome["records"][-1]["kind"] == "late":
        known.reload()
        raise known.lost(mine["session"])
    told.lines.append("Checkpoint updated")
    if _is_written(known, outcome):
        _verify(told, command.get("stage") or command.get("set", {}).get("stage"))
    else:
        known.reload()
        told.lines.append("Checkpoint file could not be written")
    if command["unread"]:
        messages = "message" if command["unread"] == 1 else "messages"
        told.lines.append(f"You have {command['unread']} unread {messages}")
    return told


def _write(known: Known, command: Any, fence: int, others: Sequence[Order]) -> Outcome:
    if not others:
        outcome: Outcome = known.execute(command, fence=fence, raise_removed=True)
        return outcome
    order = Order(known.stream, command, fence=fence, raise_removed=True)
    return known.writer.execute_together(
        [order, *others], actor=known.post.actor, now=known.post.now
    )[0]


def _is_written(known: Known, outcome: Outcome) -> bool:
    path = known.epic.path(checkpoint_path(known.id))
    return all(view["status"] != "failed" for view in outcome["views"] if view["path"] == path)


def _is_lost(known: Known, session: str) -> bool:
    life = known.state["life"]
    return life is None or life["session"] != session


def _before_update(told: Told) -> bytes:
    """The file as the last update left it: what is to be backed up. A file that is gone or broken is
    dealt with first; FLEET-87, FLEET-88."""
    known = told.agent
    if not known.is_here:
        return b""
    content, saved = known.read()
    if saved:
        return content
    if saved is None:
        told.lines += ["ERROR: Checkpoint corrupted", "Attempting to restore from backup..."]
        if not restore_newest(told, keep=True):
            told.lines[-1:] = [told.lines[-1], "No backup available, creating fresh checkpoint"]
    elif known.state["checkpoint"] is not None:
        told.lines += [
            "WARNING: Checkpoint file missing",
            "Creating fresh checkpoint from current state...",
        ]
    return b""


def restore_newest(told: Told, *, keep: bool = False) -> bool:
    """Put the newest valid backup in the checkpoint's place; FLEET-80. With `keep`, no step that was done
    since is forgotten."""
    known = told.agent
    found = backups.newest_valid(known.epic, known.id)
    if found is None:
        told.lines.append("ERROR: No backup found")
        return False
    path, saved = found
    told.lines.append(f"Restoring from backup: {path}")
    command = {"do": "restore", "checkpoint": saved, "backup": path, "keep": keep}
    told.take(known.execute(command, raise_removed=True))
    known.reload()
    told.lines.append("Checkpoint restored")
    return True


def _verify(told: Told, stage: str | None) -> None:
    """What was written is read back; FLEET-39, FLEET-40, FLEET-86."""
    known = told.agent
    _, saved = known.read()
    if saved is None:
        told.lines.append("ERROR: Checkpoint corrupted during update")
        restore_newest(told)
        return
    if not saved:
        known.reload()
        return
    known.state = {**known.state, "checkpoint": saved}
    if stage and saved.get("stage") != stage:
        raise Conflict(
            f"The file says stage {saved.get('stage')}, not {stage}: somebody else writes it.",
            hint="Do not go on to the next phase; look at the file, then beat again.",
            kind="stage_not_saved",
        )
    told.lines.append("Checkpoint valid")


def resume(
    post: Post, agent: str, *, feature: str = "", yes: bool = False, transcript: str = ""
) -> Told:
    """Scenario 1: the same agent in a fresh session; FLEET-59 to FLEET-65."""
    from holdfast.fleet.rules import handoff
    from holdfast.fleet.rules.liveness import too_old_lines

    known = post.agent(agent)
    told = Told(known)
    content = _before_update(told)
    known.adopt()
    checkpoint = known.state["checkpoint"]
    if checkpoint is None:
        return _start_over(post, known, feature, transcript)
    if not yes and not known.is_own():
        _refuse_living(known)
    told.lines += handoff.resume_lines(checkpoint, missing_files(known, checkpoint))
    age = age_of(checkpoint, post.now)
    told.warnings += too_old_lines(age)
    message = handoff.resume_message(checkpoint, known.state["file_notes"], post.now, age)
    life = new_life(post, transcript)
    feature = str(checkpoint.get("feature") or feature)
    # Its files are where its life is: from now on in this worktree.
    known.epic = post.epic
    command = {
        "do": "resume",
        "life": life,
        "feature": feature,
        **whereabouts(known),
        **surroundings(known, feature),
    }
    claim = {"do": "claim", "agent": agent, "session": life["session"], "decision": "resume"}
    if content:
        backups.make(known.epic, known.id, content, post.now)
        backups.prune(known.epic, known.id)
    begin(told, command, life, [Order(known.epic.stream("feature", feature), claim)])
    told.lines += ["", message]
    return told


def _start_over(post: Post, known: Known, feature: str, transcript: str) -> Told:
    """Nothing to resume from: a fresh checkpoint, when the feature is known; AMB-FLEET-22."""
    if not feature:
        raise known.unknown()
    told = start(post, known.id, feature, transcript=transcript)
    told.lines[:0] = [
        "WARNING: Checkpoint file missing",
        "Creating fresh checkpoint from current state...",
    ]
    return told


def _refuse_living(known: Known) -> None:
    """While an agent's own program runs, somebody else is not the same agent in a fresh session. On
    another machine that cannot be seen, and its word has to do."""
    life = known.state["life"]
    if life is not None and not known.is_here:
        age = age_of(known.state["checkpoint"] or {}, known.post.now)
        if liveness(age, "") == "ACTIVE":
            raise Conflict(
                f"{known.id} is alive on {machines.name_of(known.state)}: "
                f"its last word is {age} min old.",
                hint="If it shall write no more, say so: --yes",
                kind="agent_lives",
            )
    process = life["process"] if life else None
    if process is None or process == own_process():
        return
    if process_state(process) == "alive":
        raise Conflict(
            f"{known.id} is alive: its process {process['pid']} still runs.",
            hint="If it shall write no more, say so: --yes",
            kind="agent_lives",
        )


def age_of(checkpoint: dict[str, Any], now: int) -> int:
    from holdfast.fleet.rules.liveness import age_minutes, instant_of

    last = instant_of(checkpoint.get("last_checkpoint"))
    return 0 if last is None else age_minutes(last, now)


def missing_files(known: Known, checkpoint: dict[str, Any]) -> list[str]:
    """Modified files that cannot be read any more; FLEET-62."""
    listed = checkpoint.get("files_modified")
    names = [str(name) for name in listed] if isinstance(listed, list) else []
    return [name for name in names if not os.path.isfile(known.epic.file(name))]
