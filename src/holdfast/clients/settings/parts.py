"""Our part of a client's settings file.

In JSON: items of lists, and members of objects. In TOML: one table at the end, between two comments that say
whose it is.
"""

from __future__ import annotations

import json
import os
import shlex
import tomllib
from collections.abc import Iterator
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
_SECONDS = {"PreCompact": 20, "PreCompress": 20, "Stop": 20, "AfterAgent": 20, "SessionEnd": 5}


def with_seconds(*events: str) -> dict[str, int]:
    """Events, each with the seconds that its hook has."""
    return {event: _SECONDS.get(event, USUAL_SECONDS) for event in events}


def hook_groups(client: str, events: dict[str, int], *, name: str = "") -> dict[str, list[Any]]:
    """A group of one hook for each event, for a client that uses sh or bash."""
    return {
        event: [hook_group(launcher.sourced_line(client, event), limit, name=name)]
        for event, limit in events.items()
    }


def server_entry(server: list[str]) -> dict[str, Any]:
    return {"command": server[0], "args": server[1:]}


class JsonPart:
    """`hooks` are groups for the list of each event; `members` are set where they are not set yet, and
    `items` are put at the end of a list. `elsewhere` names the members that the user has set in another
    file, which ours would override, and that file."""

    def __init__(
        self,
        path: str,
        *,
        hooks: dict[str, list[Any]] | None = None,
        members: list[tuple[list[str], Any]] | None = None,
        items: list[tuple[list[str], Any]] | None = None,
        elsewhere: dict[str, str] | None = None,
    ) -> None:
        self.path = path
        self._elsewhere = elsewhere or {}
        self._hooks = hooks or {}
        self._members = members or []
        self._items = items or []

    def put(self, text: str) -> Put:
        text = f"{text}{{}}\n" if _is_blank(text) else text
        found = self._parsed(text)
        if self._is_complete(found):
            return {"text": text, "pieces": [], "notes": self._notes(found.value)}
        # What an older installation put in goes first, so that nothing of ours is there twice.
        taken = self.take(text)
        root = found.value if taken == text else self._parsed(taken).value
        text, pieces = taken, []
        lists = self._groups()
        if lists and HOOKS not in root:  # at once: each time the whole text is read
            text, piece = insert(text, [HOOKS], self._hooks)
            pieces.append(piece)
            lists = []
        for path, value in (*lists, *self._items):
            text, piece = insert(text, path, value, into_list=True)
            pieces.append(piece)
        for path, value in self._members:
            if _at(root, path) is None and ".".join(path) not in self._elsewhere:
                text, piece = insert(text, path, value)
                pieces.append(piece)
        return {"text": text, "pieces": pieces, "notes": self._notes(root)}

    def _groups(self) -> list[tuple[list[str], Any]]:
        """Each group, with the list that it belongs to."""
        return [([HOOKS, event], one) for event, groups in self._hooks.items() for one in groups]

    def _notes(self, root: dict[str, Any]) -> list[str]:
        """What the user has set, and we leave."""
        here = [
            f"{'.'.join(path)} in {self.path} is not ours, and stays; ours was not added."
            for path, wanted in self._members
            if _at(root, path) not in (None, wanted)
        ]
        there = [
            f"{name} in {file} is yours, and stays; ours was not added, for it would override yours."
            for name, file in self._elsewhere.items()
            if _at(root, name.split(".")) is None
        ]
        return here + there

    def overrides(self, text: str) -> str:
        """The user's own file that a member of ours in this text overrides; empty when there is none."""
        root = self._parsed(text).value
        found = [
            file for name, file in self._elsewhere.items() if is_ours(_at(root, name.split(".")))
        ]
        return found[0] if found else ""

    def _is_complete(self, node: Node) -> bool:
        root = node.value
        lists = (*self._groups(), *self._items)
        return all(value in (_at(root, path) or []) for path, value in lists) and (
            all(self._is_settled(_at(root, path), value, path) for path, value in self._members)
        )

    def _is_settled(self, found: Any, wanted: Any, path: list[str]) -> bool:
        """As we want it, or set by the user, which stays."""
        if ".".join(path) in self._elsewhere:
            return not is_ours(found)
        return found == wanted or (found is not None and not is_ours(found))

    def has_ours(self, text: str) -> bool:
        """Without `take`, which reads the whole text again for each piece."""
        traced = any(trace in text for trace in TRACES)
        return traced and self._find(self._parsed(text)) is not None

    def take(self, text: str) -> str:
        if not any(trace in text for trace in TRACES):
            return text
        while (spot := self._find(self._parsed(text))) is not None:
            text = remove(text, *spot)
        return text

    def _find(self, root: Node) -> Spot | None:
        """Something of ours, with the lists and objects around it that hold nothing else."""
        chain = self._in_hooks(root) or self._in_items(root) or self._in_members(root)
        while len(chain) > 1 and len(chain[-1][0].items) == 1:
            chain.pop()
        return chain[-1] if chain else None

    @staticmethod
    def _in_hooks(root: Node) -> list[Spot]:
        hooks = root.member(HOOKS)
        for place, groups in enumerate(hooks.items if hooks else []):
            for position, group in enumerate(groups.items):
                handlers = group.member(HOOKS)
                ours = [is_ours(one.value) for one in handlers.items] if handlers else []
                if hooks is None or handlers is None or not any(ours):
                    continue
                if not all(ours):
                    return [(handlers, ours.index(True))]
                return [(root, _place(root, HOOKS)), (hooks, place), (groups, position)]
        return []

    def _in_items(self, root: Node) -> list[Spot]:
        for path, value in self._items:
            chain, found = _chain(root, path)
            for position, item in enumerate(found.items if found else []):
                if item.value == value and found is not None:
                    return [*chain, (found, position)]
        return []

    def _in_members(self, root: Node) -> list[Spot]:
        for path, _ in self._members:
            chain, found = _chain(root, path)
            if found is not None and is_ours(found.value):
                return chain
        return []

    def _parsed(self, text: str) -> Node:
        try:
            root = parse(text)
        except Malformed as problem:
            raise not_settings(self.path, f"is not JSON: {problem}") from None
        if not isinstance(root.value, dict):
            raise not_settings(self.path, "does not hold settings")
        self._refuse_repeated(root)
        hooks = root.value.get(HOOKS, {})
        if not isinstance(hooks, dict) or not all(isinstance(one, list) for one in hooks.values()):
            raise not_settings(self.path, f"does not hold settings: {HOOKS}")
        for path, is_list in [(path, True) for path, _ in self._items] + [
            (path[:-1], False) for path, _ in self._members
        ]:
            found = _at(root.value, path)
            if found is not None and not isinstance(found, list if is_list else dict):
                raise not_settings(self.path, f"does not hold settings: {'.'.join(path)}")
        return root

    def _refuse_repeated(self, root: Node) -> None:
        """Of two values of one name, a client takes the last; which one is meant is not ours to say."""
        hooks = [[HOOKS, event] for event in self._hooks]
        for path in (*hooks, *(path for path, _ in (*self._members, *self._items))):
            node: Node | None = root
            for depth, name in enumerate(path):
                if node is not None and name in node.repeated:
                    raise not_settings(self.path, f"has {'.'.join(path[: depth + 1])} twice")
                node = node.member(name) if node is not None else None

    def programs(self, text: str) -> list[str]:
        if _is_blank(text):
            return []
        return [
            path for words in _commands(self._parsed(text).value) for path in programs_of(words)
        ]


