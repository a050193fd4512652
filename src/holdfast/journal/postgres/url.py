"""The URL of a server, as people may see it."""

from __future__ import annotations


def has_password(url: str) -> bool:
    user, at, _ = _authority(url).rpartition("@")
    query = url.partition("?")[2].lower()
    return bool(at and ":" in user) or "password=" in query


def without_password(url: str) -> str:
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
