"""Bring the tally up to what a client has written by now: the figures and the observation, in one pass.

What is observed is folded by a function that the caller gives: this layer does not know sessions.
"""

from __future__ import annotations

from holdfast.clients import conversation
from holdfast.clients.lines import NewLines, Unread, size_of
from holdfast.clients.table import capability, part
from holdfast.clients.usage import prices
from holdfast.clients.usage.model import Found
from holdfast.kernel.errors import StoreAway

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from holdfast.clients.conversation import SessionEvent, Transcript
    from holdfast.clients.usage.model import Source, UsageReader
    from holdfast.clients.usage.tally import Tally

    # From what was observed before (None: nothing) and new events to what is observed now.
    Fold = Callable[[Any, list[SessionEvent]], Any]

ERROR_LENGTH = 500
# Under this name the tally keeps what the transcript's reader remembers.
READER = "reader"


class Observer:
    """Folds the events of one session's own transcript, each text redacted first."""

    def __init__(self, fold: Fold, clean: Callable[[str], str], seen: Any) -> None:
        self.events: list[SessionEvent] = []
        self.seen = seen
        self._fold = fold
        self._clean = clean

    def restart(self) -> None:
        self.seen = None
        self.events.clear()

    def take(self, *, at_least: int = 1) -> None:
        """Fold what has come in, once it is so much."""
        if len(self.events) < at_least:
            return
        conversation.redact(self.events, self._clean)
        self.seen = self._fold(self.seen, self.events)
        self.events.clear()


def key_of(source: Source) -> str:
    return f"{source['client']}:{source['session']}"


def refresh(
    tally: Tally,
    sources: Sequence[Source],
    now: int,
    clean: Callable[[str], str],
    fold: Fold | None = None,
) -> dict[str, str]:
    """Read what is new in each source; the reason for each path that could not be read.

    The session's own file comes first: its total says from when on the subagents' messages count.
    """
    problems: dict[str, str] = {}
    news = [
        source
        for source in sources
        if has_news(source, tally.source(source["path"], key_of(source))[0], problems)
    ]
    if not news and tally.has_prices_of(prices.date()):
        return problems

    def catch_up() -> None:
        tally.price_anew(prices.date(), _price)
        for source in news:
            try:
                _catch_up(tally, source, now, clean, fold)
            except Unread as error:
                problems[source["path"]] = str(error)

    try:
        tally.write(catch_up)
    except StoreAway:
        problems.update({source["path"]: "others are writing" for source in news})
    return problems


def has_news(source: Source, mark: Any, problems: dict[str, str]) -> bool:
    """Whether a source was written to since it was read up to a mark; a look that reads nothing of it."""
    try:
        if (store := capability(source["client"], "store")) is not None:
            return bool(mark != {"updated": store.changed(source)})
        return NewLines(source["path"], mark).has_news()
    except Unread as error:
        problems[source["path"]] = str(error)
        return False


def _catch_up(
    tally: Tally, source: Source, now: int, clean: Callable[[str], str], fold: Fold | None
) -> None:
    key, found = key_of(source), Found()
    # Once more, now that no other process can write: one may have read the same lines.
    mark, state = tally.source(source["path"], key)
    if mark is None and not tally.session(key):
        tally.forget(now)
    observer = None
    if fold is not None and not source["agent"]:
        observer = Observer(fold, clean, tally.observed(key))
    if (store := capability(source["client"], "store")) is not None:
        mark = {"updated": store.changed(source)}
        store.read(source, state, found)
        if observer is not None:
            try:
                _read_store(source, state, observer)
            except Unread:
                pass  # the figures count all the same
    else:
        mark = _read_lines(source, mark, state, found, observer)
    if observer is not None:
        observer.take()
        found.seen = observer.seen
        _redact_pending(state.get(READER), clean)
    take(tally, source, found, now, clean)
    tally.keep_source(source["path"], key, mark, state)


