"""Writing a checkpoint, and moving from phase to phase."""

from __future__ import annotations

from holdfast.kernel import config
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.state import fold
from holdfast.rfc import rules
from holdfast.rfc.agreement import before_a_restart, check_versions
from holdfast.rfc.beginning import adopt
from holdfast.rfc.reading import Reader
from holdfast.rfc.rules import answers as answering
from holdfast.rfc.rules import budget, document
from holdfast.rfc.rules.transitions import TRANSITIONS, advise, group_for, is_done
from holdfast.rfc.rules.vanished import vanished
from holdfast.rfc.rules.words import BudgetExceeded, heading_of, version_of
from holdfast.streams import open_writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypedDict

    from holdfast.kernel.commit import Outcome
    from holdfast.kernel.workspace import Workspace
    from holdfast.rfc.rules.transitions import Advice
    from holdfast.rfc.rules.words import RfcState, Section

    class Compressed(TypedDict):
        """That a compressor ran: from how many bullets to how many, and the record that keeps what
        it was given; "" while there is none."""

        before: int
        after: int
        record: str

    class Written(TypedDict):
        """What became of a checkpoint; `text` is the file as it is, or as it would be."""

        id: str
        group: str
        version: int
        lines: int
        dropped: list[str]
        vanished: list[str]
        compressed: Compressed | None
        warnings: list[str]
        text: str
        outcome: Outcome | None

    class Moved(TypedDict):
        """What became of a transition, and what it asks for."""

        id: str
        advice: Advice
        owed: str
        round: int
        repeated: bool
        written: Written | None
        warnings: list[str]
        outcome: Outcome | None


class Answers:
    """The answers for a group, as they came in, and how they may be treated: with `compress`, by the
    command in rfc.compressor."""

    __slots__ = ("accept_vanished", "compress", "lenient", "source", "text")

    def __init__(
        self,
        text: str,
        *,
        source: str,
        lenient: bool = False,
        accept_vanished: bool = False,
        compress: bool = True,
    ) -> None:
        self.text = text
        self.compress = compress
        self.source = source
        self.lenient = lenient
        self.accept_vanished = accept_vanished


def write(
    workspace: Workspace,
    id: str,
    group: str,
    answers: Answers,
    *,
    actor: str,
    now: int,
    dry_run: bool = False,
    accept_versions: bool = False,
) -> Written:
    """Check the answers, make them fit without losing any, and write both files."""
    if not accept_versions:
        with Reader(workspace) as reader:
            check_versions(reader, id)
    if not dry_run:
        adopt(workspace, id, actor=actor, now=now)
    with Reader(workspace) as reader:
        state = _known(reader, id)
        command = _answers_command(reader, state, group, answers)
    stream = rules.stream_of(id)
    if dry_run:
        after = _decided(state, command, now)
        return _written(after, command, None)
    outcome, warnings = _execute(workspace, stream, command, actor, now)
    command["warnings"] = [*warnings, *command["warnings"]]
    return _written(_now(workspace, id, state, outcome), command, outcome)


def transition(
    workspace: Workspace,
    id: str,
    name: str,
    *,
    to: str = "",
    restart: bool | None = None,
    pressure: int | None = None,
    answers: Answers | None = None,
    actor: str,
    now: int,
    dry_run: bool = False,
    accept_versions: bool = False,
) -> Moved:
    """Leave a phase: its bookkeeping, and what the protocol asks for at this point."""
    if name not in TRANSITIONS:
        raise Usage(f"{name!r} is no transition.", hint=f"Known are: {', '.join(TRANSITIONS)}.")
    if not accept_versions:
        with Reader(workspace) as reader:
            check_versions(reader, id)
    if not dry_run:
        adopt(workspace, id, actor=actor, now=now)
    threshold = int(config.load(workspace)["rfc.pressure"])
    command: dict[str, Any] = {"do": "move", "name": name, "to": to, "threshold": threshold}
    command |= {"restart": restart, "pressure": pressure, "answers": None}
    with Reader(workspace) as reader:
        state = _known(reader, id)
        repeated = is_done(state, name)
        advice = None if repeated else _advice(state, command)
        if answers is not None:
            exits = TRANSITIONS[name].exits
            if not exits:
                raise Usage(f"{name} is no trigger point: there is nothing to answer.")
            command["answers"] = _answers_command(reader, state, exits, answers)
    warnings: list[str] = []
    given = command["answers"]
    if dry_run:
        after, outcome = _decided(state, command, now), None
        taken = version_of(after["fields"]) > version_of(state["fields"])
    else:
        outcome, warnings = _execute(workspace, rules.stream_of(id), command, actor, now)
        after = _now(workspace, id, state, outcome)
        kinds = {record["kind"] for record in outcome["records"]}
        # Somebody else may have made it while we read.
        repeated = "moved" not in kinds and not outcome["queued"]
        taken = "written" in kinds or bool(outcome["queued"])
    move = after["move"]
    advice = _repeated(after, name) if repeated or advice is None else advice
    if advice["restart"]:
        with Reader(workspace) as reader:
            warnings += before_a_restart(reader, id, after["fields"])
    return {
        "id": id,
        "advice": advice,
        "owed": move["owed"] if move else "",
        "round": int(after["fields"].get("gate_b_round") or 0),
        "repeated": repeated,
        "written": _written(after, given, outcome) if given and taken else None,
        "warnings": warnings,
        "outcome": outcome,
    }


