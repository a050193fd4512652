"""Parse the options of plain verbs without click, which costs as much as four bare interpreters.

A plain verb is a module with `answer`, and perhaps `ARGUMENTS` and `OPTIONS`. What this parser does not
understand (help, a mistake) is left to click, whose command is built from the same table.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any, Literal

    Kind = Literal["text", "text or empty", "many", "flag", "number"]

EVERYWHERE = (
    ("--json", "as_json", "flag", "Print one JSON envelope."),
    ("-C", "folder", "text", "Use the workspace of DIR instead of the current folder."),
)


class PlainOption:
    """One option of a plain verb."""

    __slots__ = ("flag", "help", "kind", "metavar", "name")

    def __init__(self, flag: str, kind: Kind, help: str, *, metavar: str = "") -> None:
        self.flag = flag
        self.name = flag.lstrip("-").replace("-", "_")
        self.kind = kind
        self.help = help
        self.metavar = metavar


def arguments_of(module: ModuleType) -> Sequence[str]:
    names: Sequence[str] = getattr(module, "ARGUMENTS", ())
    return names


def options_of(module: ModuleType) -> Sequence[PlainOption]:
    options: Sequence[PlainOption] = getattr(module, "OPTIONS", ())
    return options


def read(module: ModuleType, words: Sequence[str]) -> dict[str, Any] | None:
    """The values of a plain verb's arguments and options, with `as_json` and `folder`; None when click
    has to parse them."""
    options = {option.flag: (option.name, option.kind) for option in options_of(module)}
    options.update({flag: (name, kind) for flag, name, kind, _ in EVERYWHERE})  # type: ignore[misc]
    values: dict[str, Any] = {name: _empty(kind) for name, kind in options.values()}
    wanted = list(arguments_of(module))
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if not word.startswith("-"):
            if not wanted or not word:
                return None
            values[wanted.pop(0)] = word
            continue
        flag, equals, value = word.partition("=")
        if flag not in options or (equals and not flag.startswith("--")):
            return None
        name, kind = options[flag]
        if kind == "flag":
            if equals:
                return None
            values[name] = True
            continue
        if not equals:
            if position == len(words):
                return None
            value = words[position]
            position += 1
        if not _take(values, name, kind, value):
            return None
    return None if wanted else values


def _empty(kind: str) -> Any:
    return {"flag": False, "many": ()}.get(kind)


def _take(values: dict[str, Any], name: str, kind: str, value: str) -> bool:
    if not value:
        return False  # click knows which may be empty
    if kind == "many":
        values[name] = (*values[name], value)
    elif kind == "number":
        if not (value.isascii() and value.isdigit()):
            return False
        values[name] = int(value)
    else:
        values[name] = value
    return True
