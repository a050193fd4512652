"""The text of a patch as `apply_patch` takes it: Codex's own format, which opencode knows as well.

```
*** Begin Patch
*** Update File: parser.py
*** Move to: reader.py
@@ def parse(line):
     blank, minus and plus begin the lines
*** Add File: new.py
+every line has a plus
*** Delete File: old.py
*** End Patch
```
"""

from __future__ import annotations

from holdfast.kernel.patterns import MULTILINE, compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.clients.conversation import Change, Replacement

    class PatchedFile(TypedDict):
        """One file of a patch. `origin` is the name that it had before, empty where it was not moved."""

        path: str
        origin: str
        change: Change
        body: str
        exact: list[Replacement]


_HEADER = compile_later(r"^\*\*\* (Update|Add|Delete) File: (.+?)\s*$", MULTILINE)
_MOVED = compile_later(r"^\*\*\* Move to: (.+?)\s*$", MULTILINE)
_CHANGES: dict[str, Change] = {"Update": "edited", "Add": "created", "Delete": "deleted"}
_END = "*** "


def files_of(text: str) -> list[PatchedFile]:
    """The files that a patch changes; the text between two headers belongs to the first."""
    headers = list(_HEADER.finditer(text))
    found: list[PatchedFile] = []
    for number, header in enumerate(headers):
        end = headers[number + 1].start() if number + 1 < len(headers) else len(text)
        body = text[header.end() : end]
        moved = _MOVED.search(body[:1000]) if header[1] == "Update" else None
        change = _CHANGES[header[1]]
        found.append(
            {
                "path": moved[1] if moved else header[2],
                "origin": header[2] if moved else "",
                "change": "created" if moved else change,
                "body": body,
                "exact": _added(body) if change == "created" else _hunks(body),
            }
        )
    return found


def _added(body: str) -> list[Replacement]:
    lines = [line[1:] for line in body.split("\n") if line.startswith("+")]
    return [{"new": "".join(f"{line}\n" for line in lines)}]


def _hunks(body: str) -> list[Replacement]:
    """The parts of a patch: lines that are replaced, with the lines around them."""
    found: list[Replacement] = []
    after, old, new = "", "", ""
    # The first line is the rest of the header.
    for line in [*body.rstrip("\n").split("\n")[1:], "@@"]:
        if line.startswith("@@"):
            if old != new:
                found.append({"old": old, "new": new, "whole_lines": True, "after": after})
            after, old, new = line[2:].strip(), "", ""
        elif line.startswith(_END):
            continue
        elif line[:1] in ("-", "+"):
            old += f"{line[1:]}\n" if line[0] == "-" else ""
            new += f"{line[1:]}\n" if line[0] == "+" else ""
        elif not line or line.startswith(" "):
            old, new = f"{old}{line[1:]}\n", f"{new}{line[1:]}\n"
    return found
