"""What a client's hooks see of an agent: a sign of life of its own, which never moves its checkpoint.

The agent's own word is its heartbeat; after 15 minutes without one it is reminded. AMB-FLEET-28
"""

from __future__ import annotations

from holdfast.fleet.current_life import began_by, of_session
from holdfast.kernel import clock
from holdfast.kernel.state import load
from holdfast.remote import server_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace


def saw(worktree: Workspace, session: str, now: int) -> str:
    """Write down that the agents of a session were seen at work; what to remind them of, if anything."""
    lives = of_session(worktree, session)
    if not lives or not worktree.exists():
        return ""
    from holdfast.fleet.rules import agent as rules
    from holdfast.fleet.rules.liveness import age_minutes, instant_of, is_due

    journal = worktree.journal
    now = server_time.known(worktree, now)
    reminders = []
    for stream, own in lives:
        state, head = load(journal, rules, stream)
        life, saved = state["life"], state["checkpoint"]
        if head is None:
            continue
        if life is None or saved is None or life["session"] != own["session"]:
            # Only whoever was this life: others may work in its place by now.
            if began_by(worktree, stream, session):
                reminders.append(
                    f"{state['agent']} was taken over: this life can write no more. Stop here, and tell "
                    "your person what you have not saved."
                )
            continue
        if not journal.read_only:
            journal.touch(stream, clock.precise(now))
        last = instant_of(saved.get("last_checkpoint"))
        if last is not None and saved.get("status") != "COMPLETE" and is_due(last, now):
            reminders.append(
                f"{state['agent']}: your last checkpoint is {age_minutes(last, now)} minutes old. "
                f"Update it: holdfast agent beat {state['agent']} --step '...' --recovery '...'"
            )
    return "\n".join(reminders)
