"""Write a checkpoint, from the questions of a group to both files, and move an RFC from phase to phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.kernel import config
from holdfast.kernel.errors import HoldfastError, NotFound, Usage
from holdfast.kernel.streams import open_writer
from holdfast.kernel.text import quote
from holdfast.kernel.views.files import Unreadable
from holdfast.rfc.bootstrap import read_review
from holdfast.rfc.init import adopt
from holdfast.rfc.reader import VIEWS, Reader, RfcContext, state_after
from holdfast.rfc.rules import budget, document, questions, state_file
from holdfast.rfc.rules import rfc as rules
from holdfast.rfc.rules.document import Parsed
from holdfast.rfc.rules.model import (
    CHECKPOINT_FILE,
    GATE_B,
    GROUPS,
    STATE_FILE,
    BootstrapError,
    heading_of,
    path_of,
    rounds_of,
    stream_of,
    unknown,
    version_of,
    word_of,
)
from holdfast.rfc.rules.transitions import TRANSITIONS, advise, group_for, is_done

if TYPE_CHECKING:
    from holdfast.kernel.commit import Outcome
    from holdfast.kernel.workspace import Workspace
    from holdfast.rfc.rules.model import RfcState
    from holdfast.rfc.rules.transitions import Advice


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The answers for a group. `source` names them in refusals; `lenient` allows too few bullets."""

    text: str
    source: str = "answers"
    lenient: bool = False


@dataclass(frozen=True, kw_only=True)
class WriteRequest:
    """Answers for a group of the RFC with this id, a unique beginning of it, or "" for the only one."""

    id: str = ""
    group: str
    answers: Answers
    dry_run: bool = False
    accept_versions: bool = False


class Questions(TypedDict):
    id: str
    group: str
    prompt: str


class WriteResult(TypedDict):
    """A written checkpoint. `text` is the file as it is, or as it would be after a dry run."""

    id: str
    group: str
    version: int
    lines: int
    dropped: list[str]
    warnings: list[str]
    text: str
    outcome: Outcome | None


@dataclass(frozen=True, kw_only=True)
class TransitionRequest:
    """A transition by its name. `answers` writes the group of the phase in the same step."""

    id: str = ""
    name: str
    to: str = ""
    restart: bool | None = None
    pressure: int | None = None
    answers: Answers | None = None
    dry_run: bool = False
    accept_versions: bool = False


class TransitionResult(TypedDict):
    """What a transition did, and what it asks for. `owed` is the group still to be written."""

    id: str
    advice: Advice
    owed: str
    round: int
    repeated: bool
    written: WriteResult | None
    warnings: list[str]
    outcome: Outcome | None


def ask(workspace: Workspace, group: str, id: str = "") -> Questions:
    """The questions of a group for an RFC."""
    if group not in GROUPS:
        raise Usage(f"{group!r:.40} is no group.", hint=f"One of {', '.join(GROUPS)}.")
    key, found = group, ""
    with Reader(workspace) as reader:
        try:
            found = reader.find(id)
            key = group_for(reader.state(found)[0], group)
        except NotFound:
            # Only the questions of Gate-B depend on the RFC.
            if id or group == GATE_B:
                raise
    return {"id": found, "group": key, "prompt": questions.prompt(key)}


def write(context: RfcContext, request: WriteRequest) -> WriteResult:
    """Make the answers fit without losing a word and write both files, or refuse them."""
    with Reader(context.workspace) as reader:
        state = _enter(reader, request)
        command, warnings = _command_for(reader, state, request.group, request.answers)
        if request.dry_run:
            records = rules.decide(state, command, context.now).records
            return _result_of(state_after(state, records), warnings, None)
        outcome, kept = _execute(context, reader, state["id"], command)
        after = state if outcome["queued"] else reader.stored(state["id"])[0]
        return _result_of(after, [*kept, *warnings], outcome)


def transition(context: RfcContext, request: TransitionRequest) -> TransitionResult:
    """Leave a phase: change state.json, and write the answers if they are given."""
    with Reader(context.workspace) as reader:
        state = _enter(reader, request)
        command: dict[str, Any] = {
            "do": "move",
            "name": request.name,
            "to": request.to,
            "restart": request.restart,
            "pressure": request.pressure,
            "threshold": int(config.load(context.workspace)["rfc.pressure"]),
            "answers": None,
        }
        repeated = is_done(state, request.name)
        advice = None if repeated else advise(state, command)
        given: list[str] = []
        if request.answers is not None:
            exits = TRANSITIONS[request.name].exits
            if not exits:
                raise Usage(f"{request.name} is no trigger point: there is nothing to answer.")
            command["answers"], given = _command_for(reader, state, exits, request.answers)
        outcome: Outcome | None = None
        warnings: list[str] = []
        if request.dry_run:
            after = state_after(state, rules.decide(state, command, context.now).records)
            taken = version_of(after["fields"]) > version_of(state["fields"])
        else:
            outcome, warnings = _execute(context, reader, state["id"], command)
            queued = bool(outcome["queued"])
            after = state if queued else reader.stored(state["id"])[0]
            kinds = {record["kind"] for record in outcome["records"]}
            # Another process may have made the transition since we read the state.
            repeated = "moved" not in kinds and not queued
            taken = "written" in kinds or queued
        if repeated or advice is None:
            advice = _repeated_advice(after, request.name)
        if advice["restart"]:
            warnings += _check_restart(reader, after)
        written = _result_of(after, given, outcome) if command["answers"] and taken else None
    return {
        "id": state["id"],
        "advice": advice,
        "owed": after["move"]["owed"] if after["move"] else "",
        "round": rounds_of(after["fields"]),
        "repeated": repeated,
        "written": written,
        "warnings": warnings,
        "outcome": outcome,
    }


