"""The writer of a workspace: what `commit` needs to know, and what it wrote last."""

from __future__ import annotations

from holdfast.kernel.commit import Order, Remembered, commit
from holdfast.kernel.state import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from holdfast.journal.interface import Head
    from holdfast.kernel.commit import Outcome
    from holdfast.kernel.redact import Redactor
    from holdfast.kernel.rules import Rules
    from holdfast.kernel.tree_file import TreeFile
    from holdfast.kernel.workspace import Workspace


class Writer:
    """What `commit` needs to write to the streams of one workspace, and what it wrote last.

    `lives` are the prefixes of the streams that only one session or agent writes to. These alone
    may be written to this machine's file while the journal is on a server. `accept` gives the
    part of a command from the inbox that an agent may ask for; None if it may not.
    """

    def __init__(
        self,
        workspace: Workspace,
        rules_of: Callable[[str], Rules],
        redactor: Redactor,
        *,
        lives: tuple[str, ...] = (),
        accept: Callable[[str, Any], Any] = lambda _, command: command,
    ) -> None:
        self.workspace = workspace
        self.rules_of = rules_of
        self.redactor = redactor
        self.lives = lives
        self.accept = accept
        self.remembered: dict[str, Remembered] = {}
        # When this writer last took the workspace's lock, and the thread that holds it now.
        self.locked_at = 0
        self.locked_by = 0
        # Files that its views displaced, to be removed after the lock is given back.
        self.displaced: list[TreeFile] = []

    def execute(
        self,
        stream: str,
        command: Any,
        *,
        actor: str,
        now: int,
        id: str = "",
        fence: int | None = None,
        grant: bool = False,
        raise_removed: bool = False,
    ) -> Outcome:
        """Commit one command. Where the journal cannot be written, the command is left in the inbox
        and `queued` names its file."""
        order = Order(stream, command, fence=fence, grant=grant, raise_removed=raise_removed)
        return commit(self, [order], actor=actor, now=now, id=id, can_wait=True)[0]

    def load(self, stream: str) -> Any:
        """Read the state of a stream. The next commit to the stream does not read it again."""
        state, head = self.load_with_head(stream)
        self.remember(stream, state, head)
        return state

    def load_with_head(self, stream: str) -> tuple[Any, Head | None]:
        """Return the state of a stream, and its head."""
        return load(self.workspace.journal, self.rules_of(stream), stream)

    def remember(self, stream: str, state: Any, head: Head | None) -> None:
        """Take a state that the caller has just read. The next commit to the stream does not read it
        again; if another writer comes in between, it does."""
        known = self.remembered.get(stream)
        if known is not None and known.state is state:
            return
        if head is not None:
            self.remembered[stream] = Remembered(state, head["version"])
