"""The hook launcher: one sh file in the user's data folder, which the settings of all clients start.

Beside it stand `python` (which interpreter and which package to start), `sessions/` (marks that Python
leaves for it, see `hooks.marks`) and `failed/` (what it could not start, for `doctor`). It belongs to the
user and not to a project or a version: an upgrade, a reinstall or the end of the package leaves it, and
settings that name it never start something that is not there.
"""

from __future__ import annotations

import os
import sys

from holdfast.kernel.errors import HoldfastError, from_os_error
from holdfast.kernel.plain_file import list_names, modified_at, read_plain, write_synced
from holdfast.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class StartFailure(TypedDict):
        """A hook that could not be started; `at` in milliseconds."""

        hook: str
        at: int
        reason: str
        folder: str


NAME = "hook.sh"
# Of the launcher. The last number is raised where an installed one has to be replaced between two releases.
VERSION = f"{__version__}.2"
PYTHON = "python"
SESSIONS = "sessions"
FAILED = "failed"
SHELL = "/bin/sh"
# What the launcher tells the Python that it starts: its folder, its version and the client's process. They
# are no settings, so they do not begin as settings do.
FOLDER_VARIABLE = "_HOLDFAST_LAUNCHER"
VERSION_VARIABLE = "_HOLDFAST_VERSION"
CLIENT_VARIABLE = "_HOLDFAST_CLIENT_PID"
WITHOUT_REASON = "The reason could not be written down; the disk was probably full."


def folder_of_user() -> str:
    """`$XDG_DATA_HOME/holdfast`, by default `~/.local/share/holdfast`."""
    data = os.environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):  # the specification: a relative one is to be ignored
        data = os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(data, "holdfast")


def folder_at_work() -> str:
    """The folder of the launcher that started this process; empty when none did."""
    return os.environ.get(FOLDER_VARIABLE, "")


def path() -> str:
    return os.path.join(folder_of_user(), NAME)


def command(*words: str) -> list[str]:
    """How a program starts a hook."""
    return [SHELL, path(), *words]


def line(*words: str) -> str:
    """How a shell starts a hook, as one string: every version of a client understands that, where
    some leave out a list of arguments. It works in any shell, fish too, and ends with 0 whatever stands
    in the launcher's place: a shell that cannot read its script ends with 2, which means "block". bash
    needs no second shell, which is a third of the cost; others may not read the launcher as sh does."""
    file = quote(path())
    script = '\'trap "exit 0" 0; . "$0" 2>/dev/null\''
    in_bash = f'test -n "$BASH_VERSION" && {_source(words)}'
    return f"{in_bash}; test -r {file} && exec {SHELL} -c {script} {file} {' '.join(words)}; exit 0"


def sourced_line(*words: str) -> str:
    """The same for clients that use sh or bash."""
    return f"{_source(words)}; exit 0"


def _source(words: tuple[str, ...]) -> str:
    file = quote(path())
    return f"trap 'exit 0' 0 && test -r {file} && set -- {' '.join(words)} && . {file} 2>/dev/null"


def install() -> bool:
    """Put the launcher and what it starts in place, both as of this package; whether that changed
    something. A newer version that is still there stays: the journals of its projects are newer, too."""
    folder = folder_of_user()
    has_newer = is_newer(content_of(os.path.join(folder, PYTHON)))
    if has_newer and content_of(os.path.join(folder, NAME)):
        return False
    try:
        for each in (folder, os.path.join(folder, SESSIONS), os.path.join(folder, FAILED)):
            os.makedirs(each, 0o700, exist_ok=True)
        changed = _write(os.path.join(folder, NAME), text(folder), 0o755)
        if has_newer:
            return changed
        return _write(os.path.join(folder, PYTHON), installation(), 0o644) or changed
    except OSError as error:
        raise from_os_error(error, f"writing {os.path.join(folder, NAME)}") from error


def renew_if_older() -> None:
    """Replace a launcher of an older version: clients start it until it is replaced, with its faults."""
    written = content_of(os.path.join(folder_of_user(), NAME))
    known = written.partition("\nversion='")[2].partition("'")[0]
    if not written or number_of(known) >= number_of(VERSION):
        return
    try:
        install()
    except HoldfastError:
        return  # `doctor` says what is wrong


def keep_current() -> None:
    """After an upgrade, let the launcher that started this process be this version's; when what it is to
    start is gone, let it start this package."""
    folder = folder_at_work()
    if not folder:
        return
    try:
        if number_of(VERSION) > number_of(os.environ.get(VERSION_VARIABLE, "")):
            _write(os.path.join(folder, NAME), text(folder), 0o755)
        known = content_of(os.path.join(folder, PYTHON))
        if known != installation() and not is_usable(known):
            _write(os.path.join(folder, PYTHON), installation(), 0o644)
    except OSError:
        return  # the next one tries again


