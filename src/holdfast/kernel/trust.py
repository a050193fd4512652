"""What a person has trusted a repository with: its settings, and a journal that came with it.

A setting in a repository's own file comes from the author of that file: without a person's word, a clone
of a stranger's repository would run the stranger's commands, and send what is noted there to the
stranger. The word is kept in the user's own folder, for this clone and this very content.

A project without git has its journal in the user's folder. Versions up to 0.2 had it in the project's tree, where an
archive from a stranger can bring one: claims with commands, effects that wait to be sent, views of other folders. Such
a journal has a random number, and the user's folder keeps the numbers of those that were made here.

A repository's journal is in its `.git` folder, which no clone brings, but an archive can. It has such a
number for each home. It is used without one, because a repository is shared with containers; but what was
recorded before this user's first act there is no answer and no issue of this user.
"""

from __future__ import annotations

import os

from holdfast.kernel import canonical_json
from holdfast.kernel.digest import digest, id_of, new_id
from holdfast.kernel.errors import HoldfastError, NotAllowed, NotFound, from_os_error
from holdfast.kernel.lock import WorkspaceLock
from holdfast.kernel.plain_file import read_plain, write_synced
from holdfast.kernel.project_home import take_over, tree_journal
from holdfast.kernel.workspace import Workspace, user_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypedDict

    from holdfast.journal.interface import Journal
    from holdfast.journal.sqlite import SqliteJournal

    class Word(TypedDict):
        """What a person trusted in one workspace: `url` is a server for its journal, the digest of
        the settings behind `DIGEST`, the number of a journal behind `JOURNAL`, or the file of
        the signers behind `SIGNERS`."""

        workspace: str
        url: str
        at: str


FILE = "trusted.json"
SCHEMA = 1
LONGEST = 1_000_000
DIGEST = "settings:"
JOURNAL = "journal:"
SIGNERS = "signers:"
ISSUE = "issue:"
# Where a journal keeps its number. In a repository, each home has its own one there, and beside it the
# number of the last record that was made elsewhere.
ORIGIN = "origin"
# The folder of the marks for what this user asked for in a clone: commands of probes, issues, journals.
MARKS = "probes"
EVERYTHING = 2**63 - 1
# The list of the workspaces that this user has set up; `maintenance.known_roots` keeps it.
WORKSPACES = "workspaces.json"


def is_trusted(workspace: Workspace, url: str) -> bool:
    key = key_of(workspace)
    return any(word["workspace"] == key and word["url"] == url for word in _read())


def trust(workspace: Workspace, url: str, at: str) -> None:
    """Keep a person's word; OSError where that cannot be done."""
    key = key_of(workspace)
    said: Word = {"workspace": key, "url": url, "at": at}
    _change(lambda words: [*_without(words, key, url), said])


def forget(workspace: Workspace, url: str) -> bool:
    """Withdraw the trust in a URL. False if it was not trusted."""
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


def signers_of(workspace: Workspace) -> str:
    """The allowed-signers file, as an absolute path; empty when no signature is asked for. A person who
    signed once is remembered: who takes the setting out of a file of the repository, or names another
    one there, changes nothing before a person says so (`holdfast trust`)."""
    named, remembered = named_signers(workspace), remembered_signers(workspace)
    return named if not remembered or named in remembered else remembered[-1]


def named_signers(workspace: Workspace) -> str:
    """What the setting `gate.signers` names, as an absolute path."""
    from holdfast.kernel import config

    journal = workspace.journal if workspace.exists() else None
    named = str(config.load(workspace, journal)["gate.signers"]).strip()
    return os.path.join(workspace.root, os.path.expanduser(named)) if named else ""


def remembered_signers(workspace: Workspace) -> list[str]:
    """The files by which people signed in this clone, the latest last. The journal knows them, too: a process
    with a home of its own is asked for the same signatures."""
    here = [url.removeprefix(SIGNERS) for url in _urls(workspace) if url.startswith(SIGNERS)]
    return list(dict.fromkeys([*_recorded_signers(workspace), *here]))


def _recorded_signers(workspace: Workspace) -> list[str]:
    try:
        if workspace.url and not workspace.is_on_server:
            return []  # to ask does not connect
        recorded = workspace.journal.get(SIGNERS) if workspace.exists() else None
    except HoldfastError:
        return []  # what is wrong with the journal is said elsewhere
    return recorded.split("\n") if recorded else []


