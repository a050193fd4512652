"""The pages of the page server that belong to no feature."""

from __future__ import annotations

from holdfast.web.cards import list_sessions
from holdfast.web.pages import board, doctor, history, record, session, work
from holdfast.web.table import Ask, Cards, Page, Pages, Section

SESSION = "/w/{workspace}/sessions/{id}"
PAGES = Pages(
    pages=(
        Page("board", "/board", board.gather, "Board", "b", ("ask", "typed"), rank=10),
        Page("work", "/work", work.gather, "Work", "w", rank=20),
        Page("history", "/history", history.gather, "History", "h", history.WORDS, rank=50),
        Page("doctor", "/doctor", doctor.gather, "Doctor", "d", rank=60),
        Page("session", SESSION, session.gather, words=("before",), stream="session"),
        Page("record", "/w/{workspace}/records/{id}", record.gather),
    ),
    asks=(Ask("clients", board.list_clients), Ask("limits", board.list_limits)),
    sections=(Section("quotas", "Usage limits of your clients", board.find_quotas, rank=50),),
    cards=(Cards("sessions", list_sessions, "Sessions", "session", "holdfast checkpoint"),),
)
