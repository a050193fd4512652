"""Where the journal is, when it is not a file of this workspace: its URL, and how to show it."""

from __future__ import annotations

import os

from holdfast.kernel.errors import HoldfastError, NotAllowed, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
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
        if source == SETTING:
            _refuse_untrusted(workspace, url)
    return url


def named_in_file(workspace: Workspace) -> str:
    """The URL that the workspace's own file names, whether anybody trusts it or not."""
    from holdfast.kernel.config import from_file

    return str(from_file(workspace, None).get(SETTING, ""))


def _refuse_untrusted(workspace: Workspace, url: str) -> None:
    from holdfast.remote.trust import is_trusted

    if not is_trusted(workspace, url):
        raise NotAllowed(
            f"This repository names a server for the journal that you have not trusted: {shown(url)}.",
            hint="If it is yours: holdfast journal trust. "
            f"To keep the journal on this machine: export {VARIABLE}=",
            kind="untrusted_url",
        )


def setting(workspace: Workspace, name: str) -> str:
    """One setting that is needed before the journal is open, with nothing else looked at."""
    from holdfast.kernel.config import config_file, from_file, variable_of

    given = os.environ.get(variable_of(name))
    if given is not None:
        return given
    path = config_file(workspace)
    if not path:
        return ""
    # The parser costs as much as a bare interpreter, so only for a file that may speak of it.
    with open(path, "rb") as file:
        text = file.read()
    if b"journal" not in text or name.partition(".")[2].encode() not in text:
        return ""
    return str(from_file(workspace, None).get(name, ""))


def check(url: str, source: str) -> None:
    if not url.startswith(SCHEMES):
        raise Usage(
            f"{source} is no URL of a journal: {shown(url)}.",
            hint="It is postgresql://USER@HOST:PORT/DATABASE, or empty for the file.",
            kind="bad_url",
        )


def has_password(url: str) -> bool:
    user, at, _ = _authority(url).rpartition("@")
    query = url.partition("?")[2].lower()
    return bool(at and ":" in user) or "password=" in query


def shown(url: str) -> str:
    """A URL as people may see it: who, where, which database, and nothing else."""
    scheme, found, rest = url.partition("://")
    if not found:
        return "(not shown: it may hold a password)"
    user, at, host = _authority(url).rpartition("@")
    name = user.partition(":")[0]
    path = rest[len(_authority(url)) :].partition("?")[0].partition("#")[0]
    return f"{scheme}://{name}{at}{','.join(map(_without_word, host.split(',')))}{path}"


def _without_word(host: str) -> str:
    """A host with its port. What is no number there is a password whose `@HOST` was forgotten."""
    bracket, colon, port = host.rpartition(":")
    return host if not colon or port.isdigit() or port.endswith("]") else f"{bracket}:..."


def _authority(url: str) -> str:
    """What stands between the scheme and the database. A raw `/` or `?` in a password belongs to it
    as long as an `@` comes after it."""
    rest = url.partition("://")[2]
    last = rest.rfind("@")
    end = rest.find("/", last + 1)
    question = rest.find("?", last + 1)
    ends = [place for place in (end, question) if place >= 0]
    return rest[: min(ends)] if ends else rest
