"""Bring the tally up to what a client has written by now."""

from __future__ import annotations

from holdfast.clients.claude import usage as claude
from holdfast.clients.codex import usage as codex
from holdfast.clients.gemini import usage as gemini
from holdfast.clients.lines import NewLines, Unread
from holdfast.clients.opencode import usage as opencode
from holdfast.clients.usage import prices
from holdfast.clients.usage.model import Found
from holdfast.kernel import canonical_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from holdfast.clients.usage.model import Source
    from holdfast.clients.usage.tally import Tally

CLIENTS: Any = {module.CLIENT: module for module in (claude, codex, gemini, opencode)}
ERROR_LENGTH = 500


def key_of(source: Source) -> str:
    return f"{source['client']}:{source['session']}"


def refresh(
    tally: Tally, sources: Sequence[Source], now: int, clean: Callable[[str], str]
) -> dict[str, str]:
    """Read what is new in each source; the reason for each path that could not be read.

    The session's own file comes first: its total says from when on the subagents' messages count.
    """
    problems: dict[str, str] = {}
    news = [source for source in sources if _has_news(tally, source, problems)]
    if not news and tally.has_prices_of(prices.date()):
        return problems
    if not tally.begin():
        return {**problems, **{source["path"]: "others are writing" for source in news}}
    done = False
    try:
        tally.price_anew(prices.date(), _price)
        for source in news:
            try:
                _catch_up(tally, source, now, clean)
            except Unread as error:
                problems[source["path"]] = str(error)
        done = True
    finally:
        tally.end(keep=done)
    return problems


def _has_news(tally: Tally, source: Source, problems: dict[str, str]) -> bool:
    """Whether a source was written to since it was read; a look that reads nothing of it."""
    mark, _ = tally.source(source["path"], key_of(source))
    try:
        if source["client"] == opencode.CLIENT:
            return bool(mark != {"updated": opencode.changed(source)})
        return NewLines(source["path"], mark).has_news()
    except Unread as error:
        problems[source["path"]] = str(error)
        return False


def _catch_up(tally: Tally, source: Source, now: int, clean: Callable[[str], str]) -> None:
    key, found = key_of(source), Found()
    # Once more, now that nobody else can write: another process may have read the same lines.
    mark, state = tally.source(source["path"], key)
    if mark is None and not tally.session(key):
        tally.forget(now)
    if source["client"] == opencode.CLIENT:
        mark = {"updated": opencode.changed(source)}
        opencode.read(source, state, found)
    else:
        mark = _read_lines(source, mark, state, found)
    take(tally, source, found, now, clean)
    tally.keep_source(source["path"], key, mark, state)


def take(tally: Tally, source: Source, found: Found, now: int, clean: Callable[[str], str]) -> None:
    """Add what was found to a session's numbers."""
    key = key_of(source)
    data = tally.session(key)
    reported = False
    for report in found.reports:
        last = data.get("report")
        if last is not None and report["at"] < last["at"]:
            continue
        if last is not None and report["cost"] < last["cost"]:
            # The client began to count anew; what it said before is spent all the same.
            data["before"] = data.get("before", 0.0) + last["cost"]
        data["report"] = report
        reported = True
    since = data["report"]["at"] if "report" in data else ""
    for message in found.messages.values():
        cost = message["cost"] if message["cost"] is not None else _price(message)
        tally.count(key, source["agent"], message, cost, since)
    if reported:
        tally.recount(key, since)
    context = data.get("context")
    if found.context and (context is None or found.context["at"] >= context["at"]):
        if not found.context["window"] and context and context["model"] == found.context["model"]:
            found.context["window"] = context["window"]
        data["context"] = found.context
    data["known"] = data.get("known", 0) + found.known
    if not source["agent"] and found.started_at and not data.get("started_at"):
        data["started_at"] = found.started_at
    for id, error in found.errors.items():
        tally.note_error(key, id, clean(error)[:ERROR_LENGTH])
    tally.keep_session(key, data, now)


def _price(message: Any) -> float | None:
    if not message["counted"]:
        return None
    return prices.cost_of(message["model"], message, provider=message["provider"], at=message["at"])


def _read_lines(source: Source, mark: Any, state: dict[str, Any], found: Found) -> Any:
    """Everything that the new lines say; the mark for the next time."""
    client = CLIENTS[source["client"]]
    lines = NewLines(source["path"], mark)
    for line in lines:
        if lines.restarted and not found.lines:
            state.clear()
        if not line.strip():
            continue
        found.lines += 1
        if not client.is_telling(line):
            client.glance(line, state, found)
            continue
        try:
            record = canonical_json.loads(line.decode("utf-8", "replace"))
        except ValueError:
            continue
        if isinstance(record, dict):
            client.parse(record, source, state, found)
    if lines.restarted and not found.lines:
        state.clear()
    return lines.mark
