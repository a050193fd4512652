"""What one session did, in the sentences of a short paragraph. Pure."""

from __future__ import annotations

import time
from collections.abc import Iterator

from holdfast.away.digest import AwaySession, FailedCommand
from holdfast.away.look_back import Away
from holdfast.clients.table import title_of
from holdfast.kernel import clock
from holdfast.kernel.durations import describe_age
from holdfast.kernel.money import dollars
from holdfast.kernel.text import code, literal, one_line, plural, quoted

LABELS = {
    "waits": "waits for you",
    "limit": "usage limit",
    "cut_off": "cut off",
    "failing": "failing",
    "unfinished": "unfinished",
    "at_work": "at work",
    "done": "done",
    "trivial": "nothing done",
}
LONGEST_TITLE, LONGEST_BRANCH, MOST_NAMES = 120, 40, 2


def label(one: AwaySession) -> str:
    """Return the word for what a session needs."""
    if one["state"] != "unfinished":
        return LABELS[one["state"]]
    if one["failed"] and not one["continued_by"]:
        return "not checked"
    if one["uncommitted"]:
        return "not committed"
    return "tasks open" if one["open_tasks"] and not one["continued_by"] else "not pushed"


def about(one: AwaySession, now: int) -> str:
    """Return which session it is, and when it was last active."""
    client = title_of(one["client"]) if one["client"] else "a terminal"
    return f"{one['project']} · {client} {one['session'][:8]} · {span(now - clock.parse(one['at']))} ago"


def title(one: AwaySession) -> str:
    """Return what was asked, as a quotation."""
    return quoted(one["request"], LONGEST_TITLE) if one["request"] else "(no request)"


def sentences(one: AwaySession, now: int) -> Iterator[str]:
    """Return what needs a person, what was done and checked, how it ended, and where it stands."""
    if one["waits"]:
        yield f"It asks since {moment(one['waits_since'], now)}: {_quote_at_end(one['waits'])}"
    if one["limit"]:
        yield f"It {one['limit'].rstrip('.')}."
    if one["cut_off"]:
        commands = ", ".join(map(code, one["cut_off"]))
        yield f"It ended in the middle of {commands}: the outcome is unknown."
    yield from map(_failure, one["failed"])
    did = list(_did(one))
    if did:
        yield f"It {' and '.join(did)}."
    passed = one["passed"]
    if passed:
        since = passed["edits_since"]
        after = f", {plural(since, 'edit')} before the end" if since else " after the last edit"
        what = code(one_line(passed["check"], LONGEST_TITLE))
        yield f"{what} passed{after if one['edits'] else ''}."
    if one["said"]:
        yield f"It ended with {_quote_at_end(one['said'])}"
    if one["open_tasks"]:
        more = plural(one["open_tasks"], "task is", "tasks are")
        yield f"{more} open, next {_quote_at_end(one['next_task'])}"
    if one["continued_by"]:
        yield f"Session {one['continued_by'][:8]} took its work over."
    stands = _stands(one)
    if stands:
        yield f"{stands}."
    yield _cost(one)
    if one["is_open"] and one["state"] != "at_work":
        yield "Its client is still open."


def _quote_at_end(text: str) -> str:
    """Return a quotation that ends a sentence: with a full stop where it has no end of its own."""
    said = quoted(text)
    return said if said[-2:-1] in ".!?…" else f"{said}."


def _did(one: AwaySession) -> Iterator[str]:
    names = one["edited"]
    if names:
        shown = ", ".join(map(literal, names[:MOST_NAMES]))
        more = f" and {plural(len(names) - MOST_NAMES, 'more file')}" if names[MOST_NAMES:] else ""
        count = f" ({one['edits']} edits)" if one["edits"] > len(names) else ""
        yield f"edited {shown}{more}{count}"
    if one["commits"]:
        before = len(one["commits"]) - 1
        last = quoted(one["commits"][-1], LONGEST_TITLE)
        yield f"committed {last} and {before} before it" if before else f"committed {last}"


def _failure(one: FailedCommand) -> str:
    what = code(one["command"])
    if one["is_settled"]:
        said = quoted(one["says"]) if one["says"] else ""
        return f"{what} fails: {said}." if said else f"{what} fails."
    since = f", {plural(one['edits_since'], 'edit')} ago" if one["edits_since"] else ""
    return f"{what} failed{since}, and did not run again."


def _stands(one: AwaySession) -> str:
    """Return where the work stands: pushed, committed, or neither. Nothing of a session that changed nothing."""
    tree = one["tree"]
    if tree is None or not (one["edits"] or one["commits"]):
        return ""
    branch, ahead = one_line(tree["branch"], LONGEST_BRANCH) or "no branch", tree["ahead"]
    parts = []
    if tree["has_remote"] and ahead is None:
        parts.append("never pushed")
    elif tree["has_remote"]:
        parts.append(f"{plural(ahead or 0, 'commit')} not pushed" if ahead else "pushed")
    if one["uncommitted"]:
        parts.append(f"{plural(one['uncommitted'], 'file')} of it not committed")
    others = len(tree["changed"]) - one["uncommitted"]
    if others:
        parts.append(f"{plural(others, 'other file')} changed")
    elif not one["uncommitted"]:
        parts.append("nothing uncommitted")
    return f"On {branch}: {', '.join(parts)}"


def _cost(one: AwaySession) -> str:
    """What is not known is never 0."""
    if one["cost"] is not None:
        return f"Cost {dollars(one['cost'])}."
    least = one["cost_at_least"]
    return f"Cost at least {dollars(least)}." if least else "Cost unknown."


def total(away: Away) -> str:
    """Return what all sessions cost together; of those whose cost is not known, how many there are."""
    known, unknown = away["cost"], away["unknown_costs"]
    if not known:
        return "cost unknown" if unknown else ""
    return f"at least {dollars(known)}, {unknown} unknown" if unknown else dollars(known)


def headline(away: Away, now: int) -> str:
    """Return in one sentence what happened since when."""
    count, needing = away["count"], away["needing"]
    since = clock.parse(away["since"])
    when = f"since {moment(away['since'], now)}, {span(now - since)} ago"
    is_usual = away["is_first"] and abs(now - clock.DAY - since) < clock.MINUTE
    when = "in the last 24 hours" if is_usual else when
    if not count and not away["waits"]:
        return f"Nothing happened {when}."
    said = f"{plural(count, 'session')} {when}"
    if needing:
        said += f", {needing} of which {'stands' if needing == 1 else 'stand'} still"
    costs = total(away) if count else ""
    return f"{said}; {costs}." if costs else f"{said}."


def span(milliseconds: int) -> str:
    """Return a span in its largest unit; less than a minute is a moment."""
    count, unit = describe_age(max(0, milliseconds) // 1000)
    return "a moment" if unit == "s" else f"{count} {unit}"


def moment(at: str, now: int) -> str:
    """Return `02:14` of this day, or `Wed 18:02`, or the day; of this machine's clock."""
    then, today = time.localtime(clock.parse(at) / 1000), time.localtime(now / 1000)
    if then[:3] == today[:3]:
        return time.strftime("%H:%M", then)
    is_near = now - clock.parse(at) < 6 * clock.DAY
    return time.strftime("%a %H:%M" if is_near else "%Y-%m-%d %H:%M", then)
