"""What the files of an RFC say, read without writing anything."""

from __future__ import annotations

import os

from holdfast.kernel import canonical_json
from holdfast.kernel.digest import digest
from holdfast.kernel.errors import HoldfastError, NotFound
from holdfast.kernel.rules import Unparsable
from holdfast.kernel.state import load
from holdfast.kernel.views.files import (
    Unreadable,
    content_digest,
    identity_of,
    read_file,
    target_of,
    text_of,
)
from holdfast.kernel.views.projection import aside_of, stem_of
from holdfast.rfc import rules
from holdfast.rfc.rules.document import HASH_LENGTH
from holdfast.rfc.rules.words import (
    CHECKPOINT_FILE,
    EVIDENCE_FILE,
    FOLDER,
    RFC_FILE,
    STATE_FILE,
    is_open,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.journal.interface import Journal, ViewRow
    from holdfast.kernel.workspace import Workspace
    from holdfast.rfc.rules.words import Artifacts, RfcState

VIEWS = (CHECKPOINT_FILE, STATE_FILE)


class Reader:
    """The files of a workspace's RFCs, and the journal behind them. Close it when done."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._journal: Journal | None = None

    @property
    def journal(self) -> Journal | None:
        """Opened for reading only, so that not even an old format is brought up to date."""
        if self.workspace.url:
            return self.workspace.journal
        if self._journal is None and self.workspace.exists():
            from holdfast.journal.sqlite import SqliteJournal

            try:
                self._journal = SqliteJournal(self.workspace.journal_path, read_only=True)
            except NotFound:
                return None  # whoever was to make it was killed before it held anything
        return self._journal

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Which RFCs there are

    def ids(self) -> list[str]:
        """Every RFC that a file or a record knows of."""
        found = set()
        if self.journal is not None:
            found = {head["stream"].partition(":")[2] for head in self.journal.heads("rfc:")}
        folder = os.path.join(self.workspace.root, FOLDER)
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            if os.path.isfile(os.path.join(folder, name, STATE_FILE)) and _is_id(name):
                found.add(name)
        return sorted(found)

    def named(self, prefix: str = "") -> str:
        """The RFC with this id, or the only one that begins so; without any, the only open one, or
        the only one at all."""
        known = self.ids()
        if prefix:
            rules.stream_of(prefix)
            found = [prefix] if prefix in known else [id for id in known if id.startswith(prefix)]
            what = f"RFCs begin with {prefix}"
        else:
            found = [id for id in known if is_open(self.state(id)[0]["fields"])] or known
            what = "RFCs could be meant"
        if len(found) == 1:
            return found[0]
        if found:
            raise NotFound(f"{len(found)} {what}.", hint=f"Name one: {', '.join(found[:10])}.")
        where = f"with the id {prefix}" if prefix else "here"
        raise NotFound(f"There is no RFC {where}.", hint="Begin one: holdfast rfc init ID")

    # What they say

    def stored(self, id: str) -> tuple[RfcState, int]:
        """The state in the journal, and its version; 0 when the journal knows nothing of it."""
        stream = rules.stream_of(id)
        if self.journal is None:
            return rules.initial(stream), 0
        state, head = load(self.journal, rules, stream)
        return state, head["version"] if head else 0

    def state(self, id: str) -> tuple[RfcState, list[str]]:
        """The state with what others wrote into the files since, and what of that cannot be read."""
        state, _ = self.stored(id)
        problems: list[str] = []
        for name in VIEWS:
            path = rules.path_of(id, name)
            if self.is_as_we_left_it(path):
                continue
            try:
                text = self.view(id, name)
                change: Any = {"kind": "edited", "path": path, "text": text}
                edits = rules.absorb(state, state, change, 0)
            except FileNotFoundError:
                continue
            except (Unreadable, Unparsable) as problem:
                problems.append(f"{path}: {problem}")
                continue
            for kind, body in edits:
                event: Any = {"id": "", "kind": kind, "body": body, "at": "", "actor": ""}
                state = rules.apply(state, event)
        return state, problems

    def view(self, id: str, name: str) -> str:
        """What a view says, or would say, had a crash not kept it from being put in place."""
        path = rules.path_of(id, name)
        if self.is_pending(id, name):
            text = rules.render(self.stored(id)[0]).get(path)
            if text is not None:
                return text
        return text_of(read_file(target_of(self.workspace, path))[1])

    def is_pending(self, id: str, name: str) -> bool:
        """Committed, staged, and not exchanged: whoever writes next puts it there."""
        path = rules.path_of(id, name)
        target = target_of(self.workspace, path)
        row = self._row(path)
        if row is None or row["placed"] is None or row["removed"]:
            return False
        if identity_of(target) != row["found"]:
            return False
        aside = aside_of(stem_of(self.workspace, path, target), row["placed"])
        return identity_of(aside) == row["placed"]

    def is_as_we_left_it(self, path: str) -> bool:
        """Nobody touched the file: then the journal says it better."""
        row = self._row(path)
        if row is None or row["placed"] is None:
            return False
        return identity_of(target_of(self.workspace, path)) == row["placed"]

    def _row(self, path: str) -> ViewRow | None:
        if self.journal is None:
            return None
        rows = self.journal.views(worktree=self.workspace.root, path=path)
        return rows[0] if rows else None

    def file(self, id: str, name: str) -> bytes:
        """A file that belongs to its author, whole."""
        return read_file(target_of(self.workspace, rules.path_of(id, name)))[1]

    def artifacts(self, id: str) -> tuple[Artifacts, list[str]]:
        """What rfc.md and evidence.json are now, and what could not be read of them."""
        found: Artifacts = {"rfc": "", "evidence": -1, "evidence_digest": ""}
        warnings: list[str] = []
        try:
            found["rfc"] = short_hash(self.file(id, RFC_FILE))
        except (OSError, Unreadable) as problem:
            warnings.append(f"{RFC_FILE} cannot be read: {_why(problem)}.")
        try:
            content = self.file(id, EVIDENCE_FILE)
            found["evidence_digest"] = content_digest(content)
            found["evidence"] = count_items(content)
        except (OSError, Unreadable, ValueError) as problem:
            warnings.append(f"{EVIDENCE_FILE} cannot be counted: {_why(problem)}.")
        return found, warnings


def short_hash(content: bytes) -> str:
    """The first eight letters of the SHA-256 of a file's bytes."""
    return digest(content).hex()[:HASH_LENGTH]


def count_items(content: bytes) -> int:
    """How many items an evidence.json has; ValueError when it is none."""
    value = canonical_json.loads(text_of(content))
    items = value.get("items") if isinstance(value, dict) else None
    if not isinstance(items, list):
        raise ValueError("it has no list of items")
    return len(items)


def _why(problem: Exception) -> str:
    return (problem.strerror if isinstance(problem, OSError) else None) or str(problem)


def _is_id(name: str) -> bool:
    try:
        rules.stream_of(name)
    except HoldfastError:
        return False
    return True
