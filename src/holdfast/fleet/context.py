"""What an operation on the fleet is given and returns: who acts, when and from where; one agent as it
stands; the result, and what an emergency stop means for each operation.

An operation is `verb(context, id, ...) -> AgentResult`. Every face calls it: the command line, MCP, the
hooks' entry, the page and the library.
"""

from __future__ import annotations

import os
from contextlib import suppress

from holdfast.fleet import backups, current_life
from holdfast.fleet.epic import Epic, Sight, find, find_home, own_machine_of
from holdfast.fleet.rules import agent as rules
from holdfast.fleet.rules import checkpoint as file
from holdfast.fleet.rules.model import PRIMARY, README, check_agent, checkpoint_path
from holdfast.kernel.clock import instant_of
from holdfast.kernel.commit import REPAIR, Order, commit
from holdfast.kernel.errors import Conflict, FenceLost, HoldfastError, Stopped, Usage
from holdfast.kernel.rules import Unparsable
from holdfast.kernel.state import fold, load
from holdfast.kernel.stops import refuse_stopped
from holdfast.kernel.streams import open_writer
from holdfast.kernel.text import quote
from holdfast.kernel.views.files import Unreadable, identity_of, read_file, text_of
from holdfast.kernel.views.reconcile import make_change
from holdfast.kernel.workspace import worktrees
from holdfast.remote import server_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Concatenate, ParamSpec

    from holdfast.cli.frame import Call
    from holdfast.fleet.current_life import CurrentLife
    from holdfast.fleet.rules.model import AgentState
    from holdfast.fleet.sync import Standing
    from holdfast.journal.interface import Head
    from holdfast.kernel.commit import Outcome
    from holdfast.kernel.workspace import Workspace
    from holdfast.kernel.writer import Writer
    from holdfast.mcp.call import ToolCall

    Given = ParamSpec("Given")
    Operation = Callable[Concatenate["FleetContext", Given], "AgentResult"]


LARGEST_FENCE = 2**63


class FleetContext:
    """Where an operation acts, who acts, and when. `epic` is the one that the caller named, `here` the same
    epic in the caller's `worktree`.

    `fence` says which life the caller is; without it, that is the life which began in the worktree.
    Relative paths in a request start at `folder`, by default the current folder.
    """

    def __init__(
        self,
        epic: Epic,
        worktree: Workspace,
        *,
        actor: str,
        now: int,
        fence: int | None = None,
        folder: str = "",
    ) -> None:
        self.epic = epic
        self.worktree = worktree
        self.actor = actor
        self.now = now
        self.fence = fence
        self.folder = folder
        self.sight = Sight(worktree)
        is_other = epic.workspace.root != worktree.root
        # An epic that was named in another worktree of this repository is the Epic Path.
        self._named = epic if is_other and epic.workspace.home == worktree.home else None
        self.here = Epic(worktree, epic.folder) if self._named else epic
        # One writer for each worktree that this context writes to.
        self.writers: dict[str, Writer] = {}

    def agent(self, id: str) -> FleetAgent:
        """The agent as the journal and its files have it now."""
        return FleetAgent(self, check_agent(id))

    def find_home(self, agent: str) -> Epic | None:
        """Return the Epic Path: the named one, or the Primary's; None while there is neither."""
        known = find_home(self.epic, self.sight)
        if self._named is None or known is None or known.root == self._named.root:
            return self._named or known
        if agent == PRIMARY:
            return self._named
        raise Conflict(
            f"The files of this epic's agents are in {known.root}, not in {self._named.root}.",
            hint=f"Leave --epic out, or name that folder: --epic {quote(known.root)}",
            kind="other_epic_path",
        )

    def refresh(self) -> None:
        """Set the time to this moment."""
        self.now = server_time.now(self.epic.workspace)


def open_context(
    workspace: Workspace,
    epic: str = "",
    *,
    actor: str,
    now: int,
    fence: int | None = None,
    folder: str = "",
) -> FleetContext:
    """The context of a call, for every face.

    HOLDFAST_FENCE gives the fence when the call does not. Machines that share a journal use its
    server's time instead of `now`.
    """
    given = os.environ.get("HOLDFAST_FENCE", "")
    if fence is None and given:
        fence = int(given) if given.isascii() and given.isdigit() else -1
    if fence is not None and not 0 <= fence < LARGEST_FENCE:
        raise Usage(f"{given or fence} is no fence.", hint="The number that `agent start` gave.")
    try:
        found = find(workspace, epic, base=folder)
        if found.workspace.url or found.workspace.local:
            now = server_time.now(found.workspace)
    except HoldfastError as error:
        refuse_stopped(workspace, f"What you said was not saved: {error.message}")
        raise
    return FleetContext(found, workspace, actor=actor, now=now, fence=fence, folder=folder)


