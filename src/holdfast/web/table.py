"""What the page server shows and changes. A feature names its `Pages` in `feature.py`; the templates are in the
folder `templates` beside the module that holds them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import Any, TypeVar
from urllib.parse import quote

from holdfast import registry
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.rules import Person
from holdfast.kernel.workspace import Workspace
from holdfast.web.background import SpendingMeter
from holdfast.web.workspaces import ServedWorkspace, Site

LARGEST_NUMBER = 2**53
Ranked = TypeVar("Ranked", "Page", "Ask", "Cards", "Section")


@dataclass(frozen=True)
class PageContext:
    """The workspaces, the words of the address, the time, and what threads read beside the page."""

    site: Site
    words: Mapping[str, str]
    now: int
    meter: SpendingMeter

    @property
    def place(self) -> ServedWorkspace:
        """The workspace that the path of the address names."""
        return self.site.place(self.words["workspace"])

    @property
    def chosen(self) -> list[ServedWorkspace]:
        """The workspace that the query of the address names; all of them if it names none."""
        return [self.place] if self.words.get("workspace") else list(self.site)

    def number(self, name: str) -> int | None:
        """Return a number in the address; refuse anything else."""
        text = self.words.get(name, "")
        if not text:
            return None
        if not (text.isascii() and text.isdigit()) or len(text) > 16 or int(text) > LARGEST_NUMBER:
            raise Usage(f"{name}={text!r:.40} is no number.", hint="Follow the links of the page.")
        return int(text)

    def read_all(self, read: Callable[[ServedWorkspace], None]) -> list[dict[str, str]]:
        """Read each workspace. Return those that are away, which stop no other."""
        away = []
        for place in self.site:
            try:
                place.look()
                read(place)
            except (HoldfastError, OSError) as error:
                away.append({"workspace": place.key, "problem": str(error)})
        return away


@dataclass(frozen=True)
class Page:
    """An address to look at. `gather` returns plain data, which is the page's `.json`; `<name>.html` shows it in
    its blocks `title` and `live`. `words` are the names in the query. A page with a `label` is in the
    navigation, in the order of `rank`; the keys `g` and `key` lead to it. Records of the kind of stream `stream`
    link to this page."""

    name: str
    path: str
    gather: Callable[[PageContext], dict[str, Any]]
    label: str = ""
    key: str = ""
    words: tuple[str, ...] = ()
    stream: str = ""
    rank: int = 100


@dataclass(frozen=True)
class PageFile:
    """An address of a file. `read` returns its media type and its content."""

    path: str
    read: Callable[[Workspace, Mapping[str, str]], tuple[str, bytes]]


@dataclass(frozen=True)
class PageChange:
    """An address that a form is sent to. `purpose` names a refused attempt in the history. `apply` returns the
    next address."""

    path: str
    purpose: str
    apply: Callable[[Workspace, Mapping[str, str], Person], str]


@dataclass(frozen=True)
class Ask:
    """What waits for a person, on the board. `find` returns those of a workspace; `ask_<name>.html` shows one of
    them as `one`."""

    name: str
    find: Callable[[ServedWorkspace, PageContext], list[dict[str, Any]]]
    rank: int = 100


@dataclass(frozen=True)
class Section:
    """A part of the page `on` that a feature gives. `find` returns its data, of the board for all workspaces, and
    None to leave it out; its `count`, if it has one, stands beside the title. `<on>_<name>.html` shows the data as
    `one`. The order is that of `rank`: on the board, what needs a person is at 10, what runs at 20, what happened at
    30, what it costs at 40. From 35 on a section of the board stands beside the others where the screen is wide."""

    name: str
    title: str
    find: Callable[[PageContext], dict[str, Any] | None]
    rank: int = 100
    on: str = "board"


@dataclass(kw_only=True)
class Card:
    """One piece of work, such as a session. `lane` is its lane on the board, empty for one that only the page of all
    work shows; `figures` is what it spent, `seen_at` its last sign of life, `choices` are the commands to decide
    with. `decide_<kind>.html`, if there is one, has the buttons to decide with."""

    key: str
    workspace: str
    kind: str
    name: str
    lane: str
    word: str
    about: str
    doing: str
    why: list[str]
    done: int = 0
    steps: int = 0
    seen_at: str
    worktree: str
    branch: str = ""
    machine: str = ""
    elsewhere: bool = False
    figures: dict[str, Any] = field(default_factory=dict)
    choices: list[str] = field(default_factory=list)
    next: str
    href: str


@dataclass(frozen=True)
class Cards:
    """A kind of work. `find` returns the cards of a workspace. The page of all work has a list of those with a
    `title`; the history of their `stream` has the older ones, and `begin` is the command for the first one."""

    name: str
    find: Callable[[ServedWorkspace, int, SpendingMeter], Iterator[Card]]
    title: str = ""
    stream: str = ""
    begin: str = ""
    rank: int = 100


@dataclass(frozen=True)
class Pages:
    """What a feature gives to the page server."""

    pages: Sequence[Page] = ()
    files: Sequence[PageFile] = ()
    changes: Sequence[PageChange] = ()
    asks: Sequence[Ask] = ()
    sections: Sequence[Section] = ()
    cards: Sequence[Cards] = ()


@cache
def _parts() -> list[Pages]:
    return list(registry.parts("pages", registry.all_features))


def _in_order(found: Iterator[Ranked]) -> list[Ranked]:
    return sorted(found, key=lambda one: one.rank)


def pages() -> list[Page]:
    return _in_order(chain.from_iterable(part.pages for part in _parts()))


def asks() -> list[Ask]:
    return _in_order(chain.from_iterable(part.asks for part in _parts()))


def find_sections(on: str, page: PageContext) -> list[dict[str, Any]]:
    """Return what the features give to a page, in order."""
    found: list[dict[str, Any]] = []
    for section in _in_order(chain.from_iterable(part.sections for part in _parts())):
        if section.on != on:
            continue
        try:
            one = section.find(page)
        except (HoldfastError, OSError) as error:
            one = {"problem": str(error)}
        if one is not None:
            shown = {"name": section.name, "title": section.title, "rank": section.rank}
            found.append({**shown, "count": one.get("count"), "one": one})
    return found


def files() -> list[PageFile]:
    return [file for part in _parts() for file in part.files]


def changes() -> list[PageChange]:
    return [change for part in _parts() for change in part.changes]


def cards() -> list[Cards]:
    return _in_order(chain.from_iterable(part.cards for part in _parts()))


def template_folders() -> list[str]:
    """Return the folders with the templates of the features."""
    _parts()
    modules = [one.pages.partition(":")[0] for one in registry.all_features() if one.pages]
    found = [os.path.dirname(sys.modules[module].__file__ or "") for module in modules]
    return [os.path.join(folder, "templates") for folder in found]


@cache
def _paths() -> dict[str, str]:
    """Return the path of the page of each kind of stream that has one."""
    return {page.stream: page.path for page in pages() if page.stream}


def link_to(key: str, stream: str) -> str:
    """Return the page of a stream; empty if it has none."""
    kind, _, name = stream.partition(":")
    return _paths().get(kind, "").format(workspace=quote(key), id=quote(name, safe=""))
