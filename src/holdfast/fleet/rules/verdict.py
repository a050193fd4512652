"""Judge whether an agent is alive: how long it has been silent, what the protocol calls that, and what other signals say.

The clock alone proves nothing: a build may take two hours, and a laptop sleeps over night. An agent is dead
only if two independent signals say so, and no signal says that it lives.
"""

from __future__ import annotations

from holdfast.fleet.rules.model import CADENCE, MINIMAL_WORK, STALE_AFTER, WARNING_AFTER
from holdfast.kernel.clock import MINUTE, instant_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypedDict

    from holdfast.processes.agent_process import ProcessState

    # By the protocol's clock alone.
    Silence = Literal["ACTIVE", "WARNING", "STALE", "COMPLETE"]
    Word = Literal[
        "active", "slow", "busy", "waiting", "blocked", "quiet", "dead", "done", "corrupted"
    ]

    class Signals(TypedDict):
        """The signals of an agent. `worktree` and `transcript` are the times of their last change,
        `activity` is when a hook saw the agent at work; None means unknown. `unstarted` is a life that
        no session has started yet, `unbeaten` one that a command started and whose agent was not heard yet."""

        heartbeat: str
        process: ProcessState
        worktree: int | None
        transcript: int | None
        activity: int | None
        busy_until: str
        doing: str
        waiting: bool
        unstarted: bool
        unbeaten: bool

    class Verdict(TypedDict):
        verdict: Word
        because: list[str]
        """The signals behind the verdict, as short phrases."""
        dead_signals: list[str]
        life_signals: list[str]


SIGNALS_NEEDED = 2
# Declared statuses: the agent waits for another one. PAUSED is AMB-FLEET-24.
_WAITING = ("WAITING", "PAUSED")


def age_minutes(last_checkpoint_ms: int, now_ms: int) -> int:
    """Whole minutes since a checkpoint; a time in the future is no age. FLEET-43"""
    return (now_ms - last_checkpoint_ms) // MINUTE if now_ms > last_checkpoint_ms else 0


def liveness(age: int, status: str, inclusive: bool = False) -> Silence:
    """Return the liveness by the age in minutes and the status: a complete agent is never stale. AMB-FLEET-04"""
    if status == "COMPLETE":
        return "COMPLETE"
    if inclusive:
        age += 1  # `30 or more` of whole minutes is `more than 30` of one minute later
    if age <= WARNING_AFTER:
        return "ACTIVE"
    return "STALE" if age > STALE_AFTER else "WARNING"


def line(agent: str, said: str, age: int) -> str:
    """The line of the protocol's scan about an agent; FLEET-47. A complete agent has its age too, and has
    not crashed."""
    if said == "COMPLETE":
        return f"✅ {agent}: COMPLETE ({age} min ago)"
    if said == "STALE":
        return f"❌ {agent}: STALE ({age} min) - Likely crashed"
    if said == "WARNING":
        return f"⚠️ {agent}: WARNING ({age} min) - May be slow"
    return f"✅ {agent}: ACTIVE ({age} min ago)"


def is_due(last_ms: int, now_ms: int) -> bool:
    """Whether a heartbeat is due; FLEET-20. It is also due when the last one lies far in the future, because
    the clock must have been set back."""
    return abs(now_ms - last_ms) >= CADENCE


def too_old_lines(age: int) -> list[str]:
    """The lines for an agent that resumes from a checkpoint that is too old; FLEET-89."""
    if age <= STALE_AFTER:
        return []
    return [
        f"ERROR: Checkpoint is {age} minutes old",
        "Agent likely crashed. Requires recovery procedure.",
    ]


def is_minimal_work(began_ms: int, last_ms: int) -> bool:
    """Whether so little was done that a restart loses little; FLEET-73."""
    return last_ms - began_ms < MINIMAL_WORK


def verdict(liveness: str, status: str, signals: Signals, now: int) -> Verdict:
    """The verdict on an agent. `liveness` is that of the protocol's clock, or CORRUPTED."""
    is_busy = _is_ahead(signals["busy_until"], now)
    dead, alive = _dead_signals(liveness, signals, now), _life_signals(liveness, signals, now)
    word = _word(liveness, status, signals, is_busy=is_busy, dead=dead, alive=alive)
    return {
        "verdict": word,
        "because": _because(word, signals, dead, alive),
        "dead_signals": dead,
        "life_signals": alive,
    }


