"""The person's channels: a terminal, where what only a person may do is asked for and typed back; and
the page, whose sign-in is shown on a terminal and nowhere else.

A process without a controlling terminal, one in an agent's environment, and one that does not type
back the word it is shown, is refused, and the attempt is recorded. docs/reference/threat-models.md says what
this holds against and what it does not.
"""

from __future__ import annotations

import json
import os
import pwd
import termios
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from unicodedata import east_asian_width

from holdfast.kernel import clock
from holdfast.kernel.commit import Order, commit
from holdfast.kernel.errors import HoldfastError, NotAllowed
from holdfast.kernel.rules import Person
from holdfast.kernel.streams import actor, open_writer
from holdfast.kernel.text import safe, split_words
from holdfast.kernel.workspace import Workspace
from holdfast.people.rules.people import STREAM

# The variables that clients give to what they start, and that our own agents have, with their sources.
MARKS_FILE = os.path.join(os.path.dirname(__file__), "agent_marks.json")
TERMINAL = "/dev/tty"
# The channel of a question that a client shows its person; records name it.
ELICITATION = "elicitation"
# So often the word that is shown may be typed.
TRIES = 3
LONGEST_LINE = 4096
# The people whom the channels of this process saw, and the processes that serve a page.
_seen: dict[int, tuple[weakref.ref[Person], dict[str, str]]] = {}
_pages: list[int] = []
LONGEST_CLIENT = 80
NARROWEST = 20
WORDS = split_words(
    "amber anchor basil beacon birch breeze cedar cliff clover copper coral cove "
    "crane delta dune ember fern fjord flint forest gale garnet glade granite "
    "harbor hazel heron indigo island ivory jasper kelp lagoon lantern larch "
    "lichen linen maple marble meadow mist moss nutmeg oak olive opal orchid "
    "otter pebble pine quartz raven reed river saffron sail slate spruce tide "
    "topaz violet willow wren zephyr"
)


def require(
    workspace: Workspace,
    purpose: str,
    shown: Sequence[str] = (),
    *,
    now: int,
    person: Person | None = None,
) -> Person:
    """A person who wants `purpose`, such as "answer gate 3f2a", and types back a word; or NotAllowed.

    `shown` are lines to see first. A text that says what to type, such as a gate's, is shown after
    the word (`show`): above it, people type what the text says instead of the word. A `person` who was seen
    already, as at the page, is asked nothing."""
    if person is not None:
        return refuse_made_up(workspace, purpose, person, now=now)
    began = time.monotonic()
    terminal = _seat(workspace, purpose, now)
    try:
        _show(terminal, ["", *_frame(shown, terminal), ""] if shown else [""])
        if not _is_typed_back(terminal, purpose):
            raise refuse(workspace, purpose, "the word shown was not typed back", now=now)
        name = _terminal_name()
    finally:
        os.close(terminal)
    elapsed = int((time.monotonic() - began) * 1000)
    at = clock.precise(now + elapsed)
    return _remember(Person(name=_user(), channel="terminal", terminal=name, at=at))


def refuse_made_up(workspace: Workspace, purpose: str, person: object, *, now: int) -> Person:
    """The person who was seen elsewhere, as at the page; a refusal of one that a program made up, also with the
    library: only the channels here make one that counts."""
    if not isinstance(person, Person) or not _is_remembered(person):
        raise refuse(workspace, purpose, "no person was seen", now=now)
    if person["channel"] != ELICITATION:
        _refuse_agent(workspace, purpose, now)
    return person


def _remember(person: Person) -> Person:
    """Keep that a channel of this process saw a person, for as long as there is use for it."""
    key = id(person)
    _seen[key] = weakref.ref(person, lambda _: _seen.pop(key, None)), dict(person)
    return person


def _is_remembered(person: Person) -> bool:
    known, as_seen = _seen.get(id(person), (None, None))
    return known is not None and known() is person and person == as_seen


def _is_typed_back(terminal: int, purpose: str) -> bool:
    """Whether the word that is shown comes back, within a few tries."""
    from secrets import choice

    word = f"{choice(WORDS)}-{choice(WORDS)}"
    question = f"To {safe(purpose)}, type {word} and Enter: "
    for _ in range(TRIES):
        # What was typed, or pushed in, before the question stood there does not answer it.
        termios.tcflush(terminal, termios.TCIFLUSH)
        typed = _ask(terminal, question)
        if typed is None:
            return False
        if typed.strip().lower() == word:
            return True
        question = f"That is not the word. Please type {word} and Enter: "
    return False


def show(lines: Sequence[str]) -> None:
    """Lines of a question on the person's terminal, each behind a bar of ours; after `require`."""
    with _open_terminal() as terminal:
        _show(terminal, ["", *_frame(lines, terminal), ""])


def require_seat(workspace: Workspace, purpose: str, *, now: int) -> str:
    """The name of the terminal that a person sits at, for what is to be shown to them alone; or
    NotAllowed."""
    os.close(_seat(workspace, purpose, now))
    return _terminal_name()


def tell(lines: Sequence[str]) -> None:
    """Lines on the terminal itself, which no pipe and no log of this process's output keeps."""
    with _open_terminal() as terminal:
        _show(terminal, lines)


