"""The URL of a journal on a server, and how to open it."""

from __future__ import annotations

import os

from holdfast.journal.postgres.url import has_password, without_password
from holdfast.kernel.config import config_file, from_file, unreadable, untrusted_in, variable_of
from holdfast.kernel.errors import HoldfastError, NotAllowed, Usage
from holdfast.kernel.plain_file import read_plain
from holdfast.kernel.trust import is_trusted
from holdfast.processes.distribution import install_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.journal.postgres.journal import PostgresJournal
    from holdfast.kernel.workspace import Workspace

VARIABLE = "HOLDFAST_URL"
SETTING = "journal.url"
SCHEMES = ("postgresql://", "postgres://")


def address_of(workspace: Workspace) -> str:
    """The URL of the workspace's journal; empty for the file. One that stands in a file which came with
    the repository counts only once this user has trusted it."""
    url = setting(workspace, SETTING)
    if url:
        source = VARIABLE if VARIABLE in os.environ else SETTING
        check(url, source)
        if source == SETTING and has_password(url):
            raise HoldfastError(
                f"{SETTING} holds a password, and the file that it stands in may be committed.",
                hint=f"Leave it out there; put it into ~/.pgpass, or the whole URL into {VARIABLE}.",
                kind="bad_config",
            )
        if source == SETTING and not is_trusted(workspace, url):
            raise NotAllowed(
                "This repository names a server for the journal that you have not trusted: "
                f"{without_password(url)}.",
                hint="If it is yours: holdfast trust. "
                f"To keep the journal on this machine: export {VARIABLE}=",
                kind="untrusted_url",
            )
    return url


def open_journal(workspace: Workspace, url: str) -> PostgresJournal:
    """The workspace's journal on a server."""
    from holdfast.remote import server_time
    from holdfast.remote.identity import machine_of, name_by_now, name_of, settle
    from holdfast.streams import LOCAL_EFFECTS

    try:
        from holdfast.journal.postgres.journal import PostgresJournal
    except ImportError as error:
        raise HoldfastError(
            f"A journal on PostgreSQL needs psycopg, which is missing: {error}.",
            hint=install_command("postgres"),
            kind="missing_extra",
        ) from error
    return PostgresJournal(
        url,
        name_of(workspace),
        machine_of(workspace),
        settle=lambda name, machine: settle(workspace, name, machine),
        named=lambda: name_by_now(workspace),
        heard=lambda anchor: server_time.keep(workspace, anchor),
        local_effects=LOCAL_EFFECTS,
    )


def setting(workspace: Workspace, name: str) -> str:
    """One setting that is needed before the journal is open, with nothing else looked at."""
    given = os.environ.get(variable_of(name))
    if given is not None:
        return given
    path = config_file(workspace)
    if not path:
        return ""
    # The parser costs as much as a bare interpreter, so only for a file that may speak of it.
    try:
        text = read_plain(path)
    except OSError as error:
        raise unreadable(path, error) from error
    if b"journal" not in text or name.partition(".")[2].encode() not in text:
        return ""
    found = from_file(workspace, None)
    if name in untrusted_in(workspace, found):
        # To go by another name instead would split the records of a team.
        raise NotAllowed(
            f"This repository names a {name} that you have not trusted: {found[name]}.",
            hint="`holdfast trust --show` says what it may do; `holdfast trust` lets it count.",
            kind="untrusted_setting",
        )
    return str(found.get(name, ""))


def check(url: str, source: str) -> None:
    if not url.startswith(SCHEMES):
        raise Usage(
            f"{source} is no URL of a journal: {without_password(url)}.",
            hint="It is postgresql://USER@HOST:PORT/DATABASE, or empty for the file.",
            kind="bad_url",
        )
