"""Take back what prompts changed, bring it back again, and show both before."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from holdfast.git.status import list_tracked
from holdfast.kernel import clock
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import Conflict, HoldfastError, NotFound, Usage
from holdfast.kernel.redact import Redactor
from holdfast.kernel.text import plural, quote
from holdfast.people import person as people
from holdfast.undo import ledger
from holdfast.undo.carry_out import Commits, carry_out
from holdfast.undo.merge import diff_contents
from holdfast.undo.ownership import find_end, make_owner
from holdfast.undo.plan import NOTHING, Plan, Span, list_cells, make_plan
from holdfast.undo.recovery import finish_unfinished
from holdfast.undo.store import FILE, PROGRAM, Store
from holdfast.undo.turns import count_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.git.shadow_index import Shadow
    from holdfast.kernel.rules import Person
    from holdfast.kernel.workspace import Workspace
    from holdfast.undo.rules.prompts import Entry, Size, TreeState
    from holdfast.undo.store import Extras, Present

# What a person does, in the record of a refused attempt.
UNDO, REDO = "take back what prompts changed", "bring back what an undo took"
MOST_COMMITS, MOST_IGNORED = 20, 20


class Row(TypedDict):
    """One line of the list. `number` is what `undo` takes; 0 for what cannot be taken back by number."""

    number: int
    id: str
    kind: str
    client: str
    session: str
    text: str
    at: str
    size: Size | None
    how: str
    is_undone: bool
    is_running: bool


class FileChange(TypedDict):
    """One file of an undo. `how`: create, write, delete, merge or mode. The lines are those of the prompt."""

    path: str
    how: str
    added: int | None
    removed: int | None
    is_untracked: bool


class ConflictingFile(TypedDict):
    """A file that cannot be taken back: why, and both sides as diffs."""

    path: str
    why: str
    sides: str


class UndoReport(TypedDict):
    """What an undo does, or did. `state` keeps what was there before; `redo` brings it back."""

    done: bool
    kind: str
    prompts: list[Row]
    files: list[FileChange]
    folders: list[str]
    new_folders: list[str]
    conflicts: list[ConflictingFile]
    mixed: list[str]
    others: list[str]
    commits: list[str]
    is_head_moved: bool
    moves_head: bool
    submodules: list[str]
    not_held: list[str]
    ignored: list[str]
    other_prompts: int
    state: str
    left: list[str]
    note: str
    diff: str


@dataclass(frozen=True, kw_only=True)
class UndoRequest:
    """Which prompts are taken back: the last `back` of the list that are of one session, or the entry with an `id`.
    `paths` limits it to files and folders. `redo` brings back what the last undo took."""

    back: int = 1
    id: str = ""
    paths: Sequence[str] = ()
    commits: bool = False
    skip_conflicts: bool = False
    every_session: bool = False
    redo: bool = False
    with_diff: bool = False


def list_prompts(workspace: Workspace, session: str = "") -> list[Row]:
    """Return the prompts and undos of this worktree, newest first."""
    number, rows = 0, []
    for entry in reversed(ledger.read(workspace)["entries"]):
        is_standing = entry["kind"] == "prompt" and not entry["is_undone"]
        number += is_standing
        if not session or entry["session"] == session:
            rows.append(_row(workspace, entry, number if is_standing else 0))
    return rows


def _row(workspace: Workspace, entry: Entry, number: int) -> Row:
    is_running = not find_end(workspace, entry)
    return {
        "number": number,
        "id": entry["id"],
        "kind": entry["kind"],
        "client": entry["client"],
        "session": entry["session"],
        "text": entry["text"],
        "at": entry["began_at"],
        "size": entry["size"],
        "how": "interrupted" if not is_running and not entry["ended_at"] else entry["how"],
        "is_undone": entry["is_undone"],
        "is_running": is_running,
    }


def preview(workspace: Workspace, request: UndoRequest, *, now: int) -> UndoReport:
    """Return what an undo or a redo would do. Nothing changes, except that an undo that was cut off is finished."""
    return _Undo(workspace, request, now).run(does=False)


def undo(
    workspace: Workspace,
    request: UndoRequest,
    *,
    actor: str,
    now: int,
    person: Person | None = None,
) -> UndoReport:
    """Take back what prompts changed, or bring it back. What is there now is kept first. NotAllowed for an agent;
    Conflict where files were changed since on the same lines, and nothing changes then."""
    purpose = REDO if request.redo else UNDO
    if person is not None:
        people.refuse_made_up(workspace, purpose, person, now=now)
    seen = people.agent_environment(os.environ)
    if seen:
        why = f"an agent's environment ({', '.join(seen)})"
        raise people.refuse(workspace, purpose, why, now=now, seen=seen)
    return _Undo(workspace, request, now, actor).run(does=True)


class _Undo:
    """One undo, from the choice of its prompts to its report."""

    def __init__(
        self, workspace: Workspace, request: UndoRequest, now: int, actor: str = ""
    ) -> None:
        self._workspace = workspace
        self._request = request
        self._now = now
        self._actor = actor
        self._store = Store(workspace)

    def run(self, *, does: bool) -> UndoReport:
        if not self._workspace.exists() and not os.path.isdir(self._store.folder):
            raise _nothing_kept()
        note = finish_unfinished(self._workspace, self._now)
        with self._store.shadow() as shadow:
            entries = ledger.read(self._workspace)["entries"]
            chosen = self._choose(entries)
            held = [one for one in chosen if self._is_held(one)]
            if len(held) < len(chosen):
                raise NotFound(
                    "The state before that prompt is not kept any more: `holdfast gc` removed it.",
                    hint="holdfast undo --list",
                )
            present = self._store.look(shadow)
            spans = self._spans(chosen, entries, present)
            plan = make_plan(
                self._store,
                shadow,
                present,
                spans,
                paths=[self._from_root(one) for one in self._request.paths],
                spared=self._list_views(),
            )
            report = self._report(plan, chosen, entries, spans, note)
            if not does:
                return report
            if plan.clashes and not self._request.skip_conflicts:
                raise ConflictError(report)
            return self._carry_out(shadow, plan, present, chosen, report)

    # Which prompts

    def _choose(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return the entries that are taken back, newest first."""
        request = self._request
        if request.redo:
            found = [one for one in entries if one["kind"] == "undo" and not one["is_undone"]]
            if not found:
                raise NotFound("There is no undo to take back.", hint="holdfast undo --list")
            return found[-1:]
        if request.id:
            found = [one for one in entries if one["id"].startswith(request.id)]
            if len(found) != 1:
                many = f"{len(found)} entries begin with {request.id!r:.40}."
                raise NotFound(many, hint="holdfast undo --list")
            if found[0]["kind"] != "prompt":
                return found
        standing = [
            one for one in reversed(entries) if one["kind"] == "prompt" and not one["is_undone"]
        ]
        if request.id:
            if found[0] not in standing:
                raise Usage("That prompt is undone already.", hint="holdfast redo")
            back = standing.index(found[0]) + 1
        else:
            back = request.back
        if not standing:
            raise _nothing_kept()
        if not 0 < back <= len(standing):
            raise NotFound(
                f"There is no prompt {back}: {plural(len(standing), 'prompt')} can be taken back.",
                hint="holdfast undo --list",
            )
        session = standing[back - 1]["session"]
        return [
            one for one in standing[:back] if request.every_session or one["session"] == session
        ]

    def _is_held(self, entry: Entry) -> bool:
        return self._store.holds(entry["before"]) and (
            entry["after"] is None or self._store.holds(entry["after"])
        )

    def _spans(
        self, chosen: Sequence[Entry], entries: Sequence[Entry], present: Present
    ) -> list[Span]:
        spans = []
        for entry in chosen:
            after = entry["after"]
            if after is None:
                after = self._as_state(present)
            if self._request.every_session or entry["kind"] != "prompt":
                spans.append(Span(entry["before"], after))  # an undo is the person's own
                continue
            owner = make_owner(self._workspace, self._store, entry, after, entries)
            spans.append(Span(entry["before"], after, owner))
        return spans

    def _as_state(self, present: Present) -> TreeState:
        text = json.dumps(present["extras"], sort_keys=True).encode()
        blob = self._store.git("hash-object", "-w", "--stdin", input=text).decode().strip()
        facts = {"id": "", "commit": "", "head": "", "branch": "", "index": "", "at": ""}
        state: TreeState = {**facts, "files": present["tree"], "extras": blob}  # type: ignore[typeddict-item]
        return state

    def _from_root(self, path: str) -> str:
        return self._store.place.from_top(path).rstrip("/")

    def _list_views(self) -> list[str]:
        """Return the files that Holdfast itself writes from the journal: they follow the records."""
        if not self._workspace.exists():
            return []
        top = self._store.place.top
        found = []
        for row in self._workspace.journal.views():
            whole = os.path.normpath(os.path.join(self._workspace.root, row["path"]))
            found.append(os.path.relpath(whole, top))
        return found

    # What it says

    def _report(
        self,
        plan: Plan,
        chosen: Sequence[Entry],
        entries: Sequence[Entry],
        spans: Sequence[Span],
        note: str,
    ) -> UndoReport:
        known = {row["id"]: row for row in list_prompts(self._workspace)}
        commits, is_moved = self._commits(chosen)
        oldest = chosen[-1]
        later = [
            one
            for one in entries
            if one["kind"] == "prompt"
            and not one["is_undone"]
            and one not in chosen
            and one["began_at"] > oldest["began_at"]
            and oldest["kind"] == "prompt"
        ]
        return {
            "done": False,
            "kind": "redo" if self._request.redo or chosen[0]["kind"] == "undo" else "undo",
            "prompts": [known[one["id"]] for one in chosen],
            "files": self._files(plan, spans),
            "folders": [*plan.missing, *plan.remove],
            "new_folders": plan.missing,
            "conflicts": [
                {"path": one.path, "why": one.why, "sides": Redactor().text(one.text)}
                for one in plan.clashes
            ],
            "mixed": plan.mixed,
            "others": plan.others,
            "commits": commits,
            "is_head_moved": is_moved,
            "moves_head": self._request.commits,
            "submodules": plan.submodules,
            "not_held": plan.unheld,
            "ignored": self._ignored(oldest),
            "other_prompts": len(later),
            "state": "",
            "left": [],
            "note": note,
            "diff": self._diff(plan) if self._request.with_diff else "",
        }

    def _files(self, plan: Plan, spans: Sequence[Span]) -> list[FileChange]:
        added: dict[str, tuple[int | None, int | None]] = {}
        for span in spans:
            for path, (more, less) in count_lines(
                self._store, span.before["files"], span.after["files"]
            ).items():
                old = added.get(path, (0, 0))
                added[path] = (
                    None if more is None or old[0] is None else old[0] + more,
                    None if less is None or old[1] is None else old[1] + less,
                )
        paths = sorted(plan.cells)
        known: set[str] = set()
        if not self._store.is_plain:
            known = self._tracked(paths)
            for tree in {span.before["index"] for span in spans} - {""}:
                known |= list_cells(self._store, tree, paths).keys()
        return [
            {
                "path": path,
                "how": plan.how(path),
                "added": added.get(path, (0, 0))[0],
                "removed": added.get(path, (0, 0))[1],
                "is_untracked": path not in known,
            }
            for path in paths
        ]

    def _tracked(self, paths: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for start in range(0, len(paths), 500):
            found |= list_tracked(self._store.place.top, paths[start : start + 500])
        return found

    def _commits(self, chosen: Sequence[Entry]) -> tuple[list[str], bool]:
        """Return the commits since the oldest state, and whether HEAD moved at all."""
        head = chosen[-1]["before"]["head"]
        now = "" if self._store.is_plain else self._head()
        if not head or not now or head == now:
            return [], bool(now) and head != now
        words = ("log", "--format=%h %s", f"-{MOST_COMMITS}", f"{head}..{now}", "--")
        try:
            return os.fsdecode(self._store.git(*words)).splitlines(), True
        except HoldfastError:
            return [], True

    def _head(self) -> str:
        try:
            return self._store.git("rev-parse", "--verify", "--quiet", "HEAD").decode().strip()
        except HoldfastError:
            return ""

    def _ignored(self, oldest: Entry) -> list[str]:
        """Return what git ignores and was changed since: no state holds it."""
        since = clock.parse(oldest["began_at"]) * 1_000_000
        found = []
        for name in self._store.list_ignored():
            try:
                facts = os.lstat(os.path.join(self._store.place.top, name))
            except OSError:
                continue
            if facts.st_mtime_ns >= since:
                found.append(name)
        return found[:MOST_IGNORED]

    def _diff(self, plan: Plan) -> str:
        parts = []
        for path, (present, target) in sorted(plan.cells.items()):
            text = diff_contents(self._store, present, target, f"a/{path}", f"b/{path}")
            if not text:
                text = f"--- a/{path}\n+++ b/{path}\n(mode {_bits(present)} to {_bits(target)})\n"
            parts.append(text)
        return Redactor().text("".join(parts))

    # Doing it

    def _carry_out(
        self,
        shadow: Shadow,
        plan: Plan,
        present: Present,
        chosen: Sequence[Entry],
        report: UndoReport,
    ) -> UndoReport:
        commits = self._plan_commits(chosen) if self._request.commits else None
        if plan.is_empty and commits is None:
            return report
        store = self._store
        before = store.keep(shadow, present["tree"], present["extras"], self._now)
        tree = _build_tree(shadow, present["tree"], plan)
        extras = _build_extras(store, tree, present["extras"], plan)
        after = store.keep(shadow, tree, extras, self._now, is_new=True)
        if commits is not None:
            after = {**after, "head": commits["head"], "branch": commits["branch"]}
            after["index"] = commits["index"]
        id = new_id()
        is_redo = report["kind"] == "redo"
        of = [one["id"] for one in chosen]
        if chosen[0]["kind"] == "undo":
            of += chosen[0]["of"]
        command = {
            "do": "redo" if is_redo else "undo",
            "id": id,
            "of": of,
            "before": before,
            "after": after,
            "size": _size(report["files"]),
            "whole": not self._request.paths and not plan.mixed and not plan.clashes,
        }
        left = carry_out(
            store,
            shadow,
            plan,
            tree,
            id,
            at=clock.precise(self._now),
            commits=commits,
            record=lambda: ledger.write(self._workspace, command, actor=self._actor, now=self._now),
        )
        return {**report, "done": True, "state": before["id"], "left": left}

    def _plan_commits(self, chosen: Sequence[Entry]) -> Commits | None:
        state = chosen[-1]["before"]
        if self._store.is_plain or not state["head"]:
            raise HoldfastError("No commit is known of that time.", hint="Leave out --commits.")
        commits: Commits = {
            "branch": state["branch"],
            "head": state["head"],
            "index": state["index"],
        }
        return commits


class ConflictError(Conflict):
    """Files were changed since on the same lines; nothing was taken back."""

    def __init__(self, report: UndoReport) -> None:
        count = len(report["conflicts"])
        first = report["conflicts"][0]
        super().__init__(
            f"{plural(count, 'file')} cannot be taken back, and nothing was changed. "
            f"{first['path']}: {first['why']}.",
            hint="`holdfast undo --dry-run` shows both sides. --skip-conflicts takes back the rest; "
            f"or name files: holdfast undo {quote('PATH')}",
            kind="undo_conflict",
        )
        self.report = report


def _nothing_kept() -> NotFound:
    return NotFound(
        "No prompt is known here yet.",
        hint="Undo begins with the first prompt after `holdfast init`; `holdfast snapshot` keeps a state by hand.",
    )


def _build_tree(shadow: Shadow, present: str, plan: Plan) -> str:
    """Return the tree of the present with the plan's changes."""
    scratch = os.path.join(shadow.folder, f"target-{new_id()[:8]}")
    changes = sorted(plan.cells.items(), key=lambda pair: pair[1][1] is not None)
    lines = []
    for path, (old, new) in changes:
        mode, object = (
            (new.mode, new.object) if new is not None else (NOTHING, old.object if old else "")
        )
        lines.append(os.fsencode(f"{mode} {object}\t{path}") + b"\0")
    try:
        shadow.git("read-tree", "--no-sparse-checkout", present, index=scratch)
        options = ("update-index", "-z", "--add", "--replace", "--index-info")
        shadow.git(*options, input=b"".join(lines), index=scratch)
        return shadow.git("write-tree", index=scratch).decode().strip()
    finally:
        if os.path.exists(scratch):
            os.unlink(scratch)


def _build_extras(store: Store, tree: str, present: Extras, plan: Plan) -> Extras:
    """Return the extras of the present with the plan's changes."""
    modes = dict(present["modes"])
    for path, (_, target) in plan.cells.items():
        modes.pop(path, None)
        if target is None or target.mode not in (FILE, PROGRAM):
            continue
        if target.bits != present["usual"][target.mode == PROGRAM]:
            modes[path] = target.bits
    folders = ({*present["empty"], *plan.make}) - set(plan.remove)
    full = _list_full(store, tree, sorted(folders)) if folders else set()
    # A folder that holds an empty one is none itself.
    full |= {parent for one in folders for parent in folders if one.startswith(f"{parent}/")}
    return {**present, "modes": modes, "empty": sorted(folders - full)}


def _list_full(store: Store, tree: str, folders: Sequence[str]) -> set[str]:
    """Return those of the folders that the tree has files in."""
    words = ("ls-tree", "-z", "--name-only", "--full-tree", "-d", tree, "--")
    found: set[str] = set()
    for start in range(0, len(folders), 500):
        output = store.git(*words, *folders[start : start + 500])
        found |= {name for name in os.fsdecode(output).split("\0") if name}
    return found


def _size(files: Sequence[FileChange]) -> Size:
    return {
        "files": len(files),
        "added": sum(one["added"] or 0 for one in files),
        "removed": sum(one["removed"] or 0 for one in files),
    }


def _bits(cell: object) -> str:
    bits = getattr(cell, "bits", None)
    return "none" if bits is None else f"{bits:o}"