def may_replace(verdict: Verdict) -> bool:
    """Whether an agent may be replaced without a person's confirmation."""
    return len(verdict["dead_signals"]) >= SIGNALS_NEEDED and not verdict["life_signals"]


def _word(
    liveness: str,
    status: str,
    signals: Signals,
    *,
    is_busy: bool,
    dead: list[str],
    alive: list[str],
) -> Word:
    if liveness == "CORRUPTED":
        return "corrupted"
    if status == "COMPLETE":
        return "done"
    if len(dead) >= SIGNALS_NEEDED and not alive:
        return "dead"
    if _is_only_started(liveness, signals):
        return "waiting"
    if signals["process"] == "gone":
        return "quiet"
    if status == "BLOCKED":
        return "blocked"
    if signals["waiting"] or status in _WAITING or (signals["unstarted"] and liveness != "STALE"):
        return "waiting"
    if is_busy:
        return "busy"
    if liveness == "ACTIVE":
        return "active"
    return "slow" if alive or liveness == "WARNING" else "quiet"


def _is_only_started(liveness: str, signals: Signals) -> bool:
    """A person's command, or a script, started it and has ended: the agent's own process is not known
    before its first beat. Until it is stale, that is no sign of death."""
    return signals["unbeaten"] and signals["process"] == "gone" and liveness != "STALE"


def _dead_signals(liveness: str, signals: Signals, now: int) -> list[str]:
    """Each has another source: the agent's heartbeat, the operating system, the disk."""
    found = []
    if liveness == "STALE":
        found.append(_heartbeat(signals))
    if signals["process"] == "gone":
        found.append("process gone")
    age = _change_age(signals, now)
    if age is not None and age > STALE_AFTER:
        found.append(f"no change for {age} min")
    return found


def _life_signals(liveness: str, signals: Signals, now: int) -> list[str]:
    found = []
    if liveness == "ACTIVE":
        found.append(_heartbeat(signals))
    if signals["process"] == "alive":
        found.append("process alive")
    age = _change_age(signals, now)
    if age is not None and age <= WARNING_AFTER:
        found.append(f"changed {max(0, age)} min ago")
    if _is_ahead(signals["busy_until"], now):
        found.append(_busy(signals))
    return found


def _because(word: Word, signals: Signals, dead: list[str], alive: list[str]) -> list[str]:
    """The reasons, with those for the verdict first."""
    if word == "dead":
        return dead
    if signals["unstarted"]:
        return ["no session has started it yet"]
    if word == "waiting" and signals["unbeaten"] and signals["process"] == "gone":
        return ["started, no beat yet"]
    declared = {"done": "complete", "blocked": "says so", "waiting": "says so"}.get(word)
    first = [declared] if declared else []
    heartbeat = _heartbeat(signals)
    if word in ("slow", "quiet") and heartbeat not in dead + alive:
        first.append(heartbeat)
    if word == "quiet":
        return [*first, *dead, *alive]
    return [*first, *alive, *dead]


def _heartbeat(signals: Signals) -> str:
    return f"heartbeat {signals['heartbeat']}" if signals["heartbeat"] else "no heartbeat"


def _busy(signals: Signals) -> str:
    until = f"busy until {signals['busy_until'][11:16]} UTC"
    return f"{until}: {signals['doing']}" if signals["doing"] else until


def _change_age(signals: Signals, now: int) -> int | None:
    """Minutes since the newest change that is known; negative when that lies in the future."""
    times = (signals["worktree"], signals["transcript"], signals["activity"])
    # A time so far in the future is wrong.
    latest = now + WARNING_AFTER * MINUTE
    known = [time for time in times if time is not None and time <= latest]
    return (now - max(known)) // MINUTE if known else None


def _is_ahead(time: str, now: int) -> bool:
    instant = instant_of(time)
    return instant is not None and instant > now
