"""Putting something into a JSON file, with or without comments, and taking it out again.

The text is edited and not written again: what others wrote stays as they wrote it, comments, blanks and
all.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_BLANKS = re.compile(r"[ \t\r\n]*")


class Malformed(ValueError):
    """The text is not JSON, even with comments."""


@dataclass
class Node:
    """A value, and where it stands. An object has its keys as well: each name, and where that begins."""

    start: int
    end: int
    value: Any
    items: list[Node] = field(default_factory=list)
    keys: list[tuple[str, int]] = field(default_factory=list)

    def member(self, name: str) -> Node | None:
        for (key, _), item in zip(self.keys, self.items, strict=False):
            if key == name:
                return item
        return None

    def begin_of(self, position: int) -> int:
        """Where an item begins, its name included."""
        return self.keys[position][1] if self.keys else self.items[position].start


def parse(text: str) -> Node:
    """The whole text as one value; an empty one is an empty object."""
    reader = _JsonReader(text)
    reader.skip()
    if reader.at == len(text):
        raise Malformed("it is empty")
    node = reader.value()
    reader.skip()
    if reader.at != len(text):
        raise Malformed(f"there is more after its end, in line {reader.line}")
    return node


class _JsonReader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 1 if text.startswith("\ufeff") else 0
        self._decoder = json.JSONDecoder(strict=False)

    @property
    def line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1

    def skip(self) -> None:
        """Over blanks and comments."""
        text = self.text
        while True:
            blank = _BLANKS.match(text, self.at)
            self.at = blank.end() if blank else self.at
            if text[self.at : self.at + 1] != "/":
                return
            if text.startswith("//", self.at):
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
            elif text.startswith("/*", self.at):
                end = text.find("*/", self.at + 2)
                if end < 0:
                    raise Malformed(f"a comment has no end, from line {self.line}")
                self.at = end + 2
            else:
                return

    def value(self) -> Node:
        opening = self.text[self.at : self.at + 1]
        try:
            if opening == "{":
                return self._object()
            if opening == "[":
                return self._array()
            start = self.at
            value, self.at = self._decoder.raw_decode(self.text, start)
            return Node(start, self.at, value)
        except RecursionError:
            raise Malformed("it is nested too deeply") from None
        except json.JSONDecodeError as problem:
            raise Malformed(f"{problem.msg} in line {self.line}") from None

    def _array(self) -> Node:
        node = Node(self.at, self.at, [])
        while self._next(node, "]"):
            item = self.value()
            node.items.append(item)
            node.value.append(item.value)
        return node

    def _object(self) -> Node:
        node = Node(self.at, self.at, {})
        while self._next(node, "}"):
            start = self.at
            if self.text[start] != '"':
                raise Malformed(f"a name is missing in line {self.line}")
            name = str(self.value().value)
            self.skip()
            if self.text[self.at : self.at + 1] != ":":
                raise Malformed(f"a colon is missing in line {self.line}")
            self.at += 1
            self.skip()
            item = self.value()
            if name in node.value:
                # Of two values of one name a client takes the last; which one is meant is not ours to say.
                raise Malformed(f"{name} stands there twice, in line {self.line}")
            node.keys.append((name, start))
            node.items.append(item)
            node.value[name] = item.value
        return node

    def _next(self, node: Node, closing: str) -> bool:
        """Whether another item begins here; past the comma before it."""
        if not node.items:
            self.at += 1
        self.skip()
        if node.items and self.text.startswith(",", self.at):
            self.at += 1
            self.skip()
        elif node.items and not self.text.startswith(closing, self.at):
            raise Malformed(f"a comma is missing in line {self.line}")
        if self.text.startswith(closing, self.at):
            self.at += 1
            node.end = self.at
            return False
        if self.at >= len(self.text):
            raise Malformed("it ends in the middle")
        return True


def insert(text: str, path: list[str], value: Any, *, into_list: bool = False) -> tuple[str, str]:
    """Put a value under the names of a path, or at the end of the list there. What the text is now,
    and the piece that was put in."""
    node, depth = parse(text), 0
    while depth < len(path) and (found := node.member(path[depth])) is not None:
        node, depth = found, depth + 1
    for name in reversed(path[depth + 1 :]):
        value, into_list = {name: [value] if into_list else value}, False
    if depth < len(path) and into_list:
        value = [value]
    name = json.dumps(path[depth], ensure_ascii=False) + ": " if depth < len(path) else ""
    newline = "\r\n" if "\r\n" in text else "\n"
    unit = _unit_of(text)
    margin = _margin_of(text, node)
    inner = margin + unit
    written = json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + inner)
    if node.items:
        at = node.items[-1].end
        piece = f",{newline}{inner}{name}{written}"
    else:
        at = node.start + 1
        piece = f"{newline}{inner}{name}{written}{newline}{margin}"
    return text[:at] + piece + text[at:], piece


def remove(text: str, container: Node, position: int) -> str:
    """The text without one item of a list or an object, and without the comma that it needs no more."""
    items = container.items
    begin, end = container.begin_of(position), items[position].end
    if position:
        # From the comma after the item before: comments between the two are about ours.
        begin = text.index(",", _past_comments(text, items[position - 1].end))
    elif len(items) > 1:
        end = container.begin_of(1)
    else:
        after = _past_comments(text, end)
        end = after + 1 if text.startswith(",", after) else end
        inside = text[container.start + 1 : begin] + text[end : container.end - 1]
        if not inside.strip():
            begin, end = container.start + 1, container.end - 1
    return text[:begin] + text[end:]


def _past_comments(text: str, at: int) -> int:
    reader = _JsonReader(text)
    reader.at = at
    reader.skip()
    return reader.at


def _unit_of(text: str) -> str:
    """How the file indents: by the first line that is indented."""
    for line in text.splitlines():
        blank = line[: len(line) - len(line.lstrip())]
        if blank and line.strip() and not line.strip().startswith(("*", "//", "/*")):
            return blank
    return "  "


def _margin_of(text: str, node: Node) -> str:
    """The blanks at the beginning of the line in which a value begins."""
    start = text.rfind("\n", 0, node.start) + 1
    line = text[start : node.start]
    return line[: len(line) - len(line.lstrip(" \t"))]
