"""Beginning an RFC: its folder, the files of its author, and the first state."""

from __future__ import annotations

import os

from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError, NotAllowed, from_os_error
from holdfast.kernel.views.files import Unreadable, target_of
from holdfast.rfc import rules
from holdfast.rfc.reading import Reader
from holdfast.rfc.rules import fields
from holdfast.rfc.rules.words import EVIDENCE_FILE, RFC_FILE, STATE_FILE, STRICTNESS
from holdfast.streams import open_writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.kernel.commit import Outcome
    from holdfast.kernel.workspace import Workspace

    class Begun(TypedDict):
        """A new RFC, and which of its files were there before."""

        id: str
        strictness: str
        folder: str
        kept: list[str]
        outcome: Outcome


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


def begin(
    workspace: Workspace, id: str, *, title: str, strictness: str, actor: str, now: int
) -> Begun:
    """A new RFC in DISCOVER. What its author has written already is kept."""
    stream = rules.stream_of(id)
    strictness = strictness.lower()
    if strictness in STRICTNESS and not _is_taken(workspace, id):
        kept = _make_files(workspace, id, title or id, strictness, now)
    else:
        kept = []
    command = {"do": "begin", "strictness": strictness}
    outcome = open_writer(workspace).execute(stream, command, actor=actor, now=now)
    return {
        "id": id,
        "strictness": strictness,
        "folder": rules.path_of(id, ""),
        "kept": kept,
        "outcome": outcome,
    }


def _is_taken(workspace: Workspace, id: str) -> bool:
    with Reader(workspace) as reader:
        known = reader.stored(id)[1] > 0
    if not known and os.path.lexists(target_of(workspace, rules.path_of(id, STATE_FILE))):
        raise HoldfastError(
            f"{rules.path_of(id, STATE_FILE)} exists already.",
            hint=f"It is taken over as it is by the first `holdfast rfc write` for {id}.",
            kind="exists",
        )
    return known


def _make_files(workspace: Workspace, id: str, title: str, strictness: str, now: int) -> list[str]:
    """The author's files, before the first record: whoever is killed here begins again."""
    day = clock.stamp(now)[:10].replace("-", "")
    text = SKELETON.format(
        template=fields.TEMPLATE_ID,
        version=fields.TEMPLATE_VERSION,
        strictness=strictness,
        date=day,
        title=" ".join(title.split()),
    )
    kept = []
    try:
        for folder in (".debug", ".reviews"):
            os.makedirs(target_of(workspace, rules.path_of(id, folder)), exist_ok=True)
        for name, content in ((RFC_FILE, text), (EVIDENCE_FILE, EVIDENCE)):
            try:
                with open(
                    target_of(workspace, rules.path_of(id, name)), "x", encoding="utf-8"
                ) as file:
                    file.write(content)
            except FileExistsError:
                kept.append(name)
    except (FileExistsError, NotADirectoryError) as error:
        raise NotAllowed(f"{error.filename} is in the way: it is no folder.") from None
    except OSError as error:
        raise from_os_error(error, f"making {rules.path_of(id, '')}") from error
    return kept


def adopt(workspace: Workspace, id: str, *, actor: str, now: int) -> bool:
    """Take over files that no record knows, such as another machine's. True when there were some.

    What cannot be read is refused here: nobody has a better copy of it than the file itself.
    """
    with Reader(workspace) as reader:
        if reader.stored(id)[1] > 0:
            return False
        try:
            fields.read(reader.view(id, STATE_FILE))
        except FileNotFoundError:
            return False
        except (Unreadable, ValueError) as problem:
            raise _unusable(id, STATE_FILE, str(problem)) from None
        for said in reader.state(id)[1]:
            path, _, what = said.partition(": ")
            raise _unusable(id, os.path.basename(path), what)
    open_writer(workspace).execute(rules.stream_of(id), {"do": "adopt"}, actor=actor, now=now)
    return True


def _unusable(id: str, name: str, what: str) -> HoldfastError:
    return HoldfastError(
        f"{rules.path_of(id, name)} cannot be taken over: {what}.",
        hint=f"Correct it (`holdfast rfc lint {id}`), or move it away.",
        kind="unreadable",
    )
