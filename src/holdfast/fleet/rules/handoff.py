"""Texts for people to paste into a new session, and the lines of an agent that resumes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.fleet.rules.model import CADENCE, PRIMARY
from holdfast.fleet.rules.names import checkpoint_path, message_path
from holdfast.kernel import clock

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any, TypedDict

    class Package(TypedDict):
        """The fields of a pasted text; missing ones are empty."""

        agent: str
        feature: str
        epic: str
        primary: str
        takes_over: str
        checkpoint_file: str


RULE = "═" * 59
CRASHED_NOTE = "Resuming work from crashed agent"  # FLEET-67
_TAKING_OVER = ("I'm taking over ", " from crashed ")
_LABELS = {
    "my agent id": "agent",
    "my assignment": "feature",
    "epic path": "epic",
    "primary agent id": "primary",
    "checkpoint file": "checkpoint_file",
}


def package(
    *, epic_name: str, epic_path: str, feature: str, agent: str, primary: str = PRIMARY
) -> str:
    """The package for an agent that begins; it names no checkpoint to go on from. FLEET-75"""
    joining = [f"I'm joining as a secondary agent for epic {epic_name}."]
    stage = "S2.P1 (Feature Deep Dive - Research Phase)"
    return _package(joining, epic_path, feature, agent, primary, stage, "Begin S2.P1 now.")


def takeover_package(
    *,
    epic_path: str,
    feature: str,
    agent: str,
    crashed: str,
    checkpoint_file: str,
    stage: str,
    phase: str,
    primary: str = PRIMARY,
) -> str:
    """The package for an agent that takes over from a crashed one. FLEET-67"""
    text = takeover_text(feature, crashed, checkpoint_file, stage, phase)
    begin = [*text.split("\n"), "", CRASHED_NOTE]
    name = f"{stage} ({phase_name(phase)} Phase)"
    return _package(begin, epic_path, feature, agent, primary, name, f"Resume {stage} now.")


def _package(
    begin: list[str],
    epic_path: str,
    feature: str,
    agent: str,
    primary: str,
    stage: str,
    end: str,
) -> str:
    lines = [
        RULE,
        *begin,
        "",
        "**Configuration:**",
        f"Epic Path: {epic_path}",
        f"My Assignment: {feature}",
        f"Primary Agent ID: {primary}",
        f"My Agent ID: {agent}",
        f"Starting Stage: {stage}",
        "",
        "**Coordination:**",
        f"- Inbox: {message_path(PRIMARY, agent)} (read it with `holdfast agent inbox {agent}`)",
        f"- Outbox: {message_path(agent, PRIMARY)}"
        f" (write to it with `holdfast agent send {PRIMARY} --from {agent}`)",
        f"- Checkpoint: {checkpoint_path(agent)} (every {CADENCE // clock.MINUTE} minutes)",
        f"- STATUS: {feature}/STATUS (at every phase)",
        "",
        "**Sync Points:**",
        "- S2.P3 done: say so, and wait until Primary has run S3",
        "- S3 done: implementation follows, one feature after the other",
        "",
        end,
        RULE,
    ]
    return "\n".join(lines) + "\n"


def takeover_text(feature: str, agent: str, checkpoint_file: str, stage: str, phase: str) -> str:
    """The text for the new session; `agent` is the one that crashed. FLEET-68"""
    taking, crashed = _TAKING_OVER
    return (
        f"{taking}{feature}{crashed}{agent}.\n\n"
        f"Checkpoint File: {checkpoint_file}\n"
        f"Resume from: {stage} {phase_name(phase)} Phase"
    )


def phase_name(phase: str) -> str:
    """`Specification` of `Specification - In Progress`, `Research` of `Research Phase - Starting`."""
    return phase.partition(" - ")[0].strip().removesuffix(" Phase")


def parse(text: str) -> Package:
    """The fields of a pasted package, also after a chat window changed its marks and quotes."""
    found: Package = {
        "agent": "",
        "feature": "",
        "epic": "",
        "primary": "",
        "takes_over": "",
        "checkpoint_file": "",
    }
    for line in text.splitlines():
        plain = line.strip().strip(">*-•` \t").replace("**", "").replace("’", "'")
        label, colon, value = plain.partition(":")
        name = _LABELS.get(label.strip().lower())
        if colon and name and not found[name]:  # type: ignore[literal-required]
            found[name] = value.strip().strip("`").strip()  # type: ignore[literal-required]
        feature, crashed, agent = plain.partition(_TAKING_OVER[1])
        if crashed and feature.startswith(_TAKING_OVER[0]):
            found["takes_over"] = agent.strip().rstrip(".")
            found["feature"] = found["feature"] or feature.removeprefix(_TAKING_OVER[0]).strip()
    return found


def resume_lines(checkpoint: Mapping[str, Any], missing: Collection[str] = ()) -> list[str]:
    """The lines about a checkpoint that was found; FLEET-60..62."""
    files = _texts(checkpoint, "files_modified")
    return [
        "Found existing checkpoint, resuming...",
        f"Resuming from: {_text(checkpoint, 'stage')}",
        f"Instructions: {_text(checkpoint, 'recovery_instructions')}",
        f"Modified files: {files[0] if files else ''}".rstrip(),
        *files[1:],
        *(f"Reading {file}..." + (" not here" if file in missing else "") for file in files),
    ]


def resume_message(
    checkpoint: Mapping[str, Any],
    file_notes: Mapping[str, str],
    now: int,
    age_minutes: int | None = None,
) -> str:
    """The first message of a resumed agent; FLEET-65. The default age is that of the last checkpoint."""
    at, ago = "unknown", "unknown time ago"
    try:
        instant = clock.parse(_text(checkpoint, "last_checkpoint"))
        at = clock.stamp(instant)[11:16]
        age = max(0, (now - instant) // clock.MINUTE) if age_minutes is None else age_minutes
        ago = f"{age} minutes ago"
    except ValueError:
        pass  # others write this file too, and some write `PAUSED`
    files = _texts(checkpoint, "files_modified")
    state = [f"- {_shown(file, files)}: {file_notes.get(file) or 'modified'}" for file in files]
    steps = _texts(checkpoint, "next_steps")
    numbered = [f"{number}. {step}" for number, step in enumerate(steps, 1)]
    phase = phase_name(_text(checkpoint, "phase"))
    lines = [
        "✅ Checkpoint found! Resuming work...",
        "",
        "**Previous Session:**",
        f"- Stage: {_text(checkpoint, 'stage')}" + (f" ({phase})" if phase else ""),
        f"- Last Update: {at} ({ago})",
        f"- Status: {_text(checkpoint, 'status')}",
        "",
        "**Current State:**",
        *(state or ["- no file was modified"]),
        "",
        f"**Resuming from:** {_text(checkpoint, 'current_step')}",
        "",
        "**Next Steps:**",
        *(numbered or ["(none)"]),
        "",
        "I'll continue where I left off...",
    ]
    return "\n".join(lines) + "\n"


def _shown(file: str, files: list[str]) -> str:
    """The file's name alone, unless two files have the same name."""
    name = file.rpartition("/")[2]
    return name if sum(each.rpartition("/")[2] == name for each in files) == 1 else file


def _text(checkpoint: Mapping[str, Any], name: str) -> str:
    value = checkpoint.get(name)
    return _one_line(value) if isinstance(value, (str, int, float)) else ""


def _texts(checkpoint: Mapping[str, Any], name: str) -> list[str]:
    values = checkpoint.get(name)
    if not isinstance(values, (list, tuple)):
        return []
    return [_one_line(value) for value in values if str(value).strip()]


def _one_line(value: object) -> str:
    return " ".join(str(value).splitlines())
