"""The steps for the guides of S2 that tell an agent when to write its checkpoint."""

from __future__ import annotations

from holdfast.fleet.rules.model import CADENCE, COMPLETE_PHASE, PHASES, STAGES, TASKS
from holdfast.kernel.clock import MINUTE
from holdfast.kernel.errors import Usage

# Seconds of one heartbeat: the checkpoint, the inbox, the STATUS file; FLEET-91.
HEARTBEAT_SECONDS = 2 + 3 + 1

_MINUTES = CADENCE // MINUTE
_FILE = "agent_checkpoints/{your_agent_id}.json"

_HEARTBEAT = f"""\
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


def heartbeat_step() -> str:
    """The step of every guide; FLEET-82..84."""
    return _HEARTBEAT


def transition_step(from_stage: str) -> str:
    """The last step of a stage, before the next one begins; FLEET-85."""
    to = next_stage(from_stage)
    return f"""\
### Step X: Complete {from_stage} (Transition to {to})

1. **Final checkpoint update:**
   - Update `stage`: "{to}"
   - Update `phase`: "{PHASES[to]}"
   - Update `completed_steps`: Add "{from_stage} complete"
   - Update `next_steps`: {to} tasks
   - Update `recovery_instructions`: "{recovery_at(to)}"

2. **Verify checkpoint saved:**
   ```bash
   jq '.stage' {_FILE}
   # Should show: "{to}"
   ```

3. **Proceed to {to}**
"""


def completion_step() -> str:
    """The last step of the last stage."""
    return f"""\
### Step X: Complete {STAGES[-1]}

1. **Final checkpoint update:**
   - Update `phase`: "{COMPLETE_PHASE}"
   - Update `status`: "COMPLETE"
   - Update `can_resume`: false
   - Update `completed_steps`: Add "{STAGES[-1]} complete"

2. **Update STATUS:** `READY_FOR_SYNC: true`

3. **Send Primary a message, and wait for S3**
"""


def next_stage(stage: str) -> str:
    """The next stage; refused for the last one, and for an unknown one."""
    if stage not in STAGES[:-1]:
        raise Usage(
            f"No stage of S2 follows {stage!r}.", hint=f"The stages are {', '.join(STAGES)}."
        )
    return STAGES[STAGES.index(stage) + 1]


def recovery_at(stage: str) -> str:
    """The recovery instructions at the beginning of a stage."""
    return f"Resume from beginning of {stage}"


def guide(stage: str) -> str:
    """The part of a stage's guide about checkpoints; FLEET-24."""
    if stage not in STAGES:
        raise Usage(f"{stage!r} is no stage of S2.", hint=f"The stages are {', '.join(STAGES)}.")
    last = completion_step() if stage == STAGES[-1] else transition_step(stage)
    tasks = "\n".join(f"{number}. {task}" for number, task in enumerate(TASKS[stage], 1))
    return f"""\
## {stage}: {PHASES[stage].split(" - ")[0]}

{tasks}

Also write a checkpoint when you are blocked, with the blocker in it, and before and after every
sync point.

{heartbeat_step()}
{last}"""


def overhead(minutes: int) -> tuple[int, int, float]:
    """The cost of heartbeats in so many minutes of work: how many, seconds, and per cent."""
    heartbeats = minutes // _MINUTES
    seconds = heartbeats * HEARTBEAT_SECONDS
    return heartbeats, seconds, round(100 * seconds / (minutes * 60), 2) if minutes else 0.0
