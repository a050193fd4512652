"""The URL of a journal on a server, and how to open it."""

from __future__ import annotations

import os

from holdfast.journal.postgres.url import has_password, without_password
from holdfast.kernel.config import read_early
from holdfast.kernel.errors import HoldfastError, NotAllowed, Usage
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
    url = read_early(workspace, SETTING)
    if url:
        source = VARIABLE if VARIABLE in os.environ else SETTING
        check(url, source)
        if source == SETTING and has_password(url):
            raise HoldfastError(
                f"{SETTING} holds a password, and its file may be committed.",
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
    from holdfast.kernel.streams import LOCAL_EFFECTS
    from holdfast.remote import server_time
    from holdfast.remote.identity import machine_of, name_by_now, name_of, settle

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


def check(url: str, source: str) -> None:
    if not url.startswith(SCHEMES):
        raise Usage(
            f"{source} is no URL of a journal: {without_password(url)}.",
            hint="It is postgresql://USER@HOST:PORT/DATABASE, or empty for the file.",
            kind="bad_url",
        )
