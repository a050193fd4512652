"""One turn of a copy of a session, without tools: what the clients' modules `fork` share.

A client that can, continues a copy of its own. For the others the copy is made here, below a folder that is removed
afterwards: the old session's files are only read.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from holdfast.clients.lines import read_piece, size_of
from holdfast.clients.usage.model import TOKENS, count
from holdfast.kernel.plain_file import list_names

TAIL = 1 << 20


@dataclass(frozen=True)
class ForkedTurn:
    """How to start the turn. The client writes its answer to standard output."""

    words: list[str]
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ForkReply:
    """What came back: the answer, or what the client says instead of it. `tokens` is None where it does not say how
    many the turn took."""

    text: str = ""
    why: str = ""
    model: str = ""
    tokens: dict[str, int] | None = None


class ForkingClient(Protocol):
    """The module `fork` of a client."""

    def fork(self, session: str, path: str, prompt: str, scratch: str) -> ForkedTurn:
        """How to continue a copy of a session. `path` is its transcript, `scratch` an empty folder."""

    def reply(self, output: str, path: str, scratch: str) -> ForkReply:
        """What the client wrote."""


def overlay(home: str, folder: str, fresh: tuple[str, ...]) -> None:
    """Fill a folder with links to all that a client keeps in its home, except what it writes down of sessions."""
    os.makedirs(folder, 0o700)
    for name in list_names(home):
        if not name.startswith(fresh):
            os.symlink(os.path.join(home, name), os.path.join(folder, name))


def copy(source: str, target: str) -> None:
    """Copy a file or a folder of a session to its place below the copy's folder."""
    os.makedirs(os.path.dirname(target), 0o700, exist_ok=True)
    if os.path.isdir(source):
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copyfile(source, target)


def tail_of(path: str) -> bytes:
    """The end of a transcript, which tells the model and the count of its last turn."""
    return read_piece(path, TAIL, max(0, size_of(path) - TAIL))


def tokens_of(*numbers: Any) -> dict[str, int]:
    """Tokens in the order of TOKENS: what went in beside the cache, what came out, from and to the cache."""
    return dict(zip(TOKENS, map(count, (*numbers, 0, 0)), strict=False))


def objects_in(output: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of an output: one a line, or a list, or one over several lines."""
    try:
        whole = json.loads(output)
        values = whole if isinstance(whole, list) else [whole]
    except ValueError:
        values = []
        for line in output.splitlines():
            try:
                values.append(json.loads(line))
            except ValueError:
                continue
    yield from (value for value in values if isinstance(value, dict))
