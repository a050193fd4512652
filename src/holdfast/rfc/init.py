"""Begin an RFC: its folder, the files of its author, and the first state."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from holdfast.kernel import clock
from holdfast.kernel.door import Door
from holdfast.kernel.errors import HoldfastError, NotAllowed, from_os_error
from holdfast.kernel.streams import open_writer
from holdfast.kernel.text import quote
from holdfast.kernel.views.files import Unreadable, file_at
from holdfast.rfc.reader import Reader, RfcContext
from holdfast.rfc.rules import state_file
from holdfast.rfc.rules.model import (
    EVIDENCE_FILE,
    RFC_FILE,
    STATE_FILE,
    STRICTNESS,
    path_of,
    stream_of,
)

if TYPE_CHECKING:
    from holdfast.kernel.commit import Outcome

EVIDENCE = '{\n  "schema_version": "v1",\n  "items": []\n}\n'
SKELETON = """\
---
template_id: {template}
template_version: {version}
strictness: {strictness}
---

# RFC-{date}: {title}

## Scope

## Requirements

## Decisions

## Scenarios

## Open questions
"""


class InitResult(TypedDict):
    """A new RFC, and which of its files existed before."""

    id: str
    strictness: str
    folder: str
    kept: list[str]
    outcome: Outcome


def init(
    context: RfcContext, id: str, *, title: str = "", strictness: str = "standard"
) -> InitResult:
    """Begin an RFC in DISCOVER. Files that its author wrote before are kept."""
    stream = stream_of(id)
    strictness = strictness.lower()
    kept: list[str] = []
    with Reader(context.workspace) as reader:
        is_gone = reader.is_gone(id)
    if strictness in STRICTNESS and (is_gone or not _exists(context, id)):
        kept = _make_files(context, id, title, strictness)
    command = {"do": "begin", "strictness": strictness, "anew": is_gone}
    writer = open_writer(context.workspace)
    outcome = writer.execute(
        stream, command, actor=context.actor, now=context.now, raise_removed=is_gone
    )
    return {
        "id": id,
        "strictness": strictness,
        "folder": path_of(id, ""),
        "kept": kept,
        "outcome": outcome,
    }


def is_title(line: str) -> bool:
    """Return whether a line of rfc.md is the title that `init` writes."""
    date, sign, _ = line.removeprefix("# RFC-").partition(": ")
    return line.startswith("# RFC-") and bool(sign) and date.isdigit()


def close(context: RfcContext, id: str, *, reopen: bool = False) -> tuple[str, Outcome]:
    """End an RFC that will not be accepted, or open it again: its id, and what was recorded. Its files stay
    as they are, and no list, pack or bootstrap offers it any more."""
    with Reader(context.workspace) as reader:
        found = reader.find(id)
        adopt(context, reader, found)
    command = {"do": "reopen" if reopen else "close"}
    writer = open_writer(context.workspace)
    outcome = writer.execute(stream_of(found), command, actor=context.actor, now=context.now)
    return found, outcome


def _exists(context: RfcContext, id: str) -> bool:
    with Reader(context.workspace) as reader:
        known = reader.stored(id)[1] > 0
    path = path_of(id, STATE_FILE)
    if not known and file_at(context.workspace, path).status():
        raise HoldfastError(
            f"{path} exists already.",
            hint=f"It is taken over as it is by the first `holdfast rfc write` for {id}.",
            kind="exists",
        )
    return known


def _make_files(context: RfcContext, id: str, title: str, strictness: str) -> list[str]:
    """Make the author's files before the first record, so that a killed init can be repeated."""
    text = SKELETON.format(
        template=state_file.TEMPLATE_ID,
        version=state_file.TEMPLATE_VERSION,
        strictness=strictness,
        date=clock.stamp(context.now)[:10].replace("-", ""),
        title=" ".join(Door(context.workspace, opens=True).text(title or id).split()),
    )
    kept = []
    try:
        for folder in (".debug", ".reviews"):
            file_at(context.workspace, path_of(id, folder)).make_folder()
        for name, content in ((RFC_FILE, text), (EVIDENCE_FILE, EVIDENCE)):
            try:
                file_at(context.workspace, path_of(id, name)).write(content.encode(), is_new=True)
            except FileExistsError:
                kept.append(name)
    except (FileExistsError, NotADirectoryError) as error:
        raise NotAllowed(f"{error.filename} is in the way: it is no folder.") from None
    except OSError as error:
        raise from_os_error(error, f"making {path_of(id, '')}") from error
    return kept


def adopt(context: RfcContext, reader: Reader, id: str) -> None:
    """Take over files without a record, such as another machine's. Unreadable ones are refused:
    there is no better copy of them."""
    if reader.stored(id)[1] > 0:
        return
    try:
        state_file.read(reader.view(id, STATE_FILE))
    except FileNotFoundError:
        return
    except (Unreadable, ValueError) as problem:
        raise _unusable(path_of(id, STATE_FILE), id, str(problem)) from None
    for said in reader.state(id)[1]:
        path, _, what = said.partition(": ")
        raise _unusable(path, id, what)
    writer = open_writer(context.workspace)
    writer.execute(stream_of(id), {"do": "adopt"}, actor=context.actor, now=context.now)


def _unusable(path: str, id: str, what: str) -> HoldfastError:
    return HoldfastError(
        f"{path} cannot be taken over: {what}.",
        hint=f"Correct it (`holdfast rfc lint {quote(id)}`), or move it away.",
        kind="unreadable",
    )
