"""The files of an RFC that its author writes: Holdfast made them, and only the title is Holdfast's to change."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast.kernel.erased_text import MARK
from holdfast.kernel.places import YOU, Place
from holdfast.kernel.plain_file import read_plain
from holdfast.parts import Copies
from holdfast.rfc.init import is_title
from holdfast.rfc.rules.model import EVIDENCE_FILE, RFC_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def _clean_title(path: str, wanted: list[bytes]) -> bytes | None:
    """Return an RFC with the text taken out of its title; None where the title does not hold it."""
    lines = read_plain(path, os.stat(path).st_size + 1).splitlines(keepends=True)
    for number, line in enumerate(lines):
        if is_title(line.decode(errors="replace")) and any(form in line for form in wanted):
            for form in wanted:
                lines[number] = lines[number].replace(form, MARK.encode())
            return b"".join(lines)
    return None


def _list_authored(root: str, views: Sequence[str]) -> Iterator[tuple[str, str]]:
    for path in views:
        folder = os.path.dirname(os.path.join(root, path))
        texts = [os.path.join(folder, name) for name in (RFC_FILE, EVIDENCE_FILE)]
        if os.path.basename(path) == "state.json" and any(map(os.path.exists, texts)):
            yield "an RFC and its evidence, which its author wrote", folder


COPIES = Copies(clean={RFC_FILE: _clean_title}, list_authored=_list_authored)
PLACES = [
    Place("tree", ".ohrfc/*/checkpoint.md", "The reasoning behind an RFC: a view of its stream", "Markdown", YOU, is_read=True),
    Place("tree", ".ohrfc/*/state.json", "The phase of an RFC: a view of its stream", "JSON", YOU, is_read=True),
    Place("tree", ".ohrfc/*/rfc.md", "The RFC; Holdfast writes its title, its author the rest", "Markdown", "its author"),
    Place("tree", ".ohrfc/*/evidence.json", "The evidence of an RFC, which its author fills", "JSON", "its author"),
]  # fmt: skip
