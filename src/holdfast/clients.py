"""Letting a client call holdfast by itself, and taking that back byte for byte.

Claude Code merges `.claude/settings.local.json` into its settings and git does not see it, which
suits a command with this machine's paths in it.
"""

from __future__ import annotations

import json
import os
import stat

from holdfast.kernel.disk import write_synced
from holdfast.kernel.errors import HoldfastError, from_os_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal, TypedDict

    from holdfast.kernel.workspace import Workspace

    class Installed(TypedDict):
        """What `init` or `uninstall` did to one client."""

        client: str
        path: str
        status: Literal["installed", "already", "removed", "restored", "absent"]


CLIENTS = ("claude",)
SETTINGS = os.path.join(".claude", "settings.local.json")
# Event, and how long Claude Code may wait for us; SessionEnd's own limit is 1.5 s.
EVENTS = {"SessionStart": 10, "PreCompact": 20, "Stop": 20, "SessionEnd": 5}
MARK = "holdfast/hooks/entry.py"


def install(
    workspace: Workspace, client: str, command: Callable[..., list[str]], *, dry_run: bool = False
) -> Installed:
    """Add our hooks to the client's settings; everything else in them stays."""
    path = _settings_of(workspace)
    before = _read(path)
    after = _with_hooks(before, command)
    if after == before:
        return {"client": client, "path": path, "status": "already"}
    if not dry_run:
        try:
            _keep_original(workspace, client, path, before, after)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_synced(path, after or b"", _mode_of(path))
        except OSError as error:
            raise from_os_error(error, f"writing {path}") from error
    return {"client": client, "path": path, "status": "installed"}


def uninstall(workspace: Workspace, client: str, *, dry_run: bool = False) -> Installed:
    """Put the file back as it was; when somebody changed it since, only our hooks are taken out."""
    path = _settings_of(workspace)
    present = _read(path)
    if present is None or MARK.encode() not in present:
        return {"client": client, "path": path, "status": "absent"}
    kept = _kept(workspace, client)
    untouched = kept is not None and kept["installed"] == present.decode(errors="surrogateescape")
    if dry_run:
        return {"client": client, "path": path, "status": "restored" if untouched else "removed"}
    try:
        if kept is not None and untouched:
            _restore(path, kept)
        else:
            write_synced(path, _without_hooks(present, path), _mode_of(path))
        _forget(workspace, client)
    except OSError as error:
        raise from_os_error(error, f"writing {path}") from error
    return {"client": client, "path": path, "status": "restored" if untouched else "removed"}


def _settings_of(workspace: Workspace) -> str:
    """The file itself, when it is a link: the link stays."""
    return os.path.realpath(os.path.join(workspace.root, SETTINGS))


def _mode_of(path: str) -> int:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        return 0o644


def _with_hooks(before: bytes | None, command: Callable[..., list[str]]) -> bytes | None:
    settings = _parsed(before or b"{}", SETTINGS)
    hooks = settings.setdefault("hooks", {})
    wanted = {event: _handler(command("claude", event), limit) for event, limit in EVENTS.items()}
    if all(wanted[event] in hooks.get(event, []) for event in wanted):
        return before
    for event, handler in wanted.items():
        hooks[event] = [*_others(hooks.get(event, [])), handler]
    return _written(settings)


def _handler(words: list[str], limit: int) -> dict[str, Any]:
    """The form without a shell: no quoting of this machine's paths can go wrong."""
    return {
        "hooks": [{"type": "command", "command": words[0], "args": words[1:], "timeout": limit}]
    }


def _others(groups: list[Any]) -> list[Any]:
    """What is not ours: whole groups, and handlers that somebody put into a group of ours."""
    kept = []
    for group in groups:
        inside = group.get("hooks") if isinstance(group, dict) else None
        if not _is_ours(group) or not isinstance(inside, list):
            kept.append(group)
        elif left := [handler for handler in inside if not _is_ours(handler)]:
            kept.append({**group, "hooks": left})
    return kept


def _is_ours(handler: Any) -> bool:
    return MARK in json.dumps(handler)


def _written(settings: dict[str, Any]) -> bytes:
    try:
        return (json.dumps(settings, indent=2, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # half a letter, which JSON allows and UTF-8 does not
        return (json.dumps(settings, indent=2) + "\n").encode()


def _without_hooks(present: bytes, path: str) -> bytes:
    settings = _parsed(present, path)
    hooks = settings.get("hooks", {})
    for event in list(hooks):
        hooks[event] = _others(hooks[event])
        if not hooks[event]:
            del hooks[event]
    if not hooks:
        settings.pop("hooks", None)
    return _written(settings)


def _parsed(content: bytes, path: str) -> dict[str, Any]:
    try:
        value = json.loads(content.decode("utf-8-sig"))
    except ValueError as error:
        raise HoldfastError(
            f"{path} is not JSON: {error}.", hint="Correct it first; nothing was changed."
        ) from None
    hooks = value.get("hooks", {}) if isinstance(value, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(one, list) for one in hooks.values()):
        raise HoldfastError(f"{path} does not hold settings.", hint="Nothing was changed.")
    found: dict[str, Any] = value
    return found


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _record(workspace: Workspace, client: str) -> str:
    key = workspace.root.replace("/", "%")
    return os.path.join(workspace.home, "clients", f"{client}{key}.json")


def _keep_original(
    workspace: Workspace, client: str, path: str, before: bytes | None, after: bytes | None
) -> None:
    record = _record(workspace, client)
    known = _kept(workspace, client)
    if known and known["installed"] == _text(before):
        original = known["original"]
    elif before is not None and MARK.encode() in before:
        # Edited since: what it was without us is the best that can be given back.
        original = _text(_without_hooks(before, path))
    else:
        original = _text(before)
    made_folder = known["made_folder"] if known else not os.path.isdir(os.path.dirname(path))
    os.makedirs(os.path.dirname(record), 0o700, exist_ok=True)
    kept = {
        "original": original,
        "installed": _text(after),
        "made_folder": made_folder,
    }
    write_synced(record, json.dumps(kept).encode())


def _kept(workspace: Workspace, client: str) -> dict[str, Any] | None:
    content = _read(_record(workspace, client))
    if content is None:
        return None
    value = json.loads(content)
    return value if isinstance(value, dict) else None


def _restore(path: str, kept: dict[str, Any]) -> None:
    if kept["original"] is None:
        os.unlink(path)
        if kept["made_folder"] and not os.listdir(os.path.dirname(path)):
            os.rmdir(os.path.dirname(path))
    else:
        write_synced(path, kept["original"].encode(errors="surrogateescape"), _mode_of(path))


def _forget(workspace: Workspace, client: str) -> None:
    record = _record(workspace, client)
    if os.path.exists(record):
        os.unlink(record)


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode(errors="surrogateescape")