def context_for(
    operation: Callable[..., Any],
    call: Call | ToolCall,
    epic: str | None = None,
    fence: int | None = None,
) -> FleetContext:
    """The context in which a command or a tool runs an operation."""
    return open_context(
        call.workspace_for(operation),
        epic or "",
        folder=call.folder,
        actor=call.actor,
        now=call.now,
        fence=fence,
    )


def worktree_with(epic: Epic, agent: str) -> str:
    """The worktree that has the file of an agent which the journal does not know; empty if none has."""
    path = epic.path(checkpoint_path(agent))
    roots = (epic.workspace.root, *worktrees(epic.workspace))
    return next((root for root in roots if os.path.lexists(os.path.join(root, path))), "")


class FleetAgent:
    """One agent: its state in the journal, and its checkpoint file."""

    def __init__(self, context: FleetContext, id: str) -> None:
        self.context = context
        self.id = id
        self.stream = context.epic.agent_stream(id)
        self.epic = context.epic
        self.state: AgentState = rules.initial(self.stream)
        self.head: Head | None = None
        self.reload()
        home = context.find_home(id)
        if home is None:
            root = self.state["worktree"] if self.is_here else context.epic.workspace.root
            root = root or worktree_with(context.epic, id)
            home = context.epic.in_worktree(root) if root else context.epic
        self.epic = home

    def reload(self) -> None:
        workspace = self.epic.workspace
        writer = self.context.writers.get(workspace.root)
        if not workspace.exists():
            self.state, self.head = rules.initial(self.stream), None
        elif writer is not None:
            self.state, self.head = writer.load_with_head(self.stream)
        else:
            self.state, self.head = load(workspace.journal, rules, self.stream)

    @property
    def is_here(self) -> bool:
        """Whether its files are on this machine."""
        return self.context.sight.reaches(self.state)

    @property
    def writer(self) -> Writer:
        return self._writer_in(self.epic.workspace)

    def _writer_in(self, workspace: Workspace) -> Writer:
        writers = self.context.writers
        if workspace.root not in writers:
            writers[workspace.root] = open_writer(workspace)
        return writers[workspace.root]

    @property
    def copy(self) -> Epic | None:
        """The epic in the worktree where the agent works, if its files are in another one."""
        life = self.state["life"]
        if not self.is_here or (life is not None and life.get("awaits")):
            return None
        root = (life["worktree"] if life else "") or self.state["worktree"]
        if not root:
            root = worktree_with(self.epic, self.id)
            if root and backups.is_copy_of_archive(self.epic, self.epic.in_worktree(root), self.id):
                return None
        is_elsewhere = root not in ("", self.epic.workspace.root) and os.path.isdir(root)
        return self.epic.in_worktree(root) if is_elsewhere else None

    @property
    def file(self) -> str:
        """Where its checkpoint is on disk."""
        return self.epic.file(checkpoint_path(self.id))

    def read(self) -> tuple[bytes, dict[str, Any] | None]:
        """The file's bytes and its fields: no fields when there is no file here, None when it is not
        JSON."""
        return self._read_in(self.epic) if self.is_here else (b"", {})

    def _read_in(self, epic: Epic) -> tuple[bytes, dict[str, Any] | None]:
        try:
            _, content = read_file(epic.tree_file(checkpoint_path(self.id)))
            return content, file.parse(text_of(content))
        except (FileNotFoundError, NotADirectoryError):
            return b"", {}
        except (Unreadable, Unparsable):
            return b"broken", None

    def take_in_copy(self) -> None:
        """Record what the agent wrote into its copy, where it began before there was an Epic Path, or may
        write nowhere else; and write the file at the Epic Path if it was never written there."""
        copy = self.copy
        if copy is None:
            return
        if self.state["checkpoint"] is None:
            if not self.read()[1]:
                self._adopt_from(copy)
            return
        path = self.epic.path(checkpoint_path(self.id))
        rows = self.epic.workspace.journal.views(worktree=copy.workspace.root, path=path)
        there = identity_of(copy.tree_file(checkpoint_path(self.id)))
        if there is not None and there not in [row["placed"] for row in rows]:
            self._repair(copy)
        rows = self.epic.workspace.journal.views(worktree=self.epic.workspace.root, path=path)
        if not rows and not self.epic.tree_file(checkpoint_path(self.id)).status():
            self._repair(self.epic)
        self.reload()

    def _repair(self, epic: Epic) -> None:
        """Take in the edits of the file there, and write what the journal says."""
        repair = Order(self.stream, REPAIR, raise_removed=epic.root != self.epic.root)
        commit(self._writer_in(epic.workspace), [repair], actor="holdfast", now=self.context.now)

    def write_copy(self) -> None:
        """Write the copy in the agent's own worktree. Where that fails, the file at the Epic Path counts."""
        copy = self.copy
        if copy is not None:
            with suppress(HoldfastError, OSError):
                self._repair(copy)

    def adopt(self) -> None:
        """Record what others wrote: an edit of the file, or the file of an agent that the journal does
        not know."""
        if not self.is_here:
            self.reload()
            return
        if self.end_if_archived():
            return
        self.take_in_copy()
        if self.state["checkpoint"] is None:
            self._adopt_from(self.epic)
        else:
            self._repair(self.epic)
        self.reload()

    def _adopt_from(self, epic: Epic) -> None:
        content, saved = self._read_in(epic)
        if saved:
            machine = own_machine_of(epic.workspace)
            place = {"worktree": epic.workspace.root, "machine": machine}
            self.execute({"do": "adopt", "text": text_of(content), **place})
            self.reload()

    def archived_as(self) -> str:
        """The archive that a person or a script made of this life's file; empty when there is none."""
        saved, life = self.state["checkpoint"], self.state["life"]
        if saved is None or life is None or not self.is_here:
            return ""
        return backups.find_archive(self.epic, self.id, life["session"])

    def end_if_archived(self) -> bool:
        """Record the end of a life whose file was moved into an archive by hand, as the protocol's own
        scripts do; it loses its fence, and its feature is free."""
        archive, saved = self.archived_as(), self.state["checkpoint"] or {}
        if not archive:
            return False
        end = {
            "do": "end",
            "how": rules.BY_HAND,
            "by": "",
            "archive": archive,
            "seen": saved.get("last_checkpoint"),
            "readme": self.readme_worktree(),
        }
        orders = [Order(self.stream, end, grant=True)]
        feature = saved.get("feature")
        if isinstance(feature, str) and feature:
            release = {"do": "release", "agent": self.id}
            orders.append(Order(self.epic.stream("feature", feature), release))
        copy = self.copy
        self.commit(orders)
        backups.put_away(copy, self.id, archive)
        self.reload()
        return True

    def look(self) -> None:
        """Take the state from the files without a write: a command that is refused changes nothing, and the
        file may be about to be archived."""
        content, saved = self.read()
        copy = self.copy
        if copy is not None and saved is not None:
            other, said = self._read_in(copy)
            if said and (instant_of(said.get("last_checkpoint")) or 0) > (
                instant_of(saved.get("last_checkpoint")) or -1
            ):
                content, saved = other, said
        if not saved:
            return
        text = text_of(content)
        if self.state["checkpoint"] is None:
            place = {"worktree": (copy or self.epic).workspace.root, "machine": None}
            found = rules.decide(
                self.state, {"do": "adopt", "text": text, **place}, self.context.now
            ).records
        else:
            path = self.epic.path(checkpoint_path(self.id))
            change = make_change("edited", path, "", 0, text=text)
            found = rules.absorb(self.state, self.state, change, self.context.now)
        events = [{"kind": kind, "body": body} for kind, body in found]
        self.state = fold(rules, self.state, events)  # type: ignore[arg-type]

    def settle(self) -> None:
        """Record what only the files say, once nothing can refuse the command any more."""
        self.reload()
        if not self.end_if_archived():
            self.take_in_copy()
            if self.state["checkpoint"] is None:
                self._adopt_from(self.epic)
            self.look()

    def execute(self, command: Any, *, raise_removed: bool = False) -> Outcome:
        order = Order(self.stream, command, raise_removed=raise_removed)
        return self.commit([order], can_wait=True)[0]

    def commit(self, orders: list[Order], *, can_wait: bool = False) -> list[Outcome]:
        """Carry out several orders in one transaction, or none of them."""
        actor, now = self.context.actor, self.context.now
        return commit(self.writer, orders, actor=actor, now=now, can_wait=can_wait)

    def readme_worktree(self) -> str:
        """The worktree with the EPIC_README.md that tells about this agent; empty when there is none."""
        return self.epic.workspace.root if os.path.exists(self.epic.file(README)) else ""

    # Which life the caller is

    def caller(self) -> CurrentLife | None:
        """The life that the caller is: that of its fence, or the one that began in its worktree."""
        if self.context.fence is not None:
            life = self.state["life"]
            is_present = self.head is not None and self.head["fence"] == self.context.fence
            session = life["session"] if life and is_present else "-"
            return {"session": session, "fence": self.context.fence}
        return current_life.recall(self.context.worktree, self.stream)

    def is_caller(self) -> bool:
        """Whether the caller is the life that this agent has now."""
        caller, life = self.caller(), self.state["life"]
        return caller is not None and life is not None and caller["session"] == life["session"]

    def required_caller(self) -> CurrentLife:
        """The caller's life; refused when no life of this agent began in the caller's worktree."""
        caller = self.caller()
        if caller is not None:
            return caller
        self.look()
        if self.state["checkpoint"] is None:
            raise rules.unknown(self.state, self.id)
        raise FenceLost(
            f"No life of {self.id} began in this worktree.",
            hint=f"Go on with its work here: holdfast agent resume {quote(self.id)}. "
            "A script that began elsewhere says which life it is: --fence N",
        )

    def lost(self, session: str) -> FenceLost:
        """The error for a life that is over: it names the life that goes on."""
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
        """The session that had the caller's fence, as far as the journal goes back."""
        journal, fence = self.epic.workspace.journal, self.context.fence
        for record in journal.read(self.stream) if fence is not None else []:
            began = record["kind"] in ("started", "resumed") and not record["erased"]
            if began and record["fence"] == fence:
                return str(record["body"]["life"]["session"])
        return ""