def _repeated_advice(state: RfcState, name: str) -> Advice:
    """A repeated transition asks for the same as the first time."""
    move = state["move"]
    assert move is not None
    return {
        "transition": name,
        "source": move["to"],
        "target": move["to"],
        "group": move["owed"],
        "write": bool(move["owed"]),
        "restart": move["restart"],
        "why": "made already",
    }


def _check_restart(reader: Reader, state: RfcState) -> list[str]:
    """Warn if the bootstrap after the restart would fail, while this context can still repair it."""
    if not rounds_of(state["fields"]):
        return []
    try:
        read_review(reader, state["id"])
    except BootstrapError as refusal:
        return [f"After the restart, {refusal.message} Write it before you restart."]
    return []


# Steps that both share


def _enter(reader: Reader, request: WriteRequest | TransitionRequest) -> RfcState:
    """Find the RFC, and check that its files fit together."""
    id = reader.find(request.id)
    if not request.accept_versions:
        _check_versions(reader, id)
    state, _ = reader.state(id)
    if not state["fields"]:
        raise unknown(id)
    if state.get("closed"):
        raise rules.closed(state)
    return state


def _command_for(
    reader: Reader, state: RfcState, group: str, answers: Answers
) -> tuple[dict[str, Any], list[str]]:
    """The command that writes these answers, and warnings."""
    key = group_for(state, group)
    artifacts, warnings = reader.artifacts(state["id"])
    try:
        given = questions.read(key, answers.text, source=answers.source)
        sections = budget.compress(key, given, add_labels=answers.lenient)
        warnings += budget.check(key, sections, lenient=answers.lenient)
    except HoldfastError as error:
        # So that the command of the hint runs as it stands.
        prompt = f"holdfast rfc prompt {word_of(key)} {quote(state['id'])}"
        error.hint = error.hint.replace("holdfast rfc prompt", prompt)
        raise
    warnings += [
        f"Written by hand, and replaced ({heading_of(key)}): {bullet}"
        for bullet in rules.replaced_by(state, key, sections)
    ]
    command = {"do": "write", "group": group, "lenient": answers.lenient}
    return {**command, "sections": sections, "artifacts": artifacts}, warnings


def _execute(
    context: RfcContext, reader: Reader, id: str, command: dict[str, Any]
) -> tuple[Outcome, list[str]]:
    """Commit a command, once nothing refuses it: files without a record are taken over first. The warnings name files
    that could not be read and are in quarantine."""
    adopt(context, reader, id)
    workspace, stream = context.workspace, stream_of(id)
    writer = open_writer(workspace)
    head = workspace.journal.head(stream)
    before = head["version"] if head else 0
    # A checkpoint is always written, even if the file was removed; RFC-01.
    outcome = writer.execute(
        stream, command, actor=context.actor, now=context.now, raise_removed=True
    )
    if outcome["queued"]:
        return outcome, []
    return outcome, [
        f"{record['body']['path']} could not be read ({record['body']['reason']}); "
        f"it was written again, and what it was is in {record['body']['kept']}."
        for record in reversed(workspace.journal.latest(stream=stream, limit=20))
        if record["version"] > before and record["kind"] == "quarantined" and record["body"]
    ]


def _result_of(after: RfcState, warnings: list[str], outcome: Outcome | None) -> WriteResult:
    text = document.write(after) if after["meta"]["last_phase"] else ""
    records = outcome["records"] if outcome else []
    written = [one["body"] for one in records if one["kind"] == "written" and one["body"]]
    return {
        "id": after["id"],
        "group": after["meta"]["last_phase"],
        "version": version_of(after["fields"]),
        "lines": len(text.splitlines()),
        "dropped": [heading_of(key) for body in written for key in body["dropped"]],
        "warnings": warnings,
        "text": text,
        "outcome": outcome,
    }


# Versions


def _check_versions(reader: Reader, id: str) -> None:
    """Refuse files that do not come from one write, as the bootstrap does; AMB-RFC-07.

    A missing or unreadable file has no version: the write itself reports and replaces it.
    """
    if all(reader.is_unchanged(path_of(id, name)) for name in VIEWS):
        return
    versions = _read_versions(reader, id)
    if versions is None or not state_file.is_apart(*versions):
        return
    if _read_versions(reader, id) != versions:
        return  # another process is writing both files now
    file, state = versions
    raise HoldfastError(
        f"checkpoint.md says version {file}, state.json version {state}: "
        "they are not of one write. Nothing was written.",
        hint="Bring back the one that is wrong, from git or with "
        f"`holdfast history rfc:{quote(id)}`; or go on with what both say now: --accept-versions.",
        kind="versions_apart",
    )


def _read_versions(reader: Reader, id: str) -> tuple[int, int] | None:
    """The versions of checkpoint.md and state.json; None if one of them has none."""
    try:
        read = Parsed(reader.view(id, CHECKPOINT_FILE))
        fields = state_file.read(reader.view(id, STATE_FILE))
    except (FileNotFoundError, Unreadable, ValueError):
        return None
    if read.fatal or read.id != id or "checkpoint_version" not in fields:
        return None
    return read.version, version_of(fields)