def take(tally: Tally, source: Source, found: Found, now: int, clean: Callable[[str], str]) -> None:
    """Add what was found to a session's numbers."""
    key = key_of(source)
    data = tally.session(key)
    for report in found.reports:
        last = data.get("report")
        if last is not None and report["at"] < last["at"]:
            continue
        if last is not None and report["cost"] < last["cost"]:
            # The client began to count anew; what it said before is spent all the same.
            data["before"] = data.get("before", 0.0) + last["cost"]
        data["report"] = report
    for message in found.messages.values():
        cost = message["cost"] if message["cost"] is not None else _price(message)
        tally.count(key, source["agent"], message, cost)
    context = data.get("context")
    if found.context and (context is None or found.context["at"] >= context["at"]):
        if not found.context["window"] and context and context["model"] == found.context["model"]:
            found.context["window"] = context["window"]
        data["context"] = found.context
    reading = data.get("quotas")
    if found.quotas and (reading is None or found.quotas["at"] >= reading["at"]):
        data["quotas"] = found.quotas
    data["known"] = data.get("known", 0) + found.known
    if not source["agent"] and found.started_at and not data.get("started_at"):
        data["started_at"] = found.started_at
    for id, error in found.errors.items():
        tally.note_error(key, id, clean(error)[:ERROR_LENGTH])
    if found.seen is not None:
        tally.keep_observed(key, found.seen)
    tally.keep_session(key, data, now)


def _price(message: Any) -> float | None:
    if not message["counted"]:
        return None
    return prices.cost_of(message["model"], message, provider=message["provider"], at=message["at"])


def _redact_pending(reader: Any, clean: Callable[[str], str]) -> None:
    """Redact what a reader remembers of calls that have no result yet."""
    for words in _pending_of(reader).values():
        words[:] = [clean(word) for word in words]


def forget_observation(tally: Tally, key: str) -> None:
    """Drop what was observed of a session. Its files are not read again, only what is new in them."""
    tally.forget_observed(key)
    for path in tally.sources(key):
        mark, state = tally.source(path, key)
        _pending_of(state.get(READER)).clear()
        tally.keep_source(path, key, mark, state)


def _pending_of(reader: Any) -> dict[str, list[str]]:
    if reader is None:
        return {}
    # The reader of a database keeps its own mark beside the state.
    pending: dict[str, list[str]] = reader.get("state", reader)["pending"]
    return pending


def _read_store(source: Source, state: dict[str, Any], observer: Observer) -> None:
    """The events of a session that its client keeps in a database."""
    reader = state.get(READER) or {"mark": None, "state": conversation.new_state()}
    reader["mark"] = part(source["client"], "transcript").read(
        source["path"], source["session"], reader["mark"], reader["state"], observer.events
    )
    state[READER] = reader


def _read_lines(
    source: Source, mark: Any, state: dict[str, Any], found: Found, observer: Observer | None
) -> Any:
    """Everything that the new lines say; the mark for the next time."""
    client: UsageReader = part(source["client"], "sessions")
    transcript: Transcript = part(source["client"], "transcript")
    lines = NewLines(source["path"], mark)
    new = size_of(source["path"]) - (mark["offset"] if mark else 0)
    to_skim = new - transcript.READ_WHOLE
    for line in lines:
        if lines.restarted and not found.lines:
            state.clear()
            if observer is not None:
                observer.restart()
        if not line.strip():
            continue
        found.lines += 1
        to_skim -= len(line) + 1
        telling = any(word in line for word in client.TELLING)
        records = None
        if observer is not None:
            reader, events = state.setdefault(READER, conversation.new_state()), observer.events
            if to_skim > 0:
                transcript.skim(line, reader, events)
            else:
                records = conversation.read_line(transcript, line, reader, events, decoded=telling)
            observer.take(at_least=conversation.AT_ONCE)
        if telling:
            for record in conversation.decode(line) if records is None else records:
                client.parse(record, source, state, found)
        else:
            client.glance(line, state, found)
    if lines.restarted and not found.lines:
        state.clear()
    return lines.mark
