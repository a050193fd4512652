"""The files and names that a session used: which ones, how often, how lately."""

from __future__ import annotations

from math import log2

from holdfast.observe.mentions import names_in, paths_in, whole_words
from holdfast.observe.model import HALF_LIFE, ROOM, lighten, newest, pick, shrink, wait_for_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.conversation import SessionEvent
    from holdfast.observe.model import Observation, SeenFile

EDIT, READ, USE = 2.0, 1.0, 1.0
NAMED_IN = {
    "edit": 1.0,
    "run": 1.0,
    "search": 1.0,
    "call": 0.6,
    "prompt": 0.5,
    "said": 0.4,
    "report": 0.3,
    "output": 0.2,
}
GLIMPSED_IN = {"output": 0.05, "report": 0.5, "said": 0.5, "prompt": 0.5, "edit": 0.1}
# So many letters are kept of the names of a patch's files until it ends.
LONGEST_PATCH = 600
# Written by a program, and for a program.
_COMPILED = (".pyc", ".pyo", ".class", ".o", ".so")
_ELSEWHERE = ("/tmp/", "/private/", "/var/", "/dev/", "http", "path/to/")  # noqa: S108


def _set_place(seen: Observation, event: SessionEvent) -> None:
    # The session's own folder is where it began; a `cd` in between does not rename every path.
    seen["cwd"] = seen["cwd"] or event.path[:300].rstrip("/")


def _add_edit(seen: Observation, event: SessionEvent) -> None:
    path = relative(seen, event.path)
    if not path:
        return
    file = touch(seen, path, EDIT)
    seen["edits"] += 1
    file["edits"] += 1
    if event.change == "deleted":
        file["state"] = "deleted"
    elif event.change == "created" and not file["reads"] and file["edits"] == 1:
        file["state"] = "created"
    elif file["state"] != "created":
        file["state"] = "edited"
    name_all(seen, event.text, NAMED_IN["edit"], file["number"])
    glimpse(seen, whole_words(event.text), GLIMPSED_IN["edit"])
    # A patch changes several files in one call.
    kind, *others = seen["pending"].get(event.id) or ["edit"]
    if kind != "edit" or sum(map(len, others)) > LONGEST_PATCH:
        others = []
    wait_for_end(seen, event.id, "edit", *others, path)


def _add_read(seen: Observation, event: SessionEvent) -> None:
    path = relative(seen, event.path)
    file = touch(seen, path, READ) if path else None
    number = -1
    if file is not None:
        number = file["number"]
        file["reads"] += 1
        wait_for_end(seen, event.id, "read", path)
    if event.text:
        name_all(seen, event.text, NAMED_IN["search"], number)


def _add_search(seen: Observation, event: SessionEvent) -> None:
    path = relative(seen, event.path)
    file = touch(seen, path, READ) if path and paths_in(path) == [path] else None
    name_all(seen, event.text, NAMED_IN["search"], -1 if file is None else file["number"])
    wait_for_end(seen, event.id, "search", path)


def _add_call(seen: Observation, event: SessionEvent) -> None:
    # Its first word is the tool itself.
    if event.text:
        name_all(seen, event.text.partition(" ")[2], NAMED_IN["call"], -1)


def take_back(seen: Observation, path: str) -> None:
    """Take back an edit that did not happen."""
    seen["edits"] -= 1
    file = seen["files"].get(path)
    if file is not None:
        file["edits"] = max(0, file["edits"] - 1)
        if not file["edits"]:
            file["state"] = "read"
        elif file["state"] == "deleted":
            file["state"] = "edited"


def relative(seen: Observation, path: str) -> str:
    """A path as the session's folder sees it; empty for one that is of no use to anybody."""
    path = path.strip()
    cwd = seen["cwd"]
    if cwd and path.startswith(cwd + "/"):
        path = path[len(cwd) + 1 :]
    path = path.removeprefix("./")
    if path.startswith(_ELSEWHERE) or "\n" in path or len(path) > 240 or path == cwd:
        return ""
    if "__pycache__" in path or path.endswith(_COMPILED):
        return ""
    return path


