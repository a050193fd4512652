"""What can go wrong, who has to act, and the exit code that says so.

HoldfastError             1   refused or failed
├── Usage                 2   the words of the call are off
├── NotFound              3
├── NotAllowed            4
├── Conflict              5   another writer was first
│   ├── VersionConflict       another record took the expected version
│   ├── FenceLost             this life was taken over
│   └── StreamClosed          the stream was ended; a late write does not reopen it
├── Stopped               7   an emergency stop or a budget stops all agents
├── Waiting               8   a person has not answered yet
├── Declined              9   a person said no
└── StoreAway            75   the store is busy, full, read-only or out of reach
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class ErrorData(TypedDict):
        kind: str
        message: str
        hint: str
        retryable: bool


class HoldfastError(Exception):
    """A failure with a name, a sentence and, where there is one, a way out."""

    kind = "refused"
    exit_code = 1
    retryable = False

    def __init__(self, message: str, *, hint: str = "", kind: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if kind:
            self.kind = kind

    def data(self) -> ErrorData:
        return {
            "kind": self.kind,
            "message": self.message,
            "hint": self.hint,
            "retryable": self.retryable,
        }


class Usage(HoldfastError):
    kind = "usage"
    exit_code = 2


class NotFound(HoldfastError):
    kind = "not_found"
    exit_code = 3


class NotAllowed(HoldfastError):
    kind = "not_allowed"
    exit_code = 4


class Conflict(HoldfastError):
    kind = "conflict"
    exit_code = 5


class VersionConflict(Conflict):
    kind = "version_conflict"
    retryable = True


class FenceLost(Conflict):
    kind = "fence_lost"


class StreamClosed(Conflict):
    kind = "stream_closed"


class Stopped(HoldfastError):
    kind = "stopped"
    exit_code = 7


class Waiting(HoldfastError):
    kind = "waiting"
    exit_code = 8
    retryable = True


class Declined(HoldfastError):
    kind = "declined"
    exit_code = 9


class StoreAway(HoldfastError):
    kind = "store_away"
    exit_code = 75
    retryable = True


def journal_damaged(what: str, hint: str = "") -> HoldfastError:
    """Return the refusal to show what a damaged journal holds."""
    return HoldfastError(
        what,
        hint=hint
        or "`holdfast doctor --fix` saves what can be read; `holdfast backup FILE --restore` brings "
        "back a copy.",
        kind="journal_damaged",
    )


def from_os_error(error: OSError, doing: str) -> StoreAway:
    """The failure of a write to this machine's disk, in words that say what to do."""
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreAway(
            f"The disk is full: {doing} failed. Nothing that was acknowledged is lost.",
            hint="Free some space and run the same command again.",
            kind="disk_full",
        )
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return StoreAway(
            f"No permission to write: {doing} failed ({error.strerror}).",
            hint="Make the folder writable for this user, or run as its owner.",
            kind="read_only",
        )
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return StoreAway(
            f"{doing} failed: this process may open no more files. Nothing was changed.",
            hint="Allow it more: ulimit -n 256",
            kind="too_many_files",
        )
    return StoreAway(f"{doing} failed: {error.strerror or error}.", kind="io_error")
