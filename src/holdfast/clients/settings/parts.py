"""Our part of a client's settings file.

In JSON: items of lists, and members of objects. In TOML: one table at the end, between two comments that say
whose it is. tomlkit was measured for it: of four files whose user wrote below our table after `init`, two did not
come back byte for byte (the blank line before the next table goes with ours), and a CRLF file got LF lines.
"""

from __future__ import annotations

import json
import os
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from holdfast.clients import launcher
from holdfast.clients.settings.files import Put, not_settings
from holdfast.clients.settings.text_edit import Malformed, Node, insert, parse, remove
from holdfast.clients.table import CLIENTS
from holdfast.kernel.workspace import Workspace

# A list or an object, and the position of one of its items.
Spot = tuple[Node, int]


# What a command of ours has in it, whatever machine it is from: the launcher, our server, and what older
# versions wrote, the last one with `init --http`.
MARKS = (
    "/holdfast/hook.sh",
    '"-m", "holdfast", "mcp"',
    "holdfast/hooks/entry.py",
    "$HOLDFAST_AGENTS_TOKEN",
)
# A text without any of them has nothing of ours.
TRACES = ("holdfast", "HOLDFAST")
HOOKS = "hooks"
BEGIN = "# holdfast begins (`holdfast uninstall` takes this out)"
END = "# holdfast ends"


def hook_group(line: str, limit: int, *, name: str = "", matcher: str = "") -> dict[str, Any]:
    """An event's group of one hook, in the form that Claude Code began and others took over."""
    hook = {"type": "command", "command": line, "timeout": limit}
    group: dict[str, Any] = {"hooks": [{"name": name, **hook} if name else hook]}
    return {"matcher": matcher, **group} if matcher else group


# How long a client may wait for our hook of an event, in seconds.
USUAL_SECONDS = 10
_SECONDS = {
    "PreCompact": 20,
    "PreCompress": 20,
    "Stop": 20,
    "AfterAgent": 20,
    "SessionEnd": 5,
    # A person elsewhere may answer it; `answers/wait.py` has its own limits.
    "PermissionRequest": 620,
}


def with_seconds(events: str) -> dict[str, int]:
    """Return events, given as words, each with the seconds that its hook has."""
    return {event: _SECONDS.get(event, USUAL_SECONDS) for event in events.split()}


def hook_groups(client: str, events: dict[str, int], *, name: str = "") -> dict[str, list[Any]]:
    """A group of one hook for each event, for a client that uses sh or bash."""
    return {
        event: [hook_group(launcher.sourced_line(client, event), limit, name=name)]
        for event, limit in events.items()
    }


def server_entry(server: list[str]) -> dict[str, Any]:
    return {"command": server[0], "args": server[1:]}


