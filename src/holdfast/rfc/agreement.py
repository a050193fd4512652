"""Whether the files of an RFC fit together, before something is built on them."""

from __future__ import annotations

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.views.files import Unreadable, text_of
from holdfast.rfc.reading import VIEWS, Reader
from holdfast.rfc.rules import bootstrap as steps
from holdfast.rfc.rules import fields, path_of
from holdfast.rfc.rules.parse import Parsed
from holdfast.rfc.rules.words import (
    CHECKPOINT_FILE,
    STATE_FILE,
    SUMMARY_FILE,
    BootstrapError,
    rounds_of,
    version_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.rfc.rules.bootstrap import Review


def check_versions(reader: Reader, id: str) -> None:
    """Refuse two files that are not of one write, as the bootstrap does; AMB-RFC-07.

    What is missing or cannot be read says no version: that is told, and mended, by the write.
    """
    if all(reader.is_as_we_left_it(path_of(id, name)) for name in VIEWS):
        return
    state = _state_version(reader, id)
    file = _checkpoint_version(reader, id)
    if state is None or file is None or not steps.are_apart(file, state):
        return
    if _state_version(reader, id) != state:
        return  # somebody is writing both right now
    raise HoldfastError(
        f"checkpoint.md says version {file}, state.json version {state}: "
        "they are not of one write. Nothing was written.",
        hint="Bring back the one that is wrong, from git or with "
        f"`holdfast history rfc:{id}`; or go on with what both say now: --accept-versions.",
        kind="versions_apart",
    )


def _state_version(reader: Reader, id: str) -> int | None:
    try:
        said = fields.read(reader.view(id, STATE_FILE))
    except (FileNotFoundError, Unreadable, ValueError):
        return None
    return version_of(said) if "checkpoint_version" in said else None


def _checkpoint_version(reader: Reader, id: str) -> int | None:
    try:
        read = Parsed(reader.view(id, CHECKPOINT_FILE))
    except (FileNotFoundError, Unreadable):
        return None
    return None if read.fatal or read.id != id else read.document["version"]


def review_of(reader: Reader, id: str) -> Review:
    """What blocked the gate, as the reviewers' summary says it; refused when that is not there."""
    try:
        text = text_of(reader.file(id, SUMMARY_FILE))
    except FileNotFoundError:
        raise steps.refused(
            id,
            f"{SUMMARY_FILE} is missing, and Gate-B failed",
            hint="The reviewers' summary says what blocked the gate; write it first.",
        ) from None
    except Unreadable as problem:
        raise steps.refused(id, f"{SUMMARY_FILE} is {problem}") from None
    return steps.reviewed(id, text)


def before_a_restart(reader: Reader, id: str, after: dict[str, Any]) -> list[str]:
    """What would keep the next context from its bootstrap, said while this one can still mend it."""
    if not rounds_of(after):
        return []
    try:
        review_of(reader, id)
    except BootstrapError as refusal:
        return [f"After the restart, {refusal.message} Write it before you restart."]
    return []