def touch(seen: Observation, path: str, use: float) -> SeenFile:
    files = seen["files"]
    file = files.get(path)
    is_new = file is None
    if file is None:
        seen["numbered"] += 1
        seen["glimpsed"].pop(path, None)
        file = files[path] = {
            "number": seen["numbered"],
            "weight": -99.0,
            "edits": 0,
            "reads": 0,
            "call": 0,
            "state": "read",
        }
    file["weight"] = heavier(file["weight"], use, seen["calls"])
    file["call"] = seen["calls"]
    if file["state"] == "deleted":
        file["state"] = "edited" if file["edits"] else "read"
    if path in seen.get("gone", ()):
        seen["gone"].remove(path)
    if is_new:
        shrink(files, ROOM["files"], 60, keep=path)
    return file


def glimpse(seen: Observation, text: str, use: float) -> None:
    """Paths that a text names without anything being done to them yet."""
    text = " ".join([word for word in text.split() if "/" in word])
    if not text:
        return
    glimpsed = seen["glimpsed"]
    grown = False
    for found in paths_in(text):
        path = relative(seen, found)
        if path.startswith(("a/", "b/")):
            path = path[2:]  # the two sides of a diff
        if "/" not in path or len(path) > 120 or not path.isascii() or path[0] in "/~":
            continue
        if path.startswith("..") or _is_gone(seen, path):
            continue
        if path in seen["files"]:
            file = seen["files"][path]
            file["weight"] = heavier(file["weight"], use, seen["calls"])
            continue
        grown = grown or path not in glimpsed
        glimpsed[path] = heavier(glimpsed.get(path, -99.0), use, seen["calls"])
    if grown:
        lighten(glimpsed, ROOM["glimpsed"])


def heavier(weight: float, use: float, now: int) -> float:
    """A kept weight after one more use."""
    fresh = log2(use) + now / HALF_LIFE
    high, low = max(weight, fresh), min(weight, fresh)
    return round(high + log2(1.0 + 2.0 ** max(-60.0, low - high)), 2)


def name_all(seen: Observation, text: str, use: float, number: int) -> None:
    names, now = seen["names"], seen["calls"]
    fresh = round(log2(use) + now / HALF_LIFE, 2)
    before = len(names)
    for name in names_in(text):
        known = names.get(name)
        if known is None:
            names[name] = [fresh, number]
        else:
            known[0] = heavier(known[0], use, now)
            if number >= 0:
                known[1] = number
    if len(names) == before or sum(map(len, names)) + 16 * len(names) <= ROOM["names"]:
        return
    heaviest = [name for _, name in sorted([(-known[0], name) for name, known in names.items()])]
    kept = pick(heaviest, ROOM["names"] * 9 // 10, lambda name: len(name) + 16)
    seen["names"] = {name: names[name] for name in kept}


def mark_gone(seen: Observation, removed: list[str], made: list[str]) -> None:
    """Mark files that a command removed or moved away, and remember that they are gone."""
    for path in removed:
        for known, file in seen["files"].items():
            if _lies_in(known, path):
                file["state"] = "deleted"
        for known in [known for known in seen["glimpsed"] if _lies_in(known, path)]:
            del seen["glimpsed"][known]
    gone = [path for path in seen.get("gone", []) if path not in removed] + removed
    gone = [path for path in gone if not any(_lies_in(path, one) for one in made)]
    seen["gone"] = newest(gone, 30, ROOM["gone"])


def _is_gone(seen: Observation, path: str) -> bool:
    return any(_lies_in(path, one) for one in seen.get("gone", ()))


def _lies_in(path: str, folder: str) -> bool:
    return bool(folder) and (path == folder or path.startswith(folder.rstrip("/") + "/"))


FILE_STEPS: dict[str, Any] = {
    "place": _set_place,
    "edit": _add_edit,
    "read": _add_read,
    "search": _add_search,
    "call": _add_call,
}
