"""PostgreSQL's errors in our words. No password is ever among them."""

from __future__ import annotations

import psycopg

from holdfast.kernel.errors import HoldfastError, NotAllowed, NotFound, StoreAway

# Seconds that a command waits for a server that restarts or has no connection to spare.
PATIENCE_SECONDS = 5.0

_SHUT_DOWN = ("57P01", "57P02", "57P03", "25P03", "25P04")
_DECIDE_AGAIN = ("40001", "40P01")
# A pooler gave this session a connection on which it has prepared nothing.
_NOT_PREPARED = "26000"
# libpq does not give the SQLSTATE of a refused connection, so we read its message.
_NO_CONNECTION_LEFT = ("too many clients", "remaining connection slots", "too many connections")
_STARTING = ("starting up", "shutting down", "not yet accepting connections", "in recovery mode")
_PASSWORD = ("password authentication failed", "no password supplied", "password is required")
_ENTRANCE = ("no pg_hba.conf entry", "authentication failed", "is not permitted to log in")
_CERTIFICATE = ("certificate", "SSL", "GSSAPI encryption")


def is_passing(error: psycopg.Error) -> bool:
    """Whether a connection was refused for a reason that a moment may end."""
    return any(words in str(error) for words in (*_NO_CONNECTION_LEFT, *_STARTING))


def is_lost(connection: psycopg.Connection, error: psycopg.Error) -> bool:
    """Return whether the connection died under a statement, the server chose it as a deadlock's victim, or it
    was exchanged by a pooler: nothing is known of the outcome, and the same again is right."""
    return (
        connection.closed
        or connection.broken
        or error.sqlstate
        in (
            _NOT_PREPARED,
            *_SHUT_DOWN,
            *_DECIDE_AGAIN,
        )
    )


def refused_connection(error: psycopg.Error, place: str) -> HoldfastError:
    """Why there is no connection to `place`."""
    said = _first_line(error)
    if any(words in said for words in _NO_CONNECTION_LEFT):
        return StoreAway(
            f"The server of {place} has no connection left: {said}.",
            hint="Try again in a moment, or raise max_connections, or put a session pooler in front.",
            kind="store_busy",
        )
    if any(words in said for words in _PASSWORD):
        return NotAllowed(
            f"{place} does not accept this password.",
            hint="Correct it in HOLDFAST_URL, PGPASSWORD or ~/.pgpass.",
            kind="wrong_password",
        )
    if "database" in said and "does not exist" in said:
        return NotFound(
            f"There is no such database: {place}.",
            hint="Create it (`createdb`), or correct the name in HOLDFAST_URL.",
            kind="no_database",
        )
    if ("role" in said and "does not exist" in said) or any(words in said for words in _ENTRANCE):
        return NotAllowed(
            f"The server does not let this user in: {place}: {said}.",
            hint="Let its owner create the role, and grant it what `holdfast admin grant` prints.",
            kind="no_entrance",
        )
    if any(words in said for words in _CERTIFICATE):
        return NotAllowed(
            f"The server at {place} is not the one it should be: {said}.",
            hint="Look at sslmode and sslrootcert in HOLDFAST_URL, and at the server's certificate.",
            kind="certificate_refused",
        )
    return StoreAway(
        f"No server answers at {place}: {said}.",
        hint="Try again when it is back; nothing that was acknowledged is lost.",
    )


def in_our_words(error: psycopg.Error, doing: str, place: str) -> HoldfastError:
    """Why a statement failed at `place`."""
    state, said = error.sqlstate or "", _first_line(error)
    if state == "42501":
        return NotAllowed(
            f"This role has no right to that: {doing} failed: {said}.",
            hint="`holdfast admin grant ROLE` prints what its owner has to grant; "
            "erasing and retention are the owner's.",
            kind="no_right",
        )
    if state == "25006":
        return StoreAway(
            f"{place} is a copy that cannot be written to: {doing} failed.",
            hint="Name the primary server in HOLDFAST_URL.",
            kind="standby",
        )
    if state in ("55P03", "57014", *_DECIDE_AGAIN):
        return StoreAway(
            f"The journal at {place} is busy: {doing} took too long ({said}).",
            hint="Try again in a moment.",
            kind="store_busy",
        )
    if state == "53100":
        return StoreAway(
            f"The server's disk is full: {doing} failed. Nothing that was acknowledged is lost.",
            hint="Free some space there and run the same command again.",
            kind="disk_full",
        )
    nothing_said = not state and isinstance(error, psycopg.OperationalError)
    if nothing_said or state in _SHUT_DOWN or state[:2] in ("08", "53"):
        return StoreAway(
            f"The server at {place} went away: {doing} failed ({said}).",
            hint="Run the same command again; what was acknowledged is not lost.",
        )
    return HoldfastError(f"{doing} failed at {place}: {said}.", kind="journal_error")


def _first_line(error: psycopg.Error) -> str:
    said = str(error).strip().splitlines()
    text = said[0] if said else type(error).__name__
    return text.rpartition("FATAL:  ")[2].removeprefix("connection failed: ").rstrip(".")