def _record_signers(workspace: Workspace, files: list[str]) -> None:
    if workspace.exists() and not workspace.journal.read_only:
        workspace.journal.put(SIGNERS, "\n".join(files))


def replaced_signers(workspace: Workspace) -> str:
    """The file by which people signed here, where `gate.signers` names it no more; empty otherwise."""
    remembered = remembered_signers(workspace)
    if not remembered:
        return ""
    try:
        return "" if named_signers(workspace) in remembered else remembered[-1]
    except HoldfastError:
        return ""  # what is wrong with the settings is said elsewhere


def remember_signers(workspace: Workspace, file: str, at: str) -> None:
    if file and file not in _recorded_signers(workspace):
        _record_signers(workspace, [*_recorded_signers(workspace), file])
    if file and SIGNERS + file not in _urls(workspace):
        trust(workspace, SIGNERS + file, at)


def replace_signers(workspace: Workspace, at: str) -> None:
    """Let the setting as it is count instead of those that are remembered, as a person said."""
    key, named = key_of(workspace), named_signers(workspace)
    said: list[Word] = [{"workspace": key, "url": SIGNERS + named, "at": at}] if named else []

    def is_about_signers(word: Word) -> bool:
        return word["workspace"] == key and word["url"].startswith(SIGNERS)

    _change(lambda words: [*(one for one in words if not is_about_signers(one)), *said])
    _record_signers(workspace, [named] if named else [])


def is_foreign(workspace: Workspace) -> bool:
    """Whether the journal in the tree of a project without git was made elsewhere."""
    from holdfast.journal.sqlite import SqliteJournal

    path = tree_journal(workspace)
    if not path:
        return False
    try:
        # Only read: a file that was made elsewhere is left as it is.
        journal = SqliteJournal(path, read_only=True)
    except NotFound:
        return False  # empty: another process makes it at this moment
    try:
        origin = journal.get(ORIGIN) or ""
        if origin:
            return not is_trusted(workspace, JOURNAL + origin)
        return not _is_blank(journal) and not _was_set_up(workspace)
    finally:
        journal.close()


def take_over_known(workspace: Workspace) -> None:
    """Take over the journal that an older version left in the tree of a project without git. Refuse one that
    was made elsewhere."""
    path = tree_journal(workspace)
    if not path:
        return
    if is_foreign(workspace):
        raise NotAllowed(
            f"{path} was made elsewhere, or the project was moved since.",
            hint="If it is yours: holdfast trust. If it came with an archive, remove it. "
            "Nothing of it was used.",
            kind="foreign_journal",
        )
    try:
        take_over(workspace)
    except OSError as error:
        raise from_os_error(error, f"moving {path} to {workspace.home}") from error


def number_new_journal(workspace: Workspace) -> dict[str, str]:
    """The rows by which a new journal will be this user's. The user's folder knows the number now: a kill
    before the journal is made leaves a number without a journal, which lets nothing in."""
    if not workspace.git_dir:
        return {}  # it is in the user's own folder
    number = _number_here(workspace) or _keep_new_number(workspace)
    return {f"{ORIGIN}:{number}": "0"} if number else {}


def remember_here(workspace: Workspace, what: str) -> None:
    """Keep in the user's folder that this user asked for something in this clone. Where that cannot be
    written, as in a sandbox, it is not known later."""
    flags = os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        os.makedirs(os.path.join(user_folder(), MARKS), mode=0o700, exist_ok=True)
        os.close(os.open(_mark(workspace, what), flags, 0o600))
    except OSError:
        return


def is_known_here(workspace: Workspace, what: str) -> bool:
    """Whether this user asked for it in this clone. A journal that came with an archive brings no mark."""
    try:
        return os.lstat(_mark(workspace, what)).st_uid == os.getuid()
    except OSError:
        return False


def _mark(workspace: Workspace, what: str) -> str:
    return os.path.join(user_folder(), MARKS, id_of(f"{key_of(workspace)}\0{what}"))


