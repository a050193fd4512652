"""What can go wrong, who has to act, and the exit code that says so.

HoldfastError             1   refused or failed
├── Usage                 2   the words of the call are off
├── NotFound              3
├── NotAllowed            4
├── Conflict              5   another writer was first
│   ├── VersionConflict       another record took the expected version
│   ├── FenceLost             this life was taken over
│   ├── ServerChanged         a copy of the server took over since this life began
│   └── StreamClosed          the stream was ended; a late write does not reopen it
├── Stopped               7   an emergency stop or a budget stops all agents
├── Waiting               8   a person has not answered yet
├── Declined              9   a person said no
└── StoreAway            75   the store is busy, full, read-only or out of reach
"""

from __future__ import annotations

# Fewer open files than these, and a part of Python may not be loaded.
FEW_FILES = 64

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


class ServerChanged(Conflict):
    """It may be right again once a person has looked, so that nothing of it is given up."""

    kind = "server_changed"
    retryable = True


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


def out_of_memory(doing: str) -> StoreAway:
    return StoreAway(
        f"{doing} failed: there is not enough memory. Nothing that was acknowledged is lost.",
        hint="End another program, or allow this one more (ulimit -v), and run the same command again.",
        kind="out_of_memory",
    )


def explain(error: BaseException, doing: str = "this command") -> HoldfastError | None:
    """Return the shortage that an exception of any type comes from; None where it comes from none.

    A shortage hides: a module that cannot be opened is an ImportError, or is said not to exist."""
    if isinstance(error, HoldfastError):
        return error
    if isinstance(error, OSError):
        return from_os_error(error, error.filename or doing)
    if isinstance(error, RecursionError):
        return HoldfastError(
            "What was given is nested too deeply.", hint="Make it flatter.", kind="too_deep"
        )
    if isinstance(error, MemoryError) or "can't start new thread" in str(error):
        return out_of_memory(doing)
    if type(error).__module__ == "apsw":
        from holdfast.journal.sqlite_rows import in_our_words

        return in_our_words(error, doing, "")  # type: ignore[arg-type]
    return _find_shortage(error, doing)


def _find_shortage(error: BaseException, doing: str) -> HoldfastError | None:
    """Return the shortage behind an exception: one that it was raised for, or one of a module's file."""
    import errno
    import os

    behind = error.__cause__ or error.__context__
    while behind is not None:
        if isinstance(behind, MemoryError):
            return out_of_memory(doing)
        if isinstance(behind, OSError) and behind.errno in (
            errno.EMFILE,
            errno.ENFILE,
            errno.ENOMEM,
            errno.ENOSPC,
        ):
            return from_os_error(behind, doing)
        behind = behind.__cause__ or behind.__context__
    if not isinstance(error, (ImportError, SystemError)):
        return None
    # A folder that cannot be listed looks empty, so that a module in it is said not to exist.
    if os.strerror(errno.EMFILE) in str(error) or _has_few_files():
        return from_os_error(OSError(errno.EMFILE, os.strerror(errno.EMFILE)), doing)
    if "failed to map segment" in str(error) or _has_little_memory():
        return out_of_memory(doing)
    return None


def _has_few_files() -> bool:
    """Return whether this process may open so few files that a part of Python may not be loaded."""
    import resource

    return 0 <= resource.getrlimit(resource.RLIMIT_NOFILE)[0] < FEW_FILES


def _has_little_memory() -> bool:
    import resource

    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def from_os_error(error: OSError, doing: str) -> StoreAway:
    """The failure of a write to this machine's disk, in words that say what to do."""
    import errno

    if error.errno == errno.ENOMEM:
        return out_of_memory(doing)
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
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
            f"{doing} failed: this process may open no more files. Nothing that was acknowledged is lost.",
            hint="Allow it more: ulimit -n 256",
            kind="too_many_files",
        )
    return StoreAway(f"{doing} failed: {error.strerror or error}.", kind="io_error")
