"""Turn data into pages: templates that escape everything, and the filters they share.

Text of agents is text here, never markup. Characters that move the cursor or change the direction
of a line are shown as symbols, as on a terminal.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from holdfast.kernel import clock
from holdfast.kernel.durations import describe_age
from holdfast.kernel.money import dollars
from holdfast.kernel.text import one_line, safe
from holdfast.web.table import pages, template_folders
from holdfast.web.urls import Address, safe_link

FOLDER = os.path.dirname(os.path.abspath(__file__))
STATIC = os.path.join(FOLDER, "static")


class Renderer:
    """The templates of one page server."""

    def __init__(self, address: Address) -> None:
        # Copies are for all readers; in place of a form's token they hold a random mark,
        # and each reader gets their own token in its place.
        self._mark = secrets.token_hex(16)
        self._own = {"token": self._mark, "follow": lambda url: safe_link(url, address)}

    def page(self, template: str, **words: Any) -> str:
        """A whole page."""
        return templates().get_template(template).render(self._own, **words)

    def parts(self, template: str, **words: Any) -> tuple[str, str]:
        """A page's title and its live part, which is all that an update sends."""
        found = templates().get_template(template)
        context = found.new_context(self._own | words)
        return tuple("".join(found.blocks[name](context)) for name in ("title", "live"))  # type: ignore[return-value]

    def with_token(self, text: str, csrf: str) -> str:
        """A copy with the reader's own token in its forms."""
        return text.replace(self._mark, csrf)


@cache
def templates() -> Environment:
    """The templates of all page servers of this process: each is compiled once."""
    made = Environment(
        loader=FileSystemLoader([os.path.join(FOLDER, "templates"), *template_folders()]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_inert,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        ago=ago,
        since=since,
        money=money,
        brief=one_line,
        ticked=ticked,
        parts=parts,
        tone=tone_of,
        minute=clock.minute,
    )
    made.globals.update(asset=asset, pages=[page for page in pages() if page.label])
    return made


def _inert(value: Any) -> Any:
    if isinstance(value, str) and not isinstance(value, Markup):
        return value if value.isascii() and value.isprintable() else safe(value)
    return "" if value is None else value


# A hint that is nothing but a command.
_COMMAND = re.compile(r"holdfast( [\w:/=-]+)+", re.ASCII)


@cache
def asset(name: str) -> str:
    """The address of a static file. It changes with the file's content."""
    with open(os.path.join(STATIC, name), "rb") as file:
        known = hashlib.sha256(file.read()).hexdigest()[:12]
    return f"/static/{name}?{known}"


# Words

_TONES = {
    "good": "good active done passed complete accepted ok yes",
    "now": "now busy waiting running",
    "wait": "wait slow blocked quiet paused warning alert asked undone",
    "bad": "bad dead corrupted failed refused stop problem no",
}
_TONE_OF = {word: tone for tone, words in _TONES.items() for word in words.split()} | {
    "at work": "good"
}


def tone_of(word: str) -> str:
    """The colour of a state: `good`, `now`, `wait`, `bad`, or `plain`. A tone is its own."""
    return _TONE_OF.get(word, "plain")


def ago(at: str | None, now: int) -> str:
    """`3 min ago`; empty for an unknown time."""
    passed = since(at, now)
    return passed if passed in ("", "just now") else f"{passed} ago"


def since(at: str | None, now: int) -> str:
    """`3 min`. A time in the future, which a stepped clock leaves behind, is `just now`."""
    try:
        seconds = (now - clock.parse(at or "")) // 1000
    except ValueError:
        return ""
    if seconds < 10:
        return "just now"
    # In steps: an age that moves every second makes a page that is never the same twice.
    count, unit = describe_age(seconds if seconds >= 60 else seconds // 10 * 10)
    return f"{count} {unit}"


def ticked(text: str) -> Markup:
    """A sentence in which text between backticks is shown as code."""
    if _COMMAND.fullmatch(text):
        return Markup("<code>{}</code>").format(text)
    parts = [escape(_inert(part)) for part in text.split("`")]
    if len(parts) % 2 == 0:
        return escape(_inert(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else part
        for number, part in enumerate(parts)
    )


def parts(text: str) -> Markup:
    """A line of several parts, each with its own text direction."""
    each = [Markup("<bdi>{}</bdi>").format(_inert(part)) for part in text.split(" · ")]
    return Markup(" · ").join(each)


def money(value: float | None) -> str:
    return "" if value is None else dollars(value)
