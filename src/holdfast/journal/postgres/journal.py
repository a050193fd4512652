"""The journal in PostgreSQL, through psycopg: many workspaces in one database, many machines on one
workspace.

The workspace's lock on this machine covers its own files only; between machines, the version that an
append expects decides. A connection that dies in the middle of a commit is replaced and the commit
repeated: its first record's id tells whether it had landed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg

from holdfast.journal.chain import refuse_strays
from holdfast.journal.interface import (
    ANCHOR_FIELDS,
    VIEW_FIELDS,
    Append,
    as_dict,
    effect_of,
    head_of,
    id_taken,
    loaded_of,
    receipt_of,
    record_of,
    refusal_of,
    sealed_of,
    wait_for_record,
)
from holdfast.journal.postgres import rows, upkeep
from holdfast.journal.postgres.commit import append_all, append_one, keep_refused, store_snapshot
from holdfast.journal.postgres.connect import ServerSession, Sessions
from holdfast.kernel.clock import Anchor
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import Conflict
from holdfast.kernel.text import without_nul

if TYPE_CHECKING:
    from holdfast.journal.interface import (
        Anchored,
        Collected,
        Effect,
        Head,
        Loaded,
        Receipt,
        Record,
        Refusal,
        Sealed,
        ViewRow,
    )
    from holdfast.journal.mark import Marked
    from holdfast.journal.postgres.commit import Tip

IDLE = psycopg.pq.TransactionStatus.IDLE
# How many streams' tips are remembered for the short way.
REMEMBERED = 4096
# So many times a writer loses to other machines before it keeps them waiting.
OFTEN = 2
# Records that the walk over a chain reads at once.
BATCH = 500
# Seconds between two looks of a reader who waits for the next record.
WAIT_PAUSE = 0.25


class PostgresJournal(Sessions):
    """One workspace in one database."""

    def __init__(
        self,
        url: str,
        workspace: str,
        machine: str,
        *,
        settle: Callable[[str, str], tuple[str, str]] | None = None,
        named: Callable[[], str] | None = None,
        heard: Callable[[Anchor], None] | None = None,
        local_effects: Collection[str] = (),
    ) -> None:
        """`settle` is told both names before the first record, and says which they are; `named` says
        what the workspace is called by now. `heard` is told the server's time. `local_effects` are
        the kinds of effects that only the machine which decided them may carry out."""
        super().__init__(url, heard)
        self.workspace = workspace
        self.machine = machine
        self._local_effects = local_effects
        self._settle = settle
        self._named = named
        self._tips: dict[str, Tip] = {}
        # Streams whose snapshot was changed, and whose state was made of all their records.
        self.rebuilt: set[str] = set()
        self._number = 0
        # Whether the database had no such workspace when it was first asked.
        self.is_new = False
        self._reads_only: bool | None = None
        self.session()

    def number(self) -> int:
        """The workspace's number in this database; 0 while it has none, which nothing has."""
        if not self._number:
            if self._named is not None and self._settle is not None:
                # Opened before the first record: another process may have chosen the name meanwhile.
                self.workspace = self._named() or self.workspace
            found = self._rows(
                "SELECT number FROM holdfast.workspaces WHERE id = %s", self.workspace
            )
            self._number = found[0][0] if found else 0
            self.is_new = self.is_new or not found
        return self._number

    def others(self) -> list[str]:
        """The names of the other workspaces of this database that have records, and may be seen."""
        rows = self._rows(
            "SELECT id FROM holdfast.workspaces WHERE seq > 0 AND id <> %s ORDER BY id",
            self.workspace,
        )
        return [id for (id,) in rows]

    def register(self) -> int:
        """Give the workspace its number, if it has none yet."""
        return self.steadily("writing the journal", self._register)

    def _register(self, session: ServerSession) -> int:
        if self._settle is not None:
            self.workspace, self.machine = self._settle(self.workspace, self.machine)
            self._settle = None
        if not self._number:
            session.execute(
                "INSERT INTO holdfast.workspaces (id) VALUES (%s) ON CONFLICT (id) DO NOTHING",
                (self.workspace,),
            )
            row: Any = session.execute(
                "SELECT number FROM holdfast.workspaces WHERE id = %s", (self.workspace,)
            ).fetchone()
            self._number = row[0]
        return self._number

    @property
    def read_only(self) -> bool:
        """A role that may not append, or a copy of the server that follows another."""
        if self._reads_only is None:
            [(may_write,)] = self._rows(
                "SELECT has_table_privilege('holdfast.records', 'INSERT')"
                " AND NOT pg_is_in_recovery()"
            )
            self._reads_only = not may_write
        return self._reads_only

    # Writing

    def commit(
        self,
        appends: Sequence[Append],
        *,
        views: Sequence[ViewRow] = (),
        effects: Sequence[Effect] = (),
    ) -> list[Receipt]:
        tries, attempt = 0, ""
        present = self.present()
        if present is not None and not present.epoch:
            present.close()  # from before the copy that it leads to took over

        def once(session: ServerSession) -> list[Receipt]:
            nonlocal tries, attempt
            tries += 1
            tried: list[Append] = []
            try:
                receipts = self._commit(session, appends, views, effects, tried)
                if session.pgconn.transaction_status != IDLE:
                    session.commit()
                return receipts
            except (Conflict, psycopg.errors.UniqueViolation) as error:
                self._let_go()
                # Perhaps it was written before: by this very call, on a connection that died with
                # the answer, or by an earlier one whose answer was lost.
                repeated = self._repeated(session, appends, duplicate=tries == 1)
                if repeated:
                    return repeated
                if not tried:
                    raise
                conflict = error if isinstance(error, Conflict) else id_taken(tried[-1])
                if not conflict.retryable:
                    attempt = attempt or new_id()
                    keep_refused(session, self._number, attempt, tried[-1], conflict.message)
                raise conflict from None

        return self.steadily("writing the journal", once)

    @contextmanager
    def alone(self, lost: int) -> Iterator[None]:
        if lost < OFTEN:
            yield
            return
        number = self.register()

        def hold(session: ServerSession) -> None:
            session.execute("BEGIN")
            session.execute(rows.ALONE, (number,))

        self.steadily("writing the journal", hold)
        try:
            yield
        finally:
            self._let_go()

    def _let_go(self) -> None:
        """End the transaction of a writer that is alone, if this one is."""
        session = self.present()
        if session is None or session.pgconn.transaction_status == IDLE:
            return
        try:
            session.rollback()
        except psycopg.Error:
            session.close()

    def _commit(
        self,
        session: ServerSession,
        appends: Sequence[Append],
        views: Sequence[ViewRow],
        effects: Sequence[Effect],
        tried: list[Append],
    ) -> list[Receipt]:
        number = self._register(session)
        if len(appends) == 1 and not views and not effects:
            tip = self._tip(appends[0])
            if tip:
                tried.append(appends[0])
                receipt = append_one(session, number, appends[0], tip)
                if receipt is not None:
                    return self._remember_ends([receipt])
        return self._remember_ends(
            append_all(
                session, number, self.machine, appends, views, self.with_owners(effects), tried
            )
        )

    def with_owners(self, effects: Sequence[Effect]) -> list[tuple[str, Effect]]:
        """Each effect behind the machine that alone may carry it out; empty for any machine."""
        return [
            (self.machine if effect["kind"] in self._local_effects else "", effect)
            for effect in effects
        ]

    def _tip(self, append: Append) -> Tip | None:
        """Where the writer believes the stream to end, if it is one record that comes after it."""
        if append.grant or append.expected is None or len(append.drafts) != 1:
            return None
        if append.after:
            return append.expected, bytes.fromhex(append.after)
        tip = self._tips.get(append.stream)
        return tip if tip and tip[0] == append.expected else None

    def _remember_ends(self, receipts: list[Receipt]) -> list[Receipt]:
        for receipt in receipts:
            if receipt["records"]:
                last = receipt["records"][-1]
                self._remember(receipt["stream"], last["version"], bytes.fromhex(last["hash"]))
        return receipts

    def _remember(self, stream: str, version: int, record_hash: bytes) -> None:
        if len(self._tips) >= REMEMBERED:
            self._tips.clear()
        self._tips[stream] = version, record_hash

    def _repeated(
        self, session: ServerSession, appends: Sequence[Append], *, duplicate: bool
    ) -> list[Receipt]:
        first = next((append.drafts[0]["id"] for append in appends if append.drafts), "")
        before = self._by_ids(session, [first]) if first else []
        if not before or before[0]["stream"] not in [append.stream for append in appends]:
            return []
        receipts: list[Receipt] = []
        for append in appends:
            known = self._by_ids(session, [draft["id"] for draft in append.drafts])
            head: Any = session.execute(
                f"{rows.HEAD} AND name = %s", (self._number, append.stream)
            ).fetchone()
            receipts.append(receipt_of(append.stream, head[1], head[2], known, duplicate=duplicate))
        return receipts

    def _by_ids(self, session: ServerSession, ids: Sequence[str]) -> list[Record]:
        found = session.execute(
            f"{rows.RECORD} WHERE r.workspace = %s AND r.id = ANY(%s) ORDER BY r.seq",
            (self._number, list(ids)),
        )
        return [record_of(row) for row in found]

    def touch(self, stream: str, at: str) -> None:
        number = self.number()
        self.steadily(
            "writing the journal", lambda session: upkeep.touch(session, number, stream, at)
        )

    def end(self, stream: str, at: str) -> None:
        self._write(
            "UPDATE holdfast.streams SET closed_at = %s WHERE workspace = %s AND name = %s",
            at,
            self.number(),
            stream,
        )

    def snapshot(self, stream: str, version: int, state: Any) -> None:
        [(number,)] = self._rows(
            "SELECT number FROM holdfast.streams WHERE workspace = %s AND name = %s",
            self.number(),
            stream,
        )

        def store(session: ServerSession) -> None:
            with session.pipeline(), session.transaction():
                store_snapshot(session, number, version, state)

        self.steadily("writing the journal", store)

    def erase(self, ids: Sequence[str]) -> int:
        return self._write(
            "UPDATE holdfast.records SET salt = NULL, body = NULL"
            " WHERE workspace = %s AND id = ANY(%s) AND salt IS NOT NULL",
            self.number(),
            list(ids),
        )

    def collect(self, *, before: str, keep: int, spared: Sequence[str] = ()) -> Collected:
        number = self.number()
        return self.steadily(
            "applying the retention",
            lambda session: upkeep.collect(session, number, before, keep, spared),
        )

    def scrub(self, text: str, mark: str) -> int:
        number = self.number()
        return self.steadily("erasing", lambda session: upkeep.scrub(session, number, text, mark))

    def rename(self, stream: str, text: str, mark: str) -> None:
        """Take a text out of a stream's name, and of the ids and actors of its records."""
        number = self.number()
        self._tips.clear()
        self.steadily("erasing", lambda session: upkeep.rename(session, number, stream, text, mark))

    def forget_views(self, text: str) -> None:
        """Forget the views whose path holds a text; their files are gone."""
        self._write(
            "DELETE FROM holdfast.views WHERE workspace = %s AND strpos(path, %s) > 0",
            self.number(),
            text,
        )

    def compact(self, *, always: bool = False) -> int:
        # The server's own housekeeping does the rest; an erased text must go now.
        if always:
            self.steadily("compacting the journal", upkeep.vacuum)
        return 0

    def size(self) -> int:
        return self.steadily("reading the journal", upkeep.size)

    def damage(self) -> list[str]:
        return []  # the server looks after its pages; the chains tell what was changed

    def put(self, key: str, value: str) -> None:
        self._write(
            "INSERT INTO holdfast.meta (workspace, key, value) VALUES (%s, %s, %s)"
            " ON CONFLICT (workspace, key) DO UPDATE SET value = excluded.value",
            self.register(),
            key,
            value,
        )

    def _write(self, sql: str, *values: Any) -> int:
        return self.steadily(
            "writing the journal", lambda session: session.execute(sql, values).rowcount
        )

    # Reading

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        return self.steadily(
            "reading the journal", lambda session: session.execute(sql, values).fetchall()
        )

    def _records(self, where: str, *values: Any) -> list[Record]:
        found = self._rows(
            f"{rows.LINKED} WHERE r.workspace = %s AND {where}", self.number(), *values
        )
        refuse_strays(found)
        return [record_of(row[:10]) for row in found]

    def load(self, stream: str) -> Loaded:
        for loaded, end in self._load(rows.ONE, (stream,)):
            if loaded["head"] is not None:
                self._remember(stream, loaded["head"]["version"], end)
            return loaded
        return loaded_of(None)

    def load_all(self, prefix: str) -> list[Loaded]:
        below = (*rows.prefix_range(prefix), len(prefix) + 1)
        return [loaded for loaded, _ in self._load(rows.BELOW, below)]

    def _load(self, where: str, values: Sequence[Any]) -> list[tuple[Loaded, bytes]]:
        number = self.number()
        found = self.steadily(
            "reading the journal", lambda session: rows.load(session, number, where, values)
        )
        for loaded, _ in found:
            if loaded["is_rebuilt"] and loaded["head"] is not None:
                self.rebuilt.add(loaded["head"]["stream"])
        return found

    def read(self, stream: str, *, after: int = 0, limit: int | None = None) -> list[Record]:
        return self._records(
            "s.name = %s AND s.workspace = r.workspace AND r.version > %s"
            " ORDER BY r.version LIMIT %s",
            stream,
            after,
            limit,
        )

    def latest(
        self, *, stream: str = "", kind: str = "", before: int | None = None, limit: int = 50
    ) -> list[Record]:
        wanted, values = ["true"], []
        if stream.endswith("*"):
            wanted.append("s.name >= %s AND s.name < %s")
            values += [*rows.prefix_range(stream[:-1])]
        elif stream:
            wanted.append("s.name = %s")
            values.append(stream)
        if kind:
            wanted.append("r.kind = %s")
            values.append(kind)
        where = " AND ".join(wanted)
        return self._records(
            f"{where} AND (%s::bigint IS NULL OR r.seq < %s) ORDER BY r.seq DESC LIMIT %s",
            *values,
            before,
            before,
            limit,
        )

    def since(self, seq: int, *, limit: int = 1000) -> list[Record]:
        return self._records("r.seq > %s ORDER BY r.seq LIMIT %s", seq, limit)

    def wait(self, seq: int, seconds: float) -> bool:
        return wait_for_record(self, seq, seconds, WAIT_PAUSE)

    def last_number(self) -> int:
        """Return the number of the workspace's newest record; 0 before the first."""
        found = self._rows("SELECT seq FROM holdfast.workspaces WHERE number = %s", self.number())
        return int(found[0][0]) if found else 0

    def id_at(self, seq: int) -> str:
        """Return the id of the record with a number; empty when there is none."""
        found = self._rows(
            "SELECT id FROM holdfast.records WHERE workspace = %s AND seq = %s", self.number(), seq
        )
        return str(found[0][0]) if found else ""

    def end_of(self, stream: str) -> Tip:
        """Return where a stream that exists ends: its version, and the hash of its last record."""
        [end] = self._rows(
            "SELECT version, hash FROM holdfast.streams WHERE workspace = %s AND name = %s",
            self.number(),
            stream,
        )
        return end  # type: ignore[no-any-return]

    def changed(self, after: int, until: int) -> list[str]:
        """Return the streams that got records after one number, up to another. Without the records: a fleet's
        heartbeats are read by their own machine alone."""
        found = self._rows(
            "SELECT DISTINCT s.name FROM holdfast.records r"
            " JOIN holdfast.streams s ON s.number = r.stream"
            " WHERE r.workspace = %s AND r.seq > %s AND r.seq <= %s ORDER BY s.name",
            self.number(),
            after,
            until,
        )
        return [name for (name,) in found]

    def find(self, prefix: str, *, limit: int = 2) -> list[Record]:
        return self._records("r.id = %s", prefix) or self._records(
            "r.id >= %s AND r.id < %s ORDER BY r.id LIMIT %s", *rows.prefix_range(prefix), limit
        )

    def heads(self, prefix: str = "") -> list[Head]:
        number = self.number()
        return self.steadily(
            "reading the journal", lambda session: rows.heads(session, number, prefix)
        )

    def newest(self, prefix: str, *, limit: int) -> list[str]:
        found = self._rows(
            "SELECT s.name FROM holdfast.streams s LEFT JOIN holdfast.records r"
            " ON r.stream = s.number AND r.version = s.version"
            " WHERE s.workspace = %s AND s.name >= %s AND s.name < %s"
            " ORDER BY coalesce(r.seq, 0) DESC, s.seen_at DESC LIMIT %s",
            self.number(),
            *rows.prefix_range(prefix),
            limit,
        )
        return [row[0] for row in found]

    def head(self, stream: str) -> Head | None:
        found = self._rows(f"{rows.HEAD} AND name = %s", self.number(), stream)
        return head_of(found[0]) if found else None

    def acknowledged(self) -> list[Marked]:
        return []

    def lost(self) -> list[Marked]:
        return []

    def anchors(self) -> list[Anchored]:
        found = self._rows(f"{rows.ANCHOR} ORDER BY name", self.number())
        return [as_dict(ANCHOR_FIELDS, row) for row in found]

    def sealed(self, stream: str) -> Iterator[Sealed]:
        after = 0
        while True:
            found = self._rows(
                f"{rows.SEALED} WHERE s.workspace = %s AND s.name = %s AND r.version > %s"
                " ORDER BY r.version LIMIT %s",
                self.number(),
                stream,
                after,
                BATCH,
            )
            for row in found:
                yield sealed_of(row)
            if len(found) < BATCH:
                return
            after = found[-1][3]

    def views(self, *, worktree: str = "", stream: str = "", path: str = "") -> list[ViewRow]:
        wanted = {
            "workspace": self.number(),
            "machine": self.machine,
            "worktree": worktree,
            "stream": stream,
            "path": path,
        }
        found = self.steadily(
            "reading the journal", lambda session: session.execute(rows.VIEWS, wanted).fetchall()
        )
        return [as_dict(VIEW_FIELDS, row) for row in found]

    def refusals(self, stream: str = "") -> list[Refusal]:
        found = self._rows(
            f"{rows.REFUSALS} AND (%s = '' OR stream = %s) ORDER BY at",
            self.number(),
            stream,
            stream,
        )
        return [refusal_of(row) for row in found]

    def get(self, key: str) -> str | None:
        found = self._rows(
            "SELECT value FROM holdfast.meta WHERE workspace = %s AND key = %s",
            self.number(),
            key,
        )
        return found[0][0] if found else None

    # The outbox

    def effects(
        self, *, due: str = "", kinds: Sequence[str] = (), limit: int = 100
    ) -> list[Effect]:
        wanted = " AND kind = ANY(%s)" if kinds else ""
        found = self._rows(
            f"{rows.EFFECTS}{wanted} ORDER BY due_at LIMIT %s",
            self.number(),
            self.machine,
            due,
            due,
            *([list(kinds)] if kinds else []),
            limit,
        )
        return [effect_of(row) for row in found]

    def claim(self, effect: str, *, now: str, until: str) -> bool:
        claimed = self._write(
            "UPDATE holdfast.outbox SET due_at = %s, attempts = attempts + 1"
            " WHERE workspace = %s AND id = %s AND due_at <= %s",
            until,
            self.number(),
            effect,
            now,
        )
        return claimed == 1

    def role(self) -> tuple[str, str]:
        """Who writes here, and why row-level security does not hold for this role; empty where it does."""
        [(name, why)] = self._rows(upkeep.ROLE)
        return name, why

    def suspect(self) -> None:
        """Let the lives that began before now wait for a person: the server lacks what a machine had seen."""
        self._write(rows.RAISE_FLOOR, self.number())

    def waiting_lives(self) -> list[str]:
        """The streams whose lives began before the server changed, and may have been taken over since."""
        found = self._rows(rows.WAITING, self.number(), self.session().epoch)
        return [name for (name,) in found]

    def confirm_lives(self) -> None:
        """Let them go on: a person found that nothing is missing."""
        self._write(rows.CONFIRM, self.session().epoch, self.number())

    def settle(self, effect: str, *, error: str = "", due_at: str = "") -> None:
        if error:
            self._write(
                "UPDATE holdfast.outbox SET error = %s, due_at = %s WHERE workspace = %s AND id = %s",
                without_nul(error),
                due_at,
                self.number(),
                effect,
            )
        else:
            self._write(
                "UPDATE holdfast.outbox SET settled = true WHERE workspace = %s AND id = %s",
                self.number(),
                effect,
            )
