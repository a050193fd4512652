"""All pages and changes of the page server. To add one, add a row here, a module and a template.

A page's module `pages/<name>.py` has `gather(page)`, which takes a `PageContext` and returns plain data. The
page's `.json` is that data, and `templates/<name>.html` shows it in its blocks `title` and `live`.
A change is a function `<name>(workspace, words, person)` in `changes.py`, which returns the next address.
"""

from __future__ import annotations

from typing import NamedTuple


class Page(NamedTuple):
    """An address to look at. `words` are the names in its query. A page with a `label` is in the
    navigation; the keys `g` and `key` lead to it."""

    name: str
    path: str
    label: str = ""
    key: str = ""
    words: tuple[str, ...] = ()


class PageChange(NamedTuple):
    """An address that a form is sent to. `purpose` is the name of a refused attempt in the history."""

    name: str
    path: str
    purpose: str


PAGES = (
    Page("board", "/board", "Board", "b", ("alert", "until")),
    Page("work", "/work", "Work", "w"),
    Page("fleet", "/fleet", "Fleet", "f", ("q", "verdict", "from")),
    Page("budget", "/budget", "Budget", "u", ("workspace", "before")),
    Page("history", "/history", "History", "h", ("q", "workspace", "stream", "kind", "before")),
    Page("doctor", "/doctor", "Doctor", "d"),
    Page("gate", "/w/{workspace}/gates/{id}"),
    Page("session", "/w/{workspace}/sessions/{id}", words=("before",)),
    Page("track", "/w/{workspace}/tracks/{id}", words=("before",)),
    Page("run", "/w/{workspace}/runs/{id}", words=("plan", "task", "before")),
    Page("rfc", "/w/{workspace}/rfcs/{id}", words=("before",)),
    Page("record", "/w/{workspace}/records/{id}"),
)
CHANGES = (
    PageChange("answer_gate", "/w/{workspace}/gates/{id}", "answer gate {id}"),
    PageChange("answer_alert", "/w/{workspace}/alerts/{type}", "answer the alert of {type}"),
    PageChange("recover_agent", "/w/{workspace}/agents/{agent}", "decide about agent {agent}"),
)