def open_page() -> None:
    """Let this process see people at the page: it is the one that serves it, and checks who signed in."""
    _pages.append(os.getpid())


def at_page(terminal: str, *, now: int) -> Person:
    """The person who signed in to the page with what a terminal showed; NotAllowed in a process that serves
    none."""
    if os.getpid() not in _pages:
        raise NotAllowed("This process serves no page.", kind="no_person")
    who = Person(name=_user(), channel="page", terminal=terminal, at=clock.precise(now))
    return _remember(who)


def by_elicitation(client: str, *, now: int) -> Person:
    """The one who answered in a client's dialogue. No terminal showed a person, so the client's own name
    stands here, and the rules accept the answer only for a gate that holds nothing up."""
    name = f"{' '.join(safe(client).split())[:LONGEST_CLIENT] or 'a client'}, by elicitation"
    who = Person(name=name, channel=ELICITATION, terminal="", at=clock.precise(now))
    return _remember(who)


def _seat(workspace: Workspace, purpose: str, now: int) -> int:
    """The terminal, opened, of a process that a person can have started."""
    _refuse_agent(workspace, purpose, now)
    try:
        terminal = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY)
    except OSError:
        raise refuse(workspace, purpose, "no terminal", now=now) from None
    if os.tcgetpgrp(terminal) != os.getpgrp():
        os.close(terminal)
        raise refuse(workspace, purpose, "in the background of its terminal", now=now)
    return terminal


def _refuse_agent(workspace: Workspace, purpose: str, now: int) -> None:
    seen = agent_environment(os.environ)
    if seen:
        why = f"an agent's environment ({', '.join(seen)})"
        raise refuse(workspace, purpose, why, now=now, seen=seen)


@contextmanager
def _open_terminal() -> Iterator[int]:
    terminal = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY)
    try:
        yield terminal
    finally:
        os.close(terminal)


def ask(question: str) -> str:
    """A line that is typed at the terminal, after `require`; empty when there is none."""
    with _open_terminal() as terminal:
        return (_ask(terminal, safe(question)) or "").strip()


def agent_environment(environment: Mapping[str, str]) -> list[str]:
    """The variables that say: an agent started this."""
    return sorted(agent_marks().intersection(environment))


@cache
def agent_marks() -> frozenset[str]:
    """The names of the marks."""
    with open(MARKS_FILE, encoding="utf-8") as file:
        known = json.load(file)
    return frozenset(one["name"] for one in known["marks"])


def refuse(
    workspace: Workspace, purpose: str, why: str, *, now: int, seen: Sequence[str] = ()
) -> NotAllowed:
    """The refusal of an attempt to speak for a person, which is recorded."""
    command = {"do": "refuse", "purpose": purpose, "why": why, "seen": list(seen)}
    kept = "The attempt is recorded."
    try:
        order = Order(STREAM, command)
        commit(open_writer(workspace), [order], actor=actor(), now=now, can_wait=True)
    except HoldfastError:
        kept = "The attempt could not be recorded."
    hint = "A person runs this in a terminal of their own, and no agent around it."
    if seen:
        hint += f" If your own profile sets this and no agent does: unset {' '.join(seen)}"
    return NotAllowed(f"Only a person may {purpose}: {why}. {kept}", hint=hint, kind="no_person")


def _frame(lines: Sequence[str], terminal: int) -> list[str]:
    """Each line behind a bar of ours, folded by us: a line that the terminal folds would go on
    without the bar, and could look like a question of holdfast's."""
    try:
        width = os.get_terminal_size(terminal).columns or 80
    except OSError:
        width = 80
    room = max(width - 3, NARROWEST)
    return [
        f"┃ {part}"
        for line in lines
        for piece in safe(line).expandtabs(4).split("\n")
        for part in _fold(piece, room)
    ]


def _fold(line: str, room: int) -> list[str]:
    """In pieces that fit, between words where that is possible."""
    parts, part, taken = [], "", 0
    for letter in line:
        wide = 2 if east_asian_width(letter) in ("W", "F") else 1
        if taken + wide > room:
            head, blank, tail = part.rpartition(" ")
            whole = blank and len(head) > room // 2
            parts.append(head if whole else part)
            part = tail if whole else ""
            taken = sum(2 if east_asian_width(one) in ("W", "F") else 1 for one in part)
        part, taken = part + letter, taken + wide
    return [*parts, part]


def _show(terminal: int, lines: Sequence[str]) -> None:
    rest = ("\n".join(lines) + "\n").encode("utf-8", "replace")
    while rest:
        rest = rest[os.write(terminal, rest) :]


def _ask(terminal: int, question: str) -> str | None:
    os.write(terminal, question.encode("utf-8", "replace"))
    typed = b""
    while len(typed) < LONGEST_LINE:
        try:
            piece = os.read(terminal, 1024)
        except OSError:  # the terminal was closed
            return None
        if not piece:
            return None
        typed += piece
        if b"\n" in typed or b"\r" in typed:
            return typed.decode("utf-8", "replace").splitlines()[0]
    return None


def _terminal_name() -> str:
    for descriptor in (0, 1, 2):
        try:
            return os.ttyname(descriptor)
        except OSError:
            continue
    return TERMINAL


def _user() -> str:
    """The account, not HOLDFAST_ACTOR or USER: a program can set those."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"
