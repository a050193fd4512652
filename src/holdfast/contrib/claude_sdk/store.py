"""A store for the Claude Agent SDK: transcripts in Claude Code's own format, where Holdfast looks for sessions.

`pack`, `usage`, `edits` and `find` read them as they read those of Claude Code on this machine. So an agent whose own
files are gone with its container or its temporary home is still a session that can be continued.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote

from claude_agent_sdk import fold_session_summary

from holdfast.clients.table import AGENT_SDK
from holdfast.kernel.errors import Usage, from_os_error
from holdfast.kernel.workspace import user_folder

ENDING, SUMMARY = ".jsonl", ".summary.json"
LONGEST_NAME = 255 - len(SUMMARY)


class HoldfastSessionStore:
    """Stores the transcripts of SDK sessions. What `append` has returned from is durable.

    Args:
        folder: Where to keep them. [default: the user's folder, where Holdfast looks for sessions]

    Example:
        options = ClaudeAgentOptions(session_store=HoldfastSessionStore())
    """

    def __init__(self, folder: str | os.PathLike[str] = "") -> None:
        self.folder = os.fspath(folder) or os.path.join(user_folder(), AGENT_SDK)
        # The ids of the entries in a file, and how much of it was read for them.
        self._known: dict[str, tuple[int, set[str]]] = {}

    async def append(self, key: Any, entries: list[Any]) -> None:
        """Add entries to a transcript. One with a known `uuid` is left out."""
        if entries:
            await asyncio.to_thread(self._append, self._path(key), entries)

    async def load(self, key: Any) -> list[Any] | None:
        """Return the entries of a transcript; None where there is none."""
        return (await asyncio.to_thread(_read, self._path(key)))[0] or None

    async def list_sessions(self, project_key: str) -> list[Any]:
        """Return the sessions of a project, and when each was written to."""
        return await asyncio.to_thread(lambda: list(self._sessions(project_key)))

    async def list_session_summaries(self, project_key: str) -> list[Any]:
        """Return the SDK's summaries of the sessions of a project."""
        return await asyncio.to_thread(self._summaries, project_key)

    async def delete(self, key: Any) -> None:
        """Remove a transcript; that of a session with those of its subagents."""
        await asyncio.to_thread(self._delete, key)

    async def list_subkeys(self, key: Any) -> list[str]:
        """Return the subpaths of a session's other transcripts."""
        return await asyncio.to_thread(lambda: list(self._subkeys(key)))

    # Files

    def _path(self, key: Any) -> str:
        names = [key["project_key"], key["session_id"]]
        if "subpath" in key:
            names += key["subpath"].split("/")
        return os.path.join(self.folder, *map(_spell, names)) + ENDING

    def _append(self, path: str, entries: list[Any]) -> None:
        lines = [(one.get("uuid"), _line_of(one)) for one in entries]
        try:
            _make_folder(os.path.dirname(path))
            with _locked(path) as file:
                is_new = os.fstat(file).st_size == 0
                known = self._read_known(path, file)
                new: list[bytes] = []
                seen: set[str] = set()
                for id, line in lines:
                    if id is None or id not in known | seen:
                        new.append(line)
                        seen.add(id)
                data = b"".join(new)
                if os.write(file, data) != len(data):
                    raise OSError(28, "No space left on device")
                os.fsync(file)
                self._known[path] = os.fstat(file).st_size, known | seen
            if is_new:
                _sync_folders(os.path.dirname(path), self.folder)
        except OSError as error:
            raise from_os_error(error, "storing the transcript") from error

    def _read_known(self, path: str, file: int) -> set[str]:
        """Return the ids in a file. A line that a crash cut off was never acknowledged: it is removed."""
        size = os.fstat(file).st_size
        at, known = self._known.get(path, (0, set()))
        if at == size:
            return known
        if at > size:  # removed meanwhile
            at, known = 0, set()
        rest = os.pread(file, size - at, at)
        end = rest.rfind(b"\n") + 1
        if end < len(rest):
            os.ftruncate(file, at + end)
        return known | {one.get("uuid") for one in map(json.loads, rest[:end].splitlines())}

    def _sessions(self, project: str) -> Iterator[dict[str, Any]]:
        for name in _names_in(os.path.join(self.folder, _spell(project))):
            if name.endswith(ENDING):
                path = os.path.join(self.folder, _spell(project), name)
                with contextlib.suppress(FileNotFoundError):
                    session = unquote(name.removesuffix(ENDING))
                    yield {"session_id": session, "mtime": os.stat(path).st_mtime_ns // 1_000_000}

    def _summaries(self, project: str) -> list[Any]:
        found = []
        for one in self._sessions(project):
            key = {"project_key": project, "session_id": one["session_id"]}
            path = self._path(key)
            beside = path.removesuffix(ENDING) + SUMMARY
            try:
                with open(beside, encoding="utf-8") as file:
                    at, summary = json.load(file)
            except (OSError, ValueError):
                at, summary = 0, None
            entries, end = _read(path, at)
            if entries:
                summary = fold_session_summary(summary, key, entries)  # type: ignore[arg-type, unused-ignore]
                with contextlib.suppress(OSError):
                    _replace(beside, json.dumps([end, summary]))
            if summary:
                found.append({**summary, "mtime": one["mtime"]})
        return found

    def _delete(self, key: Any) -> None:
        path = self._path(key)
        self._known.pop(path, None)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        if "subpath" not in key:
            beside = path.removesuffix(ENDING)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(beside + SUMMARY)
            shutil.rmtree(beside, ignore_errors=True)
            for one in [one for one in self._known if one.startswith(f"{beside}/")]:
                del self._known[one]

    def _subkeys(self, key: Any) -> Iterator[str]:
        top = self._path({"project_key": key["project_key"], "session_id": key["session_id"]})
        top = top.removesuffix(ENDING)
        for folder, _, names in os.walk(top):
            below = os.path.relpath(folder, top)
            for name in sorted(names):
                parts = [] if below == "." else below.split("/")
                if name.endswith(ENDING):
                    yield "/".join(map(unquote, [*parts, name.removesuffix(ENDING)]))


def _spell(name: Any) -> str:
    """Return a part of a key as the name of a file. No name leads out of the folder."""
    if not isinstance(name, str) or not name:
        raise Usage(
            f"{name!r:.80} cannot be a part of a session's key.",
            hint="It is a text of one or more characters.",
        )
    spelled = quote(name, safe=" ()@+,=", errors="surrogatepass")
    if not spelled.strip("."):
        spelled = spelled.replace(".", "%2E")
    if len(spelled) > LONGEST_NAME:
        raise Usage(
            f"{name[:40]!r}... is too long for a part of a session's key ({len(name)} characters)."
        )
    return spelled


def _line_of(entry: Any) -> bytes:
    try:
        text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Usage(
            f"An entry cannot be stored: {error}. Nothing of its batch was stored.",
            kind="not_serialisable",
        ) from error
    try:
        return f"{text}\n".encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can spell
        return f"{json.dumps(entry, separators=(',', ':'))}\n".encode()


def _read(path: str, at: int = 0) -> tuple[list[Any], int]:
    """Return the whole lines of a file from a place on, and where they end."""
    try:
        with open(path, "rb") as file:
            file.seek(at)
            data = file.read()
    except FileNotFoundError:
        return [], 0
    end = data.rfind(b"\n") + 1
    return [json.loads(line) for line in data[:end].split(b"\n") if line], at + end


@contextlib.contextmanager
def _locked(path: str) -> Iterator[int]:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)


def _make_folder(folder: str) -> None:
    """Make a folder and those above it, for this user alone."""
    if not os.path.isdir(folder):
        _make_folder(os.path.dirname(folder))
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)


def _sync_folders(folder: str, top: str) -> None:
    while True:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        os.fsync(descriptor)
        os.close(descriptor)
        if folder == top or len(folder) <= len(top):
            return
        folder = os.path.dirname(folder)


def _replace(path: str, text: str) -> None:
    new = f"{path}.{os.getpid()}"
    with open(
        new, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)
    ) as file:
        file.write(text)
    os.replace(new, path)


def _names_in(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