@dataclass(frozen=True)
class JsonPart:
    """`hooks` are groups for the list of each event; `members` are set where they are not set yet, and
    `items` are put at the end of a list. `elsewhere` names the members that the user has set in another
    file, which ours would override, and that file."""

    path: str
    hooks: dict[str, list[Any]] = field(default_factory=dict)
    members: list[tuple[list[str], Any]] = field(default_factory=list)
    items: list[tuple[list[str], Any]] = field(default_factory=list)
    elsewhere: dict[str, str] = field(default_factory=dict)

    def put(self, text: str) -> Put:
        text = f"{text}{{}}\n" if _is_blank(text) else text
        found = self._parsed(text).value
        if self._is_complete(found):
            return {"text": text, "pieces": [], "notes": self._notes(found)}
        # What an older installation put in goes first, so that nothing of ours is there twice.
        taken = self.take(text)
        root = found if taken == text else self._parsed(taken).value
        text, pieces = taken, []
        lists = self._lists()
        if self.hooks and HOOKS not in root:  # at once: each time the whole text is read
            text, piece = insert(text, [HOOKS], self.hooks)
            pieces.append(piece)
            lists = self.items
        for path, value in lists:
            text, piece = insert(text, path, value, into_list=True)
            pieces.append(piece)
        for path, value in self.members:
            if _at(root, path) is None and ".".join(path) not in self.elsewhere:
                text, piece = insert(text, path, value)
                pieces.append(piece)
        return {"text": text, "pieces": pieces, "notes": self._notes(root)}

    def _lists(self) -> list[tuple[list[str], Any]]:
        """Return each value for a list, with the way to that list."""
        groups = [([HOOKS, event], one) for event, groups in self.hooks.items() for one in groups]
        return [*groups, *self.items]

    def _notes(self, root: dict[str, Any]) -> list[str]:
        """Return what the user has set, and we leave."""
        here = [
            f"{'.'.join(path)} in {self.path} is not ours, and stays; ours was not added."
            for path, wanted in self.members
            if _at(root, path) not in (None, wanted)
        ]
        there = [
            f"{name} in {file} is yours, and stays; ours was not added, for it would override yours."
            for name, file in self.elsewhere.items()
            if _at(root, name.split(".")) is None
        ]
        return here + there

    def overrides(self, text: str) -> str:
        """Return the user's own file that a member of ours in this text overrides; empty when there is none."""
        root = self._parsed(text).value
        found = (
            file for name, file in self.elsewhere.items() if is_ours(_at(root, name.split(".")))
        )
        return next(found, "")

    def _is_complete(self, root: dict[str, Any]) -> bool:
        return all(value in (_at(root, path) or []) for path, value in self._lists()) and (
            all(self._is_settled(_at(root, path), value, path) for path, value in self.members)
        )

    def _is_settled(self, found: Any, wanted: Any, path: list[str]) -> bool:
        """Return whether a member is as we want it, or set by the user, which stays."""
        if ".".join(path) in self.elsewhere:
            return not is_ours(found)
        return found == wanted or (found is not None and not is_ours(found))

    def has_ours(self, text: str) -> bool:
        """Without `take`, which reads the whole text again for each piece."""
        traced = any(trace in text for trace in TRACES)
        return traced and bool(self._find(self._parsed(text)))

    def take(self, text: str) -> str:
        if not any(trace in text for trace in TRACES):
            return text
        while chain := self._find(self._parsed(text)):
            # With the lists and objects around it that hold nothing else; a group is nothing without its hooks.
            while len(chain) > 1 and (len(chain[-1][0].items) == 1 or _names_hooks(*chain[-1])):
                chain.pop()
            text = remove(text, *chain[-1])
        return text

    def _find(self, root: Node) -> list[Spot]:
        """Return the way to something of ours; empty where nothing is."""
        for path, value in self.items:
            found = _chain(root, path)
            for position, item in enumerate(
                found[-1][0].items[found[-1][1]].items if found else []
            ):
                if item.value == value:
                    return [*found, (found[-1][0].items[found[-1][1]], position)]
        return next(_entries(root, []), [])

    def _parsed(self, text: str) -> Node:
        try:
            root = parse(text)
        except Malformed as problem:
            raise not_settings(self.path, f"is not JSON: {problem}") from None
        shapes: list[tuple[list[str], type]] = [(path, list) for path, _ in self._lists()]
        shapes += [(path[:-1], dict) for path, _ in self.members]
        for path, shape in [([], dict), ([HOOKS], dict), *shapes]:
            found = _at(root.value, path)
            if found is not None and not isinstance(found, shape):
                raise not_settings(
                    self.path, f"does not hold settings: {'.'.join(path) or 'no object'}"
                )
        return root

    def programs(self, text: str) -> list[str]:
        if _is_blank(text):
            return []
        values = [
            chain[-1][0].items[chain[-1][1]].value for chain in _entries(self._parsed(text), [])
        ]
        return [path for value in values for path in programs_of(_command(value))]


def _entries(node: Node, chain: list[Spot]) -> Iterator[list[Spot]]:
    """Yield the way to each object that starts something of ours, in whichever of the clients' forms."""
    for position, item in enumerate(node.items):
        way = [*chain, (node, position)]
        value = item.value
        if (
            isinstance(value, dict)
            and (value.get("command") or value.get("url"))
            and is_ours(value)
        ):
            yield way
        else:
            yield from _entries(item, way)


