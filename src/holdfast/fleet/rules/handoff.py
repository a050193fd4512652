"""Texts that people give to agents: to paste into a new session, and the steps for the guides of S2 that
tell an agent when to write its checkpoint; and the lines of an agent that resumes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypedDict

from holdfast.fleet.rules.model import (
    CADENCE,
    COMPLETE_PHASE,
    PHASES,
    PRIMARY,
    STAGES,
    TASKS,
    checkpoint_path,
    message_path,
)
from holdfast.kernel import clock
from holdfast.kernel.clock import MINUTE
from holdfast.kernel.errors import Usage
from holdfast.kernel.text import quote


class Package(TypedDict):
    """The fields of a pasted text; missing ones are empty."""

    agent: str
    feature: str
    epic: str


RULE = "═" * 59
CRASHED_NOTE = "Resuming work from crashed agent"  # FLEET-67
_TAKING_OVER = ("I'm taking over ", " from crashed ")
_LABELS = {"my agent id": "agent", "my assignment": "feature", "epic path": "epic"}
# Seconds of one heartbeat: the checkpoint, the inbox, the STATUS file; FLEET-91.
HEARTBEAT_SECONDS = 2 + 3 + 1
_MINUTES = CADENCE // MINUTE
_FILE = "agent_checkpoints/{your_agent_id}.json"
# The step of every guide; FLEET-82..84.
HEARTBEAT_STEP = f"""\
### Step X: Update Checkpoint (Every {_MINUTES} Minutes)

**Set a {_MINUTES}-minute timer and update checkpoint:**

1. **Update checkpoint file:** `{_FILE}`

2. **Update these fields:**
   - `last_checkpoint`: Current timestamp
   - `next_checkpoint_expected`: +{_MINUTES} minutes
   - `stage`: Current stage (S2.P1, S2.P2, S2.P3)
   - `current_step`: What you're working on right now
   - `completed_steps`: Add any newly completed steps
   - `files_modified`: Add any files you've edited
   - `recovery_instructions`: Update instructions for resuming

3. **Verify checkpoint valid:**
   ```bash
   jq '.' {_FILE}
   ```

4. **Backup checkpoint** (optional but recommended)