def text(folder: str) -> str:
    """The launcher for a folder, as this version has it."""
    from holdfast.clients.events import PERSONS_COMMANDS

    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), NAME)
    with open(source, encoding="utf-8") as file:
        first, *lines = file.read().splitlines(keepends=True)
    # A shell reads comments, too, at every event.
    written = first + "".join(each for each in lines if not each.lstrip().startswith("#"))
    persons = " | ".join(f"*holdfast*{'*'.join(words)}*" for words in PERSONS_COMMANDS)
    written = written.replace("@PERSONS@", persons)
    written = written.replace("here=@HERE@", f"here={quote(folder)}")
    return written.replace("version=@VERSION@", f"version={quote(VERSION)}")


def installation() -> str:
    """What the launcher has to start, as lines for a shell: this interpreter and this package."""
    import apsw

    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    libraries = os.path.dirname(os.path.dirname(os.path.abspath(apsw.__file__)))
    entry = os.path.join(package, "hooks", "entry.py")
    return (
        f"# holdfast {__version__}\n"
        f"python={quote(_interpreter())}\n"
        f"entry={quote(entry)}\n"
        f"libraries={quote(libraries)}\n"
    )


def _interpreter() -> str:
    """This interpreter, in a virtual environment under the name that it keeps: `python3.11` is gone once
    the environment is made anew under another Python."""
    folder = os.path.dirname(sys.executable)
    plain = os.path.join(folder, "python")
    is_environment = os.path.exists(os.path.join(os.path.dirname(folder), "pyvenv.cfg"))
    if is_environment and os.path.realpath(plain) == os.path.realpath(sys.executable):
        return plain
    return sys.executable


def programs(written: str) -> list[str]:
    """The interpreter and the script that an installation names."""
    values = dict(each.split("=", 1) for each in written.splitlines() if "=" in each)
    found = [values.get(name, "") for name in ("python", "entry")]
    return [value[1:-1].replace("'\\''", "'") for value in found if value]


def is_usable(written: str) -> bool:
    """Whether an installation is still there, and of this version or a newer one."""
    first, found = written.partition("\n")[0], programs(written)
    is_old = number_of(first.rpartition(" ")[2]) < number_of(__version__)
    return len(found) == 2 and not is_old and all(os.path.exists(each) for each in found)


def is_newer(written: str) -> bool:
    """Whether an installation is still there, and of a newer version than this one."""
    is_other = number_of(written.partition("\n")[0].rpartition(" ")[2]) > number_of(__version__)
    return is_other and is_usable(written)


def problem() -> str:
    """What is wrong with the launcher of this user; empty when it would start this package, or another
    one of the same version or a newer one."""
    folder = folder_of_user()
    written = content_of(os.path.join(folder, NAME))
    if not written:
        return f"{os.path.join(folder, NAME)} is missing: no hook can be started."
    if written != text(folder) and not is_newer(content_of(os.path.join(folder, PYTHON))):
        return f"{os.path.join(folder, NAME)} is another version's."
    known = content_of(os.path.join(folder, PYTHON))
    gone = [each for each in programs(known) if not os.path.exists(each)]
    if gone:
        return f"{os.path.join(folder, NAME)} starts {gone[0]}, which is not there."
    if not is_usable(known):
        return f"{os.path.join(folder, PYTHON)} names another version of holdfast, or none."
    return ""


def failures() -> list[StartFailure]:
    """The hooks that could not be started, the last first."""
    folder = os.path.join(folder_of_user(), FAILED)
    found: list[StartFailure] = []
    for name in list_names(folder):
        place = os.path.join(folder, name)
        reason, _, where = content_of(place).partition("\n")
        hook, at = " ".join(name.split(".", 1)), modified_at(place)
        reason = reason.strip() or WITHOUT_REASON
        found.append({"hook": hook, "at": at, "reason": reason, "folder": where.strip()})
    return sorted((one for one in found if one["at"]), key=lambda one: -one["at"])


def forget_failures() -> int:
    """After a person saw them: how many there were."""
    folder = os.path.join(folder_of_user(), FAILED)
    names = list_names(folder)
    for name in names:
        os.unlink(os.path.join(folder, name))
    return len(names)


def quote(value: str) -> str:
    """As one word for a shell."""
    return "'" + value.replace("'", "'\\''") + "'"


def _write(place: str, content: str, mode: int) -> bool:
    if content_of(place) == content:
        return False
    write_synced(place, content.encode(), mode)
    return True


def content_of(place: str) -> str:
    """The text of a file; empty where it cannot be read."""
    try:
        return read_plain(place).decode(errors="replace")
    except OSError:
        return ""


def number_of(version: str) -> list[int]:
    """A version as numbers that can be compared."""
    return [int(part) for part in version.partition("-")[0].split(".") if part.isdecimal()]