def _command(value: dict[str, Any]) -> list[Any]:
    command, arguments = value.get("command"), value.get("args")
    if isinstance(arguments, list):
        return [command, *arguments]
    return command if isinstance(command, list) else _words(str(command or ""))


def _names_hooks(container: Node, position: int) -> bool:
    return bool(container.keys) and container.keys[position][0] == HOOKS


def _words(line: str) -> list[str]:
    """The words of a shell's line, without what stands between its commands."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(lexer)


def programs_of(words: list[Any]) -> list[str]:
    """The files that a command of ours needs: its program, and the script or libraries it is given."""
    return [word for word in words if isinstance(word, str) and word.startswith("/")]


def _is_blank(text: str) -> bool:
    return not text.strip("\ufeff \t\r\n")


def is_ours(value: Any) -> bool:
    written = json.dumps(value)
    return any(mark in written for mark in MARKS)


def _at(value: Any, path: list[str]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _chain(root: Node, path: list[str]) -> list[Spot]:
    """Return the way to a value: each object on it, with the position of the next step."""
    chain: list[Spot] = []
    for name in path:
        names = [key for key, _ in root.keys]
        if name not in names:
            return []
        chain.append((root, names.index(name)))
        root = root.items[names.index(name)]
    return chain


def hooks_and_server(
    workspace: Workspace, client: str, events: dict[str, int], server: list[str]
) -> JsonPart:
    """One file with a hook for each event and our MCP server, as Gemini CLI and Qwen Code have it."""
    groups = hook_groups(client, events, name="holdfast")
    members: list[tuple[list[str], Any]] = []
    if server:
        members = [(["mcpServers", "holdfast"], server_entry(server))]
    (file,) = CLIENTS[client].files
    return JsonPart(os.path.join(workspace.root, file), hooks=groups, members=members)


# TOML


@dataclass(frozen=True)
class TomlPart:
    """A table, by the names that lead to it; it is left out where the file has one of that name."""

    path: str
    names: list[str]
    values: dict[str, Any]

    def put(self, text: str) -> Put:
        newline = "\r\n" if "\r\n" in text else "\n"
        # A string and a list of strings are written alike in JSON and in TOML.
        values = [f"{name} = {json.dumps(value)}" for name, value in self.values.items()]
        name = ".".join(self.names)
        block = newline.join([BEGIN, f"[{name}]", *values, END, ""])
        if block in text:
            return {"text": text, "pieces": [], "notes": []}
        text = self.take(text)
        if self._table_in(text):
            note = f"{name} in {self.path} is not ours, and stays; ours was not added."
            return {"text": text, "pieces": [], "notes": [note]}
        before = "" if not text else newline if text.endswith("\n") else newline * 2
        try:
            tomllib.loads(text + before + block)
        except tomllib.TOMLDecodeError:
            note = (
                f"{self.path}: {self.names[0]} is written as a value in braces, to which nothing can be "
                f"added. Add by hand, in the braces: {self.names[-1]} = {{ {', '.join(values)} }}"
            )
            return {"text": text, "pieces": [], "notes": [note]}
        return {"text": text + before + block, "pieces": [before + block], "notes": []}

    def has_ours(self, text: str) -> bool:
        return self.take(text) != text

    def take(self, text: str) -> str:
        while BEGIN in text:
            before, _, rest = text.partition(BEGIN)
            _, end, after = rest.partition(END)
            if not end:
                raise not_settings(self.path, f"has {BEGIN!r} and no {END!r}")
            text = before + after.removeprefix("\r").removeprefix("\n")
        return text

    def programs(self, text: str) -> list[str]:
        found = self._table_in(text) if BEGIN in text else None
        return programs_of([found.get("command"), *found.get("args", [])]) if found else []

    def _table_in(self, text: str) -> Any:
        try:
            return _at(tomllib.loads(text), self.names)
        except (tomllib.TOMLDecodeError, ValueError, RecursionError) as problem:
            raise not_settings(self.path, f"is not TOML: {problem}") from None
