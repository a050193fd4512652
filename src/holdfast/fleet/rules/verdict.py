"""Judge from several signals whether an agent is alive.

The clock alone proves nothing: a build may take two hours, and a laptop sleeps over night. An agent is dead
only if two independent signals say so, and no signal says that it lives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.fleet.rules.liveness import instant_of
from holdfast.fleet.rules.model import STALE_AFTER, WARNING_AFTER
from holdfast.kernel.clock import MINUTE

if TYPE_CHECKING:
    from typing import Literal, TypedDict

    from holdfast.processes.agent_process import ProcessState

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
