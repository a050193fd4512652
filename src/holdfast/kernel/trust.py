"""What a person has trusted the settings of a repository with.

A setting in a repository's own file comes from the author of that file: without a person's word, a clone
of a stranger's repository would run the stranger's commands, and send what is noted there to the
stranger. The word is kept in the user's own folder, for this clone and this very content.
"""

from __future__ import annotations

import os

from holdfast.kernel import canonical_json
from holdfast.kernel.atomic import write_synced
from holdfast.kernel.digest import digest
from holdfast.kernel.lock import WorkspaceLock
from holdfast.kernel.workspace import user_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypedDict

    from holdfast.kernel.workspace import Workspace

    class Word(TypedDict):
        """What a person trusted in one workspace: `url` is a server for its journal, or the digest of
        the settings, behind `DIGEST`."""

        workspace: str
        url: str
        at: str


FILE = "trusted.json"
SCHEMA = 1
LONGEST = 1_000_000
DIGEST = "settings:"


def is_trusted(workspace: Workspace, url: str) -> bool:
    key = key_of(workspace)
    return any(word["workspace"] == key and word["url"] == url for word in _read())


def trust(workspace: Workspace, url: str, at: str) -> None:
    """Keep a person's word; OSError where that cannot be done."""
    key = key_of(workspace)
    said: Word = {"workspace": key, "url": url, "at": at}
    _change(lambda words: [*_without(words, key, url), said])


def forget(workspace: Workspace, url: str) -> bool:
    """Take it back; whether there was one."""
    key = key_of(workspace)
    if not is_trusted(workspace, url):
        return False
    _change(lambda words: _without(words, key, url))
    return True


def words_of(settings: Mapping[str, Any]) -> str:
    """What stands for these settings among the words; another value gives another one."""
    return DIGEST + digest(canonical_json.dumps(dict(settings)).encode()).hex()


def forget_settings(workspace: Workspace) -> bool:
    """Take back every word about the settings of a workspace; whether there was one."""
    key = key_of(workspace)

    def is_about_settings(word: Word) -> bool:
        return word["workspace"] == key and word["url"].startswith(DIGEST)

    if not any(is_about_settings(word) for word in _read()):
        return False
    _change(lambda words: [word for word in words if not is_about_settings(word)])
    return True


def key_of(workspace: Workspace) -> str:
    """All worktrees of a clone are one; another clone is not."""
    return os.path.realpath(workspace.git_dir or workspace.root)


def _without(words: list[Word], key: str, url: str) -> list[Word]:
    return [word for word in words if (word["workspace"], word["url"]) != (key, url)]


def _read() -> list[Word]:
    try:
        with open(os.path.join(user_folder(), FILE), encoding="utf-8") as file:
            if os.fstat(file.fileno()).st_uid != os.getuid():
                return []
            document = canonical_json.loads(file.read(LONGEST))
    except (OSError, ValueError):
        return []
    found = document.get("trusted") if isinstance(document, dict) else None
    return [word for word in found if _is_word(word)] if isinstance(found, list) else []


def _is_word(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(value.get(name), str) for name in ("workspace", "url", "at")
    )


def _change(change: Callable[[list[Word]], list[Word]]) -> None:
    place = user_folder()
    os.makedirs(place, 0o700, exist_ok=True)
    with WorkspaceLock(place):
        document = {"schema": SCHEMA, "trusted": change(_read())}
        text = canonical_json.indented(document)
        write_synced(os.path.join(place, FILE), text.encode() + b"\n")