def _advice(state: RfcState, command: dict[str, Any]) -> Advice:
    return advise(
        state,
        command["name"],
        to=command["to"],
        restart=command["restart"],
        pressure=command["pressure"],
        threshold=command["threshold"],
    )


def _repeated(state: RfcState, name: str) -> Advice:
    """A transition that was made already asks for what it asked for then."""
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


def _known(reader: Reader, id: str) -> RfcState:
    state, _ = reader.state(id)
    if not state["fields"]:
        raise rules.unknown(id)
    return state


def _answers_command(
    reader: Reader, state: RfcState, group: str, answers: Answers
) -> dict[str, Any]:
    key = group_for(state, group)
    sections = answering.read(key, answers.text, source=answers.source)
    sections = budget.lossless(key, sections)
    if answers.lenient:
        sections = budget.with_labels(key, sections)
    artifacts, warnings = reader.artifacts(state["id"])
    command: dict[str, Any] = {"do": "write", "group": group, "lenient": answers.lenient}
    try:
        warnings += budget.check(key, sections, lenient=answers.lenient)
    except BudgetExceeded as refusal:
        command["given"] = sections
        sections, command["vanished"] = _compressed(
            reader.workspace, key, sections, answers, refusal
        )
        warnings += budget.check(key, sections, lenient=answers.lenient)
    warnings += [
        f"Written by hand, and replaced ({heading_of(key)}): {bullet}"
        for bullet in rules.replaced_by(state, key, sections)
    ]
    return {**command, "sections": sections, "artifacts": artifacts, "warnings": warnings}


def _compressed(
    workspace: Workspace,
    key: str,
    sections: Sequence[Section],
    answers: Answers,
    refusal: BudgetExceeded,
) -> tuple[list[Section], list[str]]:
    """Through the configured command; without one, the refusal stands."""
    settings = config.load(workspace)
    command = str(settings["rfc.compressor"])
    if not command or not answers.compress:
        raise refusal
    from holdfast.rfc.compressor import compress, question

    text = compress(
        command,
        question(key, sections),
        folder=workspace.root,
        seconds=float(settings["rfc.compressor_seconds"]),
    )
    made = budget.lossless(key, answering.read(key, text, source="rfc.compressor"))
    if answers.lenient:
        made = budget.with_labels(key, made)
    gone = vanished(sections, made)
    if gone and not answers.accept_vanished:
        raise HoldfastError(
            "\n  ".join(["The command in rfc.compressor lost what these bullets say:", *gone]),
            hint="Nothing was written. Run it again, rewrite them yourself, or accept the loss with "
            "--accept-vanished.",
            kind="vanished",
        )
    return made, gone


def _execute(
    workspace: Workspace, stream: str, command: dict[str, Any], actor: str, now: int
) -> tuple[Outcome, list[str]]:
    """The command, and warnings about hand-written files that nobody could read."""
    writer = open_writer(workspace)
    head = workspace.journal.head(stream)
    before = head["version"] if head else 0
    outcome = writer.execute(stream, command, actor=actor, now=now)
    if outcome["queued"]:
        return outcome, []
    if any(view["status"] == "removed" for view in outcome["views"]):
        # A checkpoint is always written, whoever removed the file; RFC-01.
        outcome["views"] = writer.repair(stream, now=now, raise_removed=True)["views"]
    warnings = [
        f"{record['body']['path']} could not be read ({record['body']['reason']}); "
        f"it was written anew, and what it was is in {record['body']['kept']}."
        for record in reversed(workspace.journal.latest(stream=stream, limit=20))
        if record["version"] > before and record["kind"] == "quarantined" and record["body"]
    ]
    return outcome, warnings


def _decided(state: RfcState, command: dict[str, Any], now: int) -> RfcState:
    """The state as it would be."""
    events: list[Any] = [
        {"id": "", "kind": kind, "body": body, "at": "", "actor": ""}
        for kind, body in rules.decide(state, command, now).records
    ]
    after: RfcState = fold(rules, state, events)
    return after


def _now(workspace: Workspace, id: str, before: RfcState, outcome: Outcome) -> RfcState:
    if outcome["queued"]:
        return before
    with Reader(workspace) as reader:
        return reader.stored(id)[0]


def _written(after: RfcState, command: dict[str, Any], outcome: Outcome | None) -> Written:
    records = outcome["records"] if outcome else []
    dropped = [
        heading_of(key)
        for record in records
        if record["kind"] == "written" and record["body"]
        for key in record["body"]["dropped"]
    ]
    text = document.write(after) if after["meta"]["last_phase"] else ""
    compressed: Compressed | None = None
    if "given" in command:
        kept = [record["id"] for record in records if record["kind"] == "written"]
        compressed = {
            "before": _count(command["given"]),
            "after": _count(command["sections"]),
            "record": kept[-1] if kept else "",
        }
    return {
        "id": after["id"],
        "group": after["meta"]["last_phase"],
        "version": version_of(after["fields"]),
        "lines": len(text.splitlines()),
        "dropped": dropped,
        "vanished": command.get("vanished", []),
        "compressed": compressed,
        "warnings": command["warnings"],
        "text": text,
        "outcome": outcome,
    }


def _count(sections: Sequence[Section]) -> int:
    return sum(len(section["bullets"]) for section in sections)
