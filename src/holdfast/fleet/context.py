"""Where a command about an agent comes from, and what is known of that agent."""

from __future__ import annotations

import os

from holdfast.fleet import current_life as own
from holdfast.fleet import machines
from holdfast.fleet.rules import agent as rules
from holdfast.fleet.rules import checkpoint as file
from holdfast.fleet.rules.names import check_agent, checkpoint_path
from holdfast.kernel.errors import FenceLost, HoldfastError, NotFound
from holdfast.kernel.rules import Unparsable
from holdfast.kernel.state import fold, load
from holdfast.kernel.views.files import Unreadable, read_file, text_of
from holdfast.kernel.workspace import worktrees
from holdfast.streams import open_writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.fleet.current_life import Own
    from holdfast.fleet.epic import Epic
    from holdfast.fleet.rules.model import AgentState
    from holdfast.journal.interface import Head
    from holdfast.kernel.views.reconcile import Change
    from holdfast.kernel.workspace import Workspace
    from holdfast.kernel.writer import Writer


class Post:
    """A command's standpoint: the epic as this worktree has it, by whom, when, and which life the
    caller is (`fence`, when it was said)."""

    def __init__(
        self, epic: Epic, worktree: Workspace, *, actor: str, now: int, fence: int | None = None
    ) -> None:
        self.epic = epic
        self.worktree = worktree
        self.actor = actor
        self.now = now
        self.fence = fence
        self.sight = machines.Sight(worktree)
        # The writers of the worktrees that this standpoint has written to.
        self.writers: dict[str, Writer] = {}

    def agent(self, agent: str) -> Known:
        """What is known of an agent, with its files where they are."""
        return Known(self, check_agent(agent))


def _worktree_with(epic: Epic, agent: str) -> str:
    """The worktree where an agent that nobody told us of keeps its file; none when there is none."""
    if os.path.lexists(epic.file(checkpoint_path(agent))):
        return epic.workspace.root
    for root in worktrees(epic.workspace):
        if os.path.lexists(os.path.join(root, epic.path(checkpoint_path(agent)))):
            return root
    return ""


class Known:
    """One agent: the journal's state of it, and its file as it stands."""

    def __init__(self, post: Post, agent: str) -> None:
        self.post = post
        self.id = agent
        self.stream = post.epic.agent_stream(agent)
        self.epic = post.epic
        self.state: AgentState = rules.initial(self.stream)
        self.head: Head | None = None
        self.reload()
        home = self.state["worktree"] if self.is_here else post.epic.workspace.root
        home = home or _worktree_with(post.epic, agent)
        if home:
            self.epic = post.epic.in_worktree(home)

    def reload(self) -> None:
        workspace = self.epic.workspace
        if workspace.exists():
            self.state, self.head = load(workspace.journal, rules, self.stream)

    @property
    def is_here(self) -> bool:
        """Whether its files are on this machine."""
        return self.post.sight.reaches(self.state)

    @property
    def writer(self) -> Writer:
        workspace, writers = self.epic.workspace, self.post.writers
        if workspace.root not in writers:
            writers[workspace.root] = open_writer(workspace)
        return writers[workspace.root]

    @property
    def file(self) -> str:
        """The checkpoint's place on disk."""
        return self.epic.file(checkpoint_path(self.id))

    def read(self) -> tuple[bytes, dict[str, Any] | None]:
        """The file's bytes and what they say; nothing when there is no file here, None when no JSON."""
        if not self.is_here:
            return b"", {}
        try:
            _, content = read_file(self.file)
            return content, file.parse(text_of(content))
        except (FileNotFoundError, NotADirectoryError):
            return b"", {}
        except (Unreadable, Unparsable):
            return b"broken", None

    def adopt(self) -> None:
        """Take in what others wrote: an edit, or the file of an agent that nobody told us of."""
        if not self.is_here:
            self.reload()
            return
        if self.state["checkpoint"] is None:
            content, saved = self.read()
            if not saved:
                return
            workspace = self.epic.workspace
            place = {"worktree": workspace.root, "machine": machines.own(workspace)}
            self.execute({"do": "adopt", "text": text_of(content), **place})
        else:
            self.writer.repair(self.stream, now=self.post.now)
        self.reload()

    def look(self) -> None:
        """The state as the file has it, without a write: the file may be about to be archived."""
        content, saved = self.read()
        if self.state["checkpoint"] is None or not saved:
            self.adopt()
            return
        change: Change = {
            "kind": "edited",
            "path": self.epic.path(checkpoint_path(self.id)),
            "file": "",
            "text": text_of(content),
            "reason": "",
            "kept": "",
            "identity": "",
            "base": 0,
        }
        found = rules.absorb(self.state, self.state, change, self.post.now)
        events = [{"kind": kind, "body": body} for kind, body in found]
        self.state = fold(rules, self.state, events)  # type: ignore[arg-type]

    def execute(self, command: Any, **options: Any) -> Any:
        post = self.post
        return self.writer.execute(self.stream, command, actor=post.actor, now=post.now, **options)

    # Whose life is it

    def own(self) -> Own | None:
        """The life that the caller is: the one whose fence was said, or that began in this place."""
        if self.post.fence is not None:
            life = self.state["life"]
            is_present = self.head is not None and self.head["fence"] == self.post.fence
            session = life["session"] if life and is_present else "-"
            return {"session": session, "fence": self.post.fence}
        return own.recall(self.post.worktree, self.stream)

    def is_own(self) -> bool:
        known, life = self.own(), self.state["life"]
        return known is not None and life is not None and known["session"] == life["session"]

    def required(self) -> Own:
        """The caller's life; refused when nobody began one here."""
        known = self.own()
        if known is not None:
            return known
        self.adopt()
        if self.state["checkpoint"] is None:
            raise self.unknown()
        raise FenceLost(
            f"No life of {self.id} began in this worktree.",
            hint=f"Go on with its work here: holdfast agent resume {self.id}. "
            "A script that began elsewhere says which life it is: --fence N",
        )

    def unknown(self) -> HoldfastError:
        if self.state["past"]:
            return rules.over(self.state)
        return NotFound(
            f"{self.id} has no checkpoint.",
            hint=f"Begin with: holdfast agent start {self.id} --feature FEATURE",
        )

    def lost(self, session: str) -> FenceLost:
        """What a life is told that is over: who goes on, and where its words are."""
        session = self._session_of_fence() or session
        ending = next((each for each in self.state["past"] if each["session"] == session), None)
        life = self.state["life"]
        if ending is not None:
            how = ending["how"].replace("_", " ")
            by = f" by {ending['by']}" if ending["by"] else ""
            what = f"was {how}{by} at {ending['at']}"
        elif life is not None:
            what = f"is now session {life['session'][:8]}, begun at {life['started_at']}"
        else:
            what = "has no life with that fence"
        return FenceLost(
            f"{self.id} {what}; this life can write no more.",
            hint="Stop here. What was tried is kept: `holdfast doctor` lists it.",
        )

    def _session_of_fence(self) -> str:
        """The session that the caller's fence belonged to, as far as the journal goes back."""
        journal = self.epic.workspace.journal
        for record in journal.read(self.stream) if self.post.fence is not None else []:
            began = record["kind"] in ("started", "resumed") and not record["erased"]
            if began and record["fence"] == self.post.fence:
                return str(record["body"]["life"]["session"])
        return ""