def made_elsewhere_until(workspace: Workspace) -> int:
    """The number of the last record in a repository's journal that was made elsewhere: in another place,
    or before this home knew it. 0 when all were made here. A server's journal was trusted by its address."""
    if workspace.url or not workspace.git_dir or not workspace.exists():
        return 0
    number = _number_here(workspace)
    until = workspace.journal.get(f"{ORIGIN}:{number}") if number else None
    if until is not None:
        return int(until)
    mains = {workspace.root, os.path.dirname(workspace.git_dir)}
    if not number and mains.intersection(listed_workspaces()):
        return 0  # this user ran `init` here, before such journals had a number
    if (
        workspace.local
        and Workspace(workspace.root, git_dir=workspace.git_dir, home=workspace.home).url
    ):
        return 0  # a hook reads what this machine knows of the server's journal
    return EVERYTHING


def notice_arrival(workspace: Workspace) -> None:
    """At an act of this user in a repository's journal that is not known here: it is known from now on,
    and what it holds by now was made elsewhere."""
    if made_elsewhere_until(workspace) == EVERYTHING and not workspace.journal.read_only:
        newest = workspace.journal.latest(limit=1)
        know_journal(workspace, workspace.journal, until=newest[0]["seq"] if newest else 0)


def know_journal(workspace: Workspace, journal: Journal, *, until: int = 0) -> None:
    """Keep that a repository's journal is this user's, except for the records up to a number. Each home has
    a number of its own in it: a container and its host use one journal."""
    number = _number_here(workspace) or _keep_new_number(workspace)
    if number:
        journal.put(f"{ORIGIN}:{number}", str(until))


def _keep_new_number(workspace: Workspace) -> str:
    """A number of this home for the journal in this place; empty in a sandbox, where the journal stays one
    that is not known."""
    folder = os.path.join(user_folder(), MARKS)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with WorkspaceLock(user_folder()):
            number = _number_here(workspace)  # another process may have kept one meanwhile
            if not number:
                number = new_id()
                write_synced(_mark(workspace, JOURNAL), number.encode())
    except OSError:
        return ""
    return number


def _number_here(workspace: Workspace) -> str:
    """The random number by which this home knows the journal in this place; the author of an archive does
    not know it."""
    try:
        return read_plain(_mark(workspace, JOURNAL), LONGEST, follow=False).decode(
            "ascii", "replace"
        )
    except OSError:
        return ""


def _is_blank(journal: SqliteJournal) -> bool:
    (row,) = journal.connection().execute(
        "SELECT EXISTS (SELECT 1 FROM streams) OR EXISTS (SELECT 1 FROM outbox)"
        " OR EXISTS (SELECT 1 FROM views) OR EXISTS (SELECT 1 FROM refused)"
        " OR EXISTS (SELECT 1 FROM meta WHERE key != 'fence')"
    )
    return not row[0]


def _was_set_up(workspace: Workspace) -> bool:
    """Whether this user ran `init` here before journals had a number."""
    if any(url.startswith(JOURNAL) for url in _urls(workspace)):
        return False
    return workspace.root in listed_workspaces()


def listed_workspaces() -> list[str]:
    """The folders in which this user ran `init`."""
    try:
        document = canonical_json.loads(
            read_plain(os.path.join(user_folder(), WORKSPACES), LONGEST).decode()
        )
    except (OSError, ValueError):
        return []
    found = document.get("workspaces") if isinstance(document, dict) else None
    return [root for root in found if isinstance(root, str)] if isinstance(found, list) else []


def key_of(workspace: Workspace) -> str:
    """All worktrees of a clone are one; another clone is not."""
    return os.path.realpath(workspace.git_dir or workspace.root)


def _urls(workspace: Workspace) -> list[str]:
    key = key_of(workspace)
    return [word["url"] for word in _read() if word["workspace"] == key]


def _without(words: list[Word], key: str, url: str) -> list[Word]:
    return [word for word in words if (word["workspace"], word["url"]) != (key, url)]


def _read() -> list[Word]:
    path = os.path.join(user_folder(), FILE)
    try:
        if os.stat(path).st_uid != os.getuid():
            return []
        document = canonical_json.loads(read_plain(path, LONGEST).decode())
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
        text = canonical_json.dump_indented(document)
        write_synced(os.path.join(place, FILE), text.encode() + b"\n")
