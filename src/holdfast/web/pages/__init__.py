"""The pages of the page server that belong to no feature."""

from __future__ import annotations

from holdfast.web.cards import list_sessions
from holdfast.web.pages import board, doctor, history, record, session, work
from holdfast.web.table import Ask, Page, Pages, Section, Work

PAGES = Pages(
    pages=(
        Page("board", "/board", board.gather, "Board", "b", ("ask", "typed"), rank=10),
        Page("work", "/work", work.gather, "Work", "w", rank=20),
        Page(
            "history",
            "/history",
            history.gather,
            "History",
            "h",
            ("q", "workspace", "stream", "kind", "before"),
            rank=50,
        ),
        Page("doctor", "/doctor", doctor.gather, "Doctor", "d", rank=60),
        Page(
            "session",
            "/w/{workspace}/sessions/{id}",
            session.gather,
            words=("before",),
            stream="session",
        ),
        Page("record", "/w/{workspace}/records/{id}", record.gather),
    ),
    asks=(
        Ask("clients", board.list_clients),
        Ask("limits", board.list_limits),
    ),
    works=(
        Work(
            "sessions",
            "Sessions",
            "No session was captured. Capture one with: holdfast checkpoint",
            "session",
            work.list_sessions,
        ),
    ),
    sections=(Section("quotas", "Usage limits of your clients", board.find_quotas, rank=50),),
    cards=(list_sessions,),
)