class AgentResult:
    """What an operation did: the protocol's own lines, warnings, commands to go on with, and data."""

    def __init__(self, agent: FleetAgent) -> None:
        self.agent = agent
        self.lines: list[str] = []
        self.warnings: list[str] = []
        self.next: list[str] = []
        self.session = ""
        self.fence = 0
        self.queued = ""
        self.sync: Standing | None = None
        # Whether EPIC_README.md needs an edit.
        self.has_news = False

    def add(self, outcome: Outcome) -> None:
        """Take over what a write says: its fence, and the files that it could not write."""
        self.fence = outcome["fence"] or self.fence
        self.queued = outcome["queued"]
        for view in outcome["views"]:
            if view["status"] == "failed":
                self.warnings.append(
                    f"{view['path']} was not written: {view['reason']}. The record is safe."
                )

    def remember(self, life: CurrentLife, *, is_own: bool = True) -> None:
        """Let the commands after this one know which life they belong to."""
        try:
            current_life.remember(
                self.agent.context.worktree, self.agent.stream, life, is_own=is_own
            )
        except OSError as error:
            self.warnings.append(
                f"This worktree cannot remember its life ({error.strerror}): "
                f"say --fence {life['fence']} with each command."
            )

    def refuse_stopped(self) -> None:
        """Raise Stopped while an emergency stop holds; what the agent said is safe."""
        refuse_stopped(self.agent.context.worktree, "What you said is saved.")

    def data(self) -> dict[str, Any]:
        """The result for programs."""
        return {
            "agent_id": self.agent.id,
            "session_id": self.session,
            "fence": self.fence,
            "checkpoint": self.agent.state["checkpoint"],
            "path": self.agent.file,
            "queued": self.queued,
            "said": self.lines,
            "warnings": self.warnings,
            **({"sync": self.sync} if self.sync is not None else {}),
        }