5. **Reset {_MINUTES}-minute timer** for next checkpoint
"""


FIRST_STAGE = "S2.P1"


def package(
    *, epic_name: str, epic_path: str, feature: str, agent: str, stage: str = "", phase: str = ""
) -> str:
    """The package for an agent that begins; it names no checkpoint to go on from. FLEET-75. One that was at a later
    `stage` goes on there."""
    joining = [f"I'm joining as a secondary agent for epic {epic_name}."]
    if stage in ("", FIRST_STAGE):
        name = f"{FIRST_STAGE} (Feature Deep Dive - Research Phase)"
        return _package(joining, epic_path, feature, agent, name, f"Begin {FIRST_STAGE} now.")
    name = f"{stage} ({phase_name(phase)} Phase)" if phase_name(phase) else stage
    return _package(joining, epic_path, feature, agent, name, f"Resume {stage} now.")


def takeover_package(
    *,
    epic_path: str,
    feature: str,
    agent: str,
    crashed: str,
    checkpoint_file: str,
    stage: str,
    phase: str,
) -> str:
    """The package for an agent that takes over from a crashed one. FLEET-67"""
    text = takeover_text(feature, crashed, checkpoint_file, stage, phase)
    begin = [*text.split("\n"), "", CRASHED_NOTE]
    name = f"{stage} ({phase_name(phase)} Phase)"
    return _package(begin, epic_path, feature, agent, name, f"Resume {stage} now.")


def _package(
    begin: list[str], epic_path: str, feature: str, agent: str, stage: str, end: str
) -> str:
    lines = [
        RULE,
        *begin,
        "",
        "**Configuration:**",
        f"Epic Path: {epic_path}",
        f"My Assignment: {feature}",
        f"Primary Agent ID: {PRIMARY}",
        f"My Agent ID: {agent}",
        f"Starting Stage: {stage}",
        "",
        "**Coordination:**",
        f"- Inbox: {message_path(PRIMARY, agent)} (read it with `holdfast agent inbox {quote(agent)}`)",
        f"- Outbox: {message_path(agent, PRIMARY)}"
        f" (write to it with `holdfast agent send {PRIMARY} --from {quote(agent)}`)",
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
    found: Package = {"agent": "", "feature": "", "epic": ""}
    for line in text.splitlines():
        plain = line.strip().strip(">*-•` \t").replace("**", "").replace("’", "'")
        label, colon, value = plain.partition(":")
        name = _LABELS.get(label.strip().lower())
        if colon and name and not found[name]:  # type: ignore[literal-required]
            found[name] = value.strip().strip("`").strip()  # type: ignore[literal-required]
        feature, crashed, _ = plain.partition(_TAKING_OVER[1])
        if crashed and feature.startswith(_TAKING_OVER[0]):
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


def resume_message(checkpoint: Mapping[str, Any], file_notes: Mapping[str, str], age: int) -> str:
    """The first message of a resumed agent, whose last checkpoint is `age` minutes old; FLEET-65."""
    try:
        at = clock.stamp(clock.parse(_text(checkpoint, "last_checkpoint")))[11:16]
        ago = f"{age} minutes ago"
    except ValueError:  # others write this file too, and some write `PAUSED`
        at, ago = "unknown", "unknown time ago"
    files = _texts(checkpoint, "files_modified")
    state = [
        f"- {_short_name(file, files)}: {file_notes.get(file) or 'modified'}" for file in files
    ]
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


def _short_name(file: str, files: list[str]) -> str:
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


# The last step of the last stage.
COMPLETION_STEP = f"""\
### Step X: Complete {STAGES[-1]}

1. **Final checkpoint update:**
   - Update `phase`: "{COMPLETE_PHASE}"
   - Update `status`: "COMPLETE"
   - Update `can_resume`: false
   - Update `completed_steps`: Add "{STAGES[-1]} complete"

2. **Update STATUS:** `READY_FOR_SYNC: true`

3. **Send Primary a message, and wait for S3**
"""


def transition_step(from_stage: str) -> str:
    """The last step of a stage, before the next one begins; FLEET-85."""
    to = STAGES[STAGES.index(from_stage) + 1]
    return f"""\
### Step X: Complete {from_stage} (Transition to {to})

1. **Final checkpoint update:**
   - Update `stage`: "{to}"
   - Update `phase`: "{PHASES[to]}"
   - Update `completed_steps`: Add "{from_stage} complete"
   - Update `next_steps`: {to} tasks
   - Update `recovery_instructions`: "Resume from beginning of {to}"

2. **Verify checkpoint saved:**
   ```bash
   jq '.stage' {_FILE}
   # Should show: "{to}"
   ```

3. **Proceed to {to}**
"""


def guide(stage: str) -> str:
    """The part of a stage's guide about checkpoints; FLEET-24."""
    if stage not in STAGES:
        raise Usage(f"{stage!r} is no stage of S2.", hint=f"The stages are {', '.join(STAGES)}.")
    last = COMPLETION_STEP if stage == STAGES[-1] else transition_step(stage)
    tasks = "\n".join(f"{number}. {task}" for number, task in enumerate(TASKS[stage], 1))
    return f"""\
## {stage}: {PHASES[stage].split(" - ")[0]}

{tasks}

Also write a checkpoint when you are blocked, with the blocker in it, and before and after every
sync point.

{HEARTBEAT_STEP}
{last}"""


def overhead(minutes: int) -> tuple[int, int, float]:
    """The cost of heartbeats in so many minutes of work: how many, seconds, and per cent."""
    heartbeats = minutes // _MINUTES
    seconds = heartbeats * HEARTBEAT_SECONDS
    return heartbeats, seconds, round(100 * seconds / (minutes * 60), 2) if minutes else 0.0
