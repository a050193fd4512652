"""Every page and every change that the page server knows. A row here, a module, a template: that is all.

A page's module `pages/<name>.py` has `gather(site, words, now)`, which returns plain data: the page's
`.json` says just that, and `templates/<name>.html` shows it in its blocks `title` and `live`.
A change's module `changes/<name>.py` has `apply(workspace, words, person)`, which returns where to go next.
"""

from __future__ import annotations

from typing import NamedTuple


class Page(NamedTuple):
    """An address that is looked at. `words` are those of its query that it takes; one with a `label`
    stands in the navigation, and `g` and its `key` lead there."""

    name: str
    path: str
    label: str = ""
    key: str = ""
    words: tuple[str, ...] = ()


class Change(NamedTuple):
    """An address that something is sent to. `purpose` is what a refused attempt is recorded as."""

    name: str
    path: str
    purpose: str


PAGES = (
    Page("board", "/board", "Board", "b"),
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
    Change("answer_gate", "/w/{workspace}/gates/{id}", "answer gate {id}"),
    Change("answer_alert", "/w/{workspace}/alerts/{type}", "answer the alert of {type}"),
    Change("recover_agent", "/w/{workspace}/agents/{agent}", "decide about agent {agent}"),
)
