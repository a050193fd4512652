"""Whether the world is still as a session left it, before anything is said about the work."""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.kernel.text import literal, quoted
from holdfast.session.rules.model import empty_progress, same_machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, TypedDict

    from holdfast.session.rules.model import Claim, SessionState, World

    Word = Literal["CLEAN", "UNKNOWN", "STALE", "DRIFTED", "FOREIGN"]

    class Reason(TypedDict):
        """One thing that is not as it was; `verdict` is what it alone would make of it."""

        verdict: Word
        what: str


GRAVITY: dict[str, int] = {"CLEAN": 0, "UNKNOWN": 1, "STALE": 2, "DRIFTED": 3, "FOREIGN": 4}
NOTHING_TO_COMPARE = "nothing to compare: no checkpoint of this session"
HAS_ALL_EDITS = "the work tree has all edits of this session, which has no checkpoint"
NOT_LOOKED_AT = "nobody looked whether the work tree changed"
MOST_FILES = 12


def judge(
    state: SessionState,
    present: World,
    *,
    issue: str,
    claims: Sequence[Claim],
    changed: Sequence[str] | None,
    stale_after: int,
    now: int,
    is_clone: bool = False,
) -> tuple[Word, list[Reason]]:
    """All reasons; the most serious one sets the verdict. `changed` are the files whose content is
    not what it was, None where the work tree was not looked at. `is_clone`: the other repository of a
    session has the same history as this one."""
    last = state["last"]
    if last is None:
        # A progress file alone is taken as it stands (AMB-CCC-26); work that was seen is compared.
        is_file = not state.get("observed") and state["progress"] != empty_progress()
        verdict: Word = "CLEAN" if is_file else "UNKNOWN"
        return verdict, [{"verdict": verdict, "what": NOTHING_TO_COMPARE}]
    reasons = [
        *_foreign(last["world"], present, state["progress"]["issue"], issue, is_clone=is_clone),
        *_drifted(last["world"], present, changed),
        *_claims(last["claims"], claims),
    ]
    age = now - clock.parse(last["at"])
    if age > stale_after:
        reasons.append({"verdict": "STALE", "what": f"captured {age // clock.HOUR} hours ago"})
    reasons.sort(key=lambda reason: -GRAVITY[reason["verdict"]])
    return (reasons[0]["verdict"] if reasons else "CLEAN"), reasons


def lacking(files: Sequence[str], *, was_here: bool = True) -> Reason:
    """Edits of the session that are not in the work tree; `was_here` says whether they ever were."""
    how = "edits of the session were undone or lost"
    what = f"{how if was_here else 'this work tree lacks edits of the session'}: {_list(files)}"
    return {"verdict": "DRIFTED", "what": what}


def _list(files: Sequence[str]) -> str:
    more = len(files) - MOST_FILES
    return ", ".join(map(literal, files[:MOST_FILES])) + (f" and {more} more" if more > 0 else "")


def is_foreign(state: SessionState, present: World, issue: str) -> bool:
    """Of another place or issue: none of its commands is run here."""
    last = state["last"]
    return last is not None and bool(
        _foreign(last["world"], present, state["progress"]["issue"], issue)
    )


def _foreign(
    then: World, now: World, issue_then: str, issue_now: str, *, is_clone: bool = False
) -> list[Reason]:
    found = []
    if not same_machine(then, now.get("machine", "")):
        found.append("another machine")
    elif then["repository"] != now["repository"] and is_clone:
        found.append(f"another clone of this repository: {literal(then['worktree'])}")
    elif then["repository"] != now["repository"]:
        found.append(f"another repository: {literal(then['repository'])}")
    elif then["worktree"] != now["worktree"]:
        found.append(f"another worktree: {literal(then['worktree'])}")
    if issue_now and issue_now != issue_then:
        found.append(f"another issue: {literal(issue_then)}, not {literal(issue_now)}")
    return [{"verdict": "FOREIGN", "what": what} for what in found]


def _drifted(then: World, now: World, changed: Sequence[str] | None) -> list[Reason]:
    found = []
    if then["commit"] != now["commit"]:
        found.append(f"HEAD moved from {_short(then['commit'])} to {_short(now['commit'])}")
    if then["branch"] != now["branch"]:
        names = (literal(one["branch"]) if one["branch"] else "no branch" for one in (then, now))
        found.append("branch was {}, is {}".format(*names))
    plans = then.get("plan"), now.get("plan")
    if None not in plans and plans[0] != plans[1]:
        found.append("the plan changed: its tasks or its specification")
    if changed:
        found.append(f"changed since: {_list(changed)}")
    reasons: list[Reason] = [{"verdict": "DRIFTED", "what": what} for what in found]
    return (
        reasons
        if changed is not None
        else [*reasons, {"verdict": "UNKNOWN", "what": NOT_LOOKED_AT}]
    )


def _claims(then: Sequence[Claim], now: Sequence[Claim]) -> list[Reason]:
    before = {claim["claim"]: claim["ok"] for claim in then}
    return [
        {
            "verdict": "DRIFTED",
            "what": f"{quoted(claim['claim'])}: was {_word(before[claim['claim']])}, is {_word(claim['ok'])}",
        }
        for claim in now
        if before.get(claim["claim"]) not in (None, claim["ok"])
    ]


def _word(ok: bool) -> str:
    return "verified" if ok else "unverified"


def _short(commit: str | None) -> str:
    return commit[:12] if commit else "no commit"
