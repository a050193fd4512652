"""The short way's one statement, sent through libpq itself: what a cursor does around a statement of
fourteen values takes as long as the server does with it."""

from __future__ import annotations

import psycopg
from psycopg import generators
from psycopg.pq import ExecStatus, Format, TransactionStatus

from holdfast.kernel.journal.postgres.rows import APPEND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from holdfast.kernel.journal.postgres.connect import Session

# In the order of their numbers in the statement.
_VALUES = (
    *("workspace", "version", "hash", "at", "weight", "stream", "previous", "fence"),
    *("id", "actor", "kind", "salt", "body", "body_hash"),
)
_NUMBERS = frozenset(("workspace", "version", "weight", "fence"))
# Texts go with their length: libpq would end them at their first NUL, where the server refuses it.
_FORMATS = [Format.TEXT if name in _NUMBERS else Format.BINARY for name in _VALUES]
_NAME = b"holdfast_append"
# A command that appends once does not ask the server twice.
PREPARED_AFTER = 5


def _numbered() -> bytes:
    statement = APPEND
    for number, name in enumerate(_VALUES, 1):
        statement = statement.replace(f"%({name})s", f"${number}")
    return statement.encode()


_STATEMENT = _numbered()


def append(session: Session, values: Mapping[str, Any]) -> tuple[int, ...] | None:
    """The numbers that it returns; None when it found nothing to append to."""
    given = [_sent(values[name]) for name in _VALUES]
    is_alone = session.info.transaction_status != TransactionStatus.IDLE
    if session.appended < PREPARED_AFTER or is_alone:
        session.pgconn.send_query_params(_STATEMENT, given, param_formats=_FORMATS)
        answer = _answered(session)
    else:
        answer = _prepared(session, given)
    session.appended += 1
    if not answer.ntuples:
        return None
    return tuple(int(answer.get_value(0, column) or 0) for column in range(5))


def _prepared(session: Session, given: list[bytes | None]) -> Any:
    """By its name. After every rollback psycopg tells the server to forget all such names, ours too;
    then the statement has not begun, and in no transaction of ours it can be said again."""
    if session.prepared:
        session.pgconn.send_query_prepared(_NAME, given, _FORMATS)
        try:
            return _answered(session)
        except psycopg.errors.InvalidSqlStatementName:
            session.prepared = False
    session.pgconn.send_prepare(_NAME, _STATEMENT)
    _answered(session)
    session.prepared = True
    session.pgconn.send_query_prepared(_NAME, given, _FORMATS)
    return _answered(session)


def _sent(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return str(value).encode()


def _answered(session: Session) -> Any:
    (answer,) = session.wait(generators.execute(session.pgconn))
    if answer.status in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
        return answer
    raise psycopg.errors.error_from_result(answer)