def _commands(value: Any) -> Iterator[list[Any]]:
    """The words of each command of ours, in whichever of the clients' forms."""
    if isinstance(value, list):
        for item in value:
            yield from _commands(item)
    elif isinstance(value, dict):
        command = value.get("command")
        if command and is_ours(value):
            arguments = value.get("args")
            if isinstance(arguments, list):
                yield [command, *arguments]
            else:
                yield command if isinstance(command, list) else _words(str(command))
        for item in value.values():
            yield from _commands(item)


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


def _chain(root: Node, path: list[str]) -> tuple[list[Spot], Node | None]:
    """The way to a value: each object on it, with the position of the next step."""
    chain: list[Spot] = []
    node: Node | None = root
    for name in path:
        if node is None or node.member(name) is None:
            return [], None
        chain.append((node, _place(node, name)))
        node = node.member(name)
    return chain, node


def _place(node: Node, name: str) -> int:
    return [key for key, _ in node.keys].index(name)


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


class TomlPart:
    """A table, by the names that lead to it; it is left out where the file has one of that name."""

    def __init__(self, path: str, names: list[str], values: dict[str, Any]) -> None:
        self.path = path
        self._names = names
        self._values = values

    def put(self, text: str) -> Put:
        newline = "\r\n" if "\r\n" in text else "\n"
        block = newline.join([BEGIN, *self._lines(), END, ""])
        if block in text:
            return {"text": text, "pieces": [], "notes": []}
        text = self.take(text)
        document = self._parsed(text)
        for name in self._names:
            document = document.get(name, {}) if isinstance(document, dict) else {}
        if document:
            return {"text": text, "pieces": [], "notes": [self._theirs()]}
        before = "" if not text else newline if text.endswith("\n") else newline * 2
        piece = before + block
        try:
            tomllib.loads(text + piece)
        except tomllib.TOMLDecodeError:
            closed = (
                f"{self._names[0]} is written as a value in braces, to which nothing can be added"
            )
            return {"text": text, "pieces": [], "notes": [self._by_hand(closed)]}
        return {"text": text + piece, "pieces": [piece], "notes": []}

    def has_ours(self, text: str) -> bool:
        return self.take(text) != text

    def take(self, text: str) -> str:
        while BEGIN in text:
            begin = text.index(BEGIN)
            end = text.find(END, begin)
            if end < 0:
                raise not_settings(self.path, f"has {BEGIN!r} and no {END!r}")
            end += len(END)
            for newline in ("\r\n", "\n"):
                if text.startswith(newline, end):
                    end += len(newline)
                    break
            text = text[:begin] + text[end:]
        return text

    def programs(self, text: str) -> list[str]:
        if BEGIN not in text:
            return []
        found: Any = self._parsed(text)
        for name in self._names:
            found = found.get(name) if isinstance(found, dict) else None
        return programs_of([found.get("command"), *found.get("args", [])]) if found else []

    def _theirs(self) -> str:
        return f"{'.'.join(self._names)} in {self.path} is not ours, and stays; ours was not added."

    def _by_hand(self, why: str) -> str:
        words = ", ".join(f"{name} = {json.dumps(value)}" for name, value in self._values.items())
        return f"{self.path}: {why}. Add by hand, in the braces: {self._names[-1]} = {{ {words} }}"

    def _lines(self) -> list[str]:
        # A string and a list of strings are written alike in JSON and in TOML.
        values = [f"{name} = {json.dumps(value)}" for name, value in self._values.items()]
        return [f"[{'.'.join(self._names)}]", *values]

    def _parsed(self, text: str) -> dict[str, Any]:
        try:
            return tomllib.loads(text)
        except (tomllib.TOMLDecodeError, ValueError, RecursionError) as problem:
            raise not_settings(self.path, f"is not TOML: {problem}") from None
