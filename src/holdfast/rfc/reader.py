"""Read the files of RFCs and the journal behind them. Nothing here writes.

A session's start hook loads this module: it imports nothing heavy.
"""

from __future__ import annotations

from holdfast.journal.sqlite import SqliteJournal
from holdfast.kernel import canonical_json
from holdfast.kernel.digest import digest
from holdfast.kernel.errors import HoldfastError, NotFound
from holdfast.kernel.rules import Unparsable
from holdfast.kernel.state import load
from holdfast.kernel.text import quote
from holdfast.kernel.tree_file import TreeFile
from holdfast.kernel.views.asides import Asides
from holdfast.kernel.views.files import (
    Unreadable,
    content_digest,
    file_at,
    identity_of,
    read_file,
    text_of,
)
from holdfast.rfc.rules import rfc as rules
from holdfast.rfc.rules.document import HASH_LENGTH
from holdfast.rfc.rules.model import (
    CHECKPOINT_FILE,
    EVIDENCE_FILE,
    FOLDER,
    NO_ARTIFACTS,
    RFC_FILE,
    STATE_FILE,
    is_active,
    path_of,
    stream_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.cli.frame import Call
    from holdfast.journal.interface import Journal, ViewRow
    from holdfast.kernel.workspace import Workspace
    from holdfast.mcp.call import ToolCall
    from holdfast.rfc.rules.model import Artifacts, RfcState

VIEWS = (CHECKPOINT_FILE, STATE_FILE)


class RfcContext:
    """Where an operation works, who asked for it, and when."""

    def __init__(self, workspace: Workspace, actor: str, now: int) -> None:
        self.workspace = workspace
        self.actor = actor
        self.now = now


def context_of(call: Call | ToolCall) -> RfcContext:
    """The context of a command, or of a tool's call."""
    return RfcContext(call.workspace, call.actor, call.now)


class Reader:
    """The RFCs of a workspace. Close it when done."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._journal: Journal | None = None

    @property
    def journal(self) -> Journal | None:
        """The journal, read-only: reading does not even migrate an old format."""
        if self.workspace.url:
            return self.workspace.journal
        if self._journal is None and self.workspace.exists():
            try:
                self._journal = SqliteJournal(self.workspace.journal_path, read_only=True)
            except NotFound:
                return None  # an empty file: its first writer was killed
        return self._journal

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    # Ids

    def ids(self) -> list[str]:
        """The id of every RFC with a state.json or a record, except one whose folder was deleted."""
        found = set()
        if self.journal is not None:
            heads = self.journal.heads("rfc:")
            found = {head["stream"].partition(":")[2] for head in heads}
            found -= {id for id in found if self.is_gone(id)}
        folder = TreeFile(self.workspace.root, FOLDER)
        for name in folder.names_if_any():
            if _is_id(name) and folder.below(f"{name}/{STATE_FILE}").is_file():
                found.add(name)
        return sorted(found)

    def is_gone(self, id: str) -> bool:
        """Whether a person deleted the folder of an RFC that had its files in this worktree."""
        if TreeFile(self.workspace.root, path_of(id, "").rstrip("/")).status():
            return False
        row = self._row(path_of(id, STATE_FILE))
        return row is not None and (row["placed"] is not None or row["removed"])

    def find(self, prefix: str = "") -> str:
        """The RFC with this id, or the only one that begins with it. Without a prefix: the only open
        RFC, or the only one."""
        known = self.ids()
        if prefix:
            stream_of(prefix)
            found = [prefix] if prefix in known else [id for id in known if id.startswith(prefix)]
            what = f"RFCs begin with {prefix}"
        else:
            found = [id for id in known if is_active(self.state(id)[0])] or known
            what = "RFCs could be meant"
        if len(found) == 1:
            return found[0]
        if found:
            raise NotFound(f"{len(found)} {what}.", hint=f"Name one: {', '.join(found[:10])}.")
        where = f"with the id {prefix}" if prefix else "here"
        raise NotFound(
            f"There is no RFC {where}.",
            hint=f"Begin one: holdfast rfc init {quote(prefix or 'ID')}",
        )

    # The state

    def stored(self, id: str) -> tuple[RfcState, int]:
        """The state in the journal and its version, which is 0 without a record."""
        stream = stream_of(id)
        if self.journal is None:
            return rules.initial(stream), 0
        state, head = load(self.journal, rules, stream)
        return state, head["version"] if head else 0

    def state(self, id: str) -> tuple[RfcState, list[str]]:
        """The state with the edits that others made in the files since, and the edits that cannot be
        read."""
        state, _ = self.stored(id)
        problems: list[str] = []
        for name in VIEWS:
            path = path_of(id, name)
            if self.is_unchanged(path):
                continue
            try:
                change: Any = {"kind": "edited", "path": path, "text": self.view(id, name)}
                edits = rules.absorb(state, state, change, 0)
            except FileNotFoundError:
                continue
            except (Unreadable, Unparsable) as problem:
                problems.append(f"{path}: {problem}")
                continue
            state = state_after(state, edits)
        return state, problems

    # Files

    def view(self, id: str, name: str) -> str:
        """The text of checkpoint.md or state.json. After a crash it is the text that the interrupted
        write recorded."""
        path = path_of(id, name)
        if self.is_pending(id, name):
            text = rules.render(self.stored(id)[0]).get(path)
            if text is not None:
                return text
        return text_of(read_file(file_at(self.workspace, path))[1])

    def is_pending(self, id: str, name: str) -> bool:
        """Whether a file was recorded and staged, but not put in place before a crash."""
        path = path_of(id, name)
        asides = Asides(self.workspace, path)
        row = self._row(path)
        if row is None or row["placed"] is None or row["removed"]:
            return False
        if identity_of(asides.target) != row["found"]:
            return False
        return identity_of(asides.staged(row["placed"])) == row["placed"]

    def is_unchanged(self, path: str) -> bool:
        """Whether a file is as Holdfast wrote it. Then the journal knows its content."""
        row = self._row(path)
        if row is None or row["placed"] is None:
            return False
        return identity_of(file_at(self.workspace, path)) == row["placed"]

    def _row(self, path: str) -> ViewRow | None:
        if self.journal is None:
            return None
        rows = self.journal.views(worktree=self.workspace.root, path=path)
        return rows[0] if rows else None

    def file(self, id: str, name: str) -> bytes:
        """The content of a file that belongs to the author."""
        return read_file(file_at(self.workspace, path_of(id, name)))[1]

    def artifacts(self, id: str) -> tuple[Artifacts, list[str]]:
        """The current rfc.md and evidence.json, and which of them cannot be read."""
        found: Artifacts = {**NO_ARTIFACTS}
        warnings: list[str] = []
        try:
            found["rfc"] = digest(self.file(id, RFC_FILE)).hex()[:HASH_LENGTH]
        except (OSError, Unreadable) as problem:
            warnings.append(f"{RFC_FILE} cannot be read: {_reason(problem)}.")
        try:
            content = self.file(id, EVIDENCE_FILE)
            found["evidence_digest"] = content_digest(content)
            found["evidence"] = _count_items(content)
        except (OSError, Unreadable, ValueError) as problem:
            warnings.append(f"{EVIDENCE_FILE} cannot be counted: {_reason(problem)}.")
        return found, warnings


def state_after(state: RfcState, records: Sequence[tuple[str, Any]]) -> RfcState:
    """The state after records that are not committed."""
    for kind, body in records:
        event: Any = {"id": "", "kind": kind, "body": body, "at": "", "actor": ""}
        state = rules.apply(state, event)
    return state


def _count_items(content: bytes) -> int:
    """The number of `items`, or of a plain list."""
    value = canonical_json.loads(text_of(content))
    items = value.get("items") if isinstance(value, dict) else value
    if not isinstance(items, list):
        raise ValueError("it has no list of items")
    return len(items)


def _reason(problem: Exception) -> str:
    return (problem.strerror if isinstance(problem, OSError) else None) or str(problem)


def _is_id(name: str) -> bool:
    try:
        stream_of(name)
    except HoldfastError:
        return False
    return True