def changes_life(operation: Operation[Given]) -> Operation[Given]:
    """An operation that begins, ends or repairs a life: refused while an emergency stop holds."""

    def run(context: FleetContext, /, *given: Given.args, **named: Given.kwargs) -> AgentResult:
        refuse_stopped(context.worktree)
        return _conclude(operation(context, *given, **named))

    return run


def updates_life(operation: Operation[Given]) -> Operation[Given]:
    """An operation of a living agent: saved even while an emergency stop holds. If it fails then, the
    stop is the answer."""

    def run(context: FleetContext, /, *given: Given.args, **named: Given.kwargs) -> AgentResult:
        try:
            return _conclude(operation(context, *given, **named))
        except Stopped:
            raise
        except HoldfastError as error:
            refuse_stopped(context.worktree, f"What you said was not saved: {error.message}")
            raise

    return run


def _conclude(result: AgentResult) -> AgentResult:
    """Write the agent's news into EPIC_README.md. What fails is a warning, and is tried again."""
    if result.has_news:
        result.has_news = False
        from holdfast.fleet.epic_readme import deliver

        result.warnings += [
            f"EPIC_README.md was not written: {problem} It is tried again later."
            for problem in deliver(result.agent.context, result.agent.writer)
        ]
        result.agent.reload()
    return result
