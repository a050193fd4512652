"""The types of a feature's parts: what a record says, its copies and files, what it wants trust for, and its checks.

`registry.Feature` says which of its values takes which type. Hooks do not load this module; what they read of a
feature is in `registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from holdfast.journal.interface import Record
    from holdfast.kernel.rules import Person
    from holdfast.kernel.workspace import Workspace

# Whether a record is good news; empty is neither.
Tone = Literal["good", "bad", "wait", ""]


@dataclass(frozen=True, kw_only=True)
class Words:
    """How people read the records of a feature.

    Args:
        unnamed: kinds of streams whose names tell a person nothing.
        words: what people call its kinds of records; others are their names with blanks.
        texts: what a record says, by kind, from the record and its body. A KeyError, TypeError or AttributeError
            means that another version wrote it: its plain fields are shown.
        compared: what a record says against the state before it, by kind, from that state and the body; an empty
            text leaves it to `texts`.
        about: what a stream is about, from its state, for the list of streams.
        hidden: fields of bodies that no face shows: packed values, which are not redacted.
        tones: whether a record is good news, by kind, or a function of its body that says so.
    """

    unnamed: Sequence[str] = ()
    about: Callable[[Any], str] | None = None
    hidden: Sequence[str] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, Callable[[Record, dict[str, Any]], str]] = field(default_factory=dict)
    compared: Mapping[str, Callable[[Any, dict[str, Any]], str]] = field(default_factory=dict)
    tones: Mapping[str, Tone | Callable[[dict[str, Any]], Tone]] = field(default_factory=dict)


def _find_nothing(*_: Any) -> tuple[()]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Copies:
    """The files of a feature that are no views of a stream.

    Args:
        find: returns the files that a purge erases, from the workspace, the streams that it erases from, and the
            text; the text is empty when single records are erased.
        clean: takes a text out of a file that its author may have changed, by the file's name: from the path and
            the forms of the text, the new content, or None where nothing of it is Holdfast's to change.
        remove_old: removes what `gc` removes, from the workspace, the time before which it is old, and the time now;
            returns how many files that were.
        free: removes what else is old, from the workspace, the time now, and `dry_run`; returns what that frees, in
            words, empty where it is nothing.
        list_beside: returns the files that Holdfast wrote beside views, from a worktree's root and their paths.
        list_authored: returns the folders that Holdfast made and an author filled, from the same.
        archives: names of folders in a work tree that hold only what Holdfast wrote.
        find_records: returns the ids of records that hold a text in a packed form, from the workspace and the text.
    """

    find: Callable[[Workspace, Sequence[str], str], Iterable[str]] = _find_nothing
    clean: Mapping[str, Callable[[str, list[bytes]], bytes | None]] = field(default_factory=dict)
    remove_old: Callable[[Workspace, int, int], int] = lambda *_: 0
    free: Callable[..., str] = lambda *_, dry_run: ""
    list_beside: Callable[[str, Sequence[str]], Iterable[str]] = _find_nothing
    list_authored: Callable[[str, Sequence[str]], Iterable[tuple[str, str]]] = _find_nothing
    archives: Sequence[str] = ()
    find_records: Callable[[Workspace, str], Iterable[str]] = _find_nothing


@dataclass(frozen=True, kw_only=True)
class Searched:
    """A stream that `holdfast find` searches beside the sessions of clients.

    Args:
        title: what wrote it, for people.
        stream: its name, which `holdfast show` takes.
        version: its version: it is read again when it has another one.
        at: when it was written to last.
        read: returns its texts in order, each with what it was, as `memory.documents` names it.
    """

    title: str
    stream: str
    version: int
    at: str
    read: Callable[[], Sequence[tuple[Any, str]]]


@dataclass(frozen=True, kw_only=True)
class Trustable:
    """Something that counts only after a person said so: its name, what it says, what it may do then, and the
    function that lets it count."""

    name: str
    value: Any
    may: str
    confirm: Callable[[Person], object]


class Check(TypedDict):
    """One check of `doctor`. `fixed` says what `--fix` did about it."""

    id: str
    status: Literal["ok", "warning", "problem"]
    what: str
    why: str
    fix: str
    fixed: str


def accept(id: str, what: str, *, why: str = "", fixed: str = "") -> Check:
    """Return a check that found nothing wrong, or nothing any more."""
    return {"id": id, "status": "ok", "what": what, "why": why, "fix": "", "fixed": fixed}


def warn(id: str, what: str, *, why: str, fix: str = "", fixed: str = "") -> Check:
    """Return a check that found something that a person may want to change."""
    return {"id": id, "status": "warning", "what": what, "why": why, "fix": fix, "fixed": fixed}


def fail(id: str, what: str, *, why: str, fix: str = "") -> Check:
    """Return a check that found something broken."""
    return {"id": id, "status": "problem", "what": what, "why": why, "fix": fix, "fixed": ""}
