"""A checkpoint: the four steps of CCC, each on its own, and a report that hides nothing.

Everything heavy (git, probes, a tracker) is imported where it is used: the automated profile runs in
hooks, and starts no git process at all.
"""

from __future__ import annotations

import os

from holdfast.clients.table import own_id
from holdfast.kernel.commit import Order, commit
from holdfast.kernel.crash import reached
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.streams import works_offline
from holdfast.kernel.text import quote
from holdfast.kernel.tree_file import TreeFile
from holdfast.kernel.views.files import Unreadable, read_file, text_of
from holdfast.session import ccc_files, session_files, sessions
from holdfast.session.checkpoint_input import CheckpointInput, names_files
from holdfast.session.rules import progress, report
from holdfast.session.rules import session as rules
from holdfast.session.rules.fields import UNKNOWN_ISSUE
from holdfast.session.rules.model import PROGRESS_FILE, empty_progress, is_issue
from holdfast.session.rules.prompt import (
    NAMES_NO_ISSUE,
    draw_box,
    generic,
    is_stated,
    next_action_of,
    weaknesses,
)
from holdfast.session.world import head_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypedDict

    from holdfast.clients.discovery import FoundSession
    from holdfast.kernel.workspace import Workspace
    from holdfast.session.rules.model import Profile, SessionState
    from holdfast.session.rules.report import Step

    class Request(TypedDict, total=False):
        """What a checkpoint is asked for. `given` holds the fields of the progress that are new."""

        profile: Profile
        reason: str
        session: str
        given: dict[str, Any]
        files: list[str]
        claims: list[dict[str, Any]]
        skip_git: bool
        skip_tracker: str
        at_gate: bool
        # A hook asks, and neither a person nor an agent.
        by_hook: bool
        require_verified: bool
        strict: bool
        dry_run: bool

    class Result(TypedDict):
        """What became of it. `created` are files that holdfast wrote into this work tree for the first
        time. `lines` is what belongs on standard output, before the report."""

        id: str
        session: str
        profile: Profile
        reason: str
        steps: list[Step]
        report: str
        prompt: str
        snapshot: str
        recorded: bool
        created: list[str]
        warnings: list[str]
        lines: list[str]

    Ask = Callable[[str], str]


@works_offline
def checkpoint(
    workspace: Workspace, request: Request, *, actor: str, now: int, ask: Ask | None = None
) -> Result:
    """Run the steps of a profile. Only what makes the request itself wrong is raised.

    Fail forward: an error in a step goes into the report, and the next step runs.
    """
    return Checkpoint(CheckpointInput(workspace, request, actor, now, ask)).run()


class Checkpoint:
    """One checkpoint under way: what it began with, and what was done so far."""

    def __init__(self, known: CheckpointInput) -> None:
        self.known = known
        self.warnings = known.warnings
        self.claims: list[Any] = []
        self.steps: list[Step] = []
        self.lines: list[str] = []
        self.created: list[str] = []
        self.is_queued = False
        # The journal has the progress, whether or not its file could be written.
        self.is_recorded = False
        self.snapshot = self.prompt = ""

    def run(self) -> Result:
        """Run the steps and report them."""
        known, request = self.known, self.known.request
        self._run_probes()
        self._refuse_bad_input()
        if request.get("dry_run"):
            after = self._preview()
            for path, text in rules.render(after).items():
                self.lines += [path, "", *text.split("\n")]
            return self._make_result(after["progress"]["prompt"])
        steps: dict[str, Callable[[], Step]] = {
            report.PERSIST: self._persist,
            report.SNAPSHOT: self._commit_in_scope,
            report.TRACKER: self._update_tracker,
            report.PROMPT: self._show_prompt,
        }
        if known.profile == "manual":
            self._ask_for_files()
            self._observe()
        for name in report.STEPS[known.profile]:
            try:
                reached(f"before {name}")
                step = steps[name]()
            except HoldfastError as error:
                step = report.failed(name, error.message.rstrip("."))
            except Exception as error:
                step = report.failed(name, str(error) or type(error).__name__)
            self._note(step)
            if name == report.SNAPSHOT:
                reached("before snapshot")
                self._keep_snapshot()
                reached("before survey")
                self._survey()
        prompt = self.prompt or self._read_prompt()[0]
        self._warn_of_weakness(prompt)
        tally = report.tally(self.steps)
        if tally:
            self.lines.append(tally)
        reached("before result")
        return self._make_result(prompt)

    def _note(self, step: Step) -> None:
        """Add a step to the report."""
        self.steps.append(step)
        if step["status"] == "failed":
            self.warnings.append(step["message"])
            self.lines.append(f"Warning: {step['message']}")
        elif step["message"]:
            self.lines.append(step["message"])

    def _make_result(self, prompt: str) -> Result:
        known = self.known
        return {
            "id": known.id,
            "session": known.session,
            "profile": known.profile,
            "reason": known.request.get("reason", ""),
            "steps": self.steps,
            "report": report.write(self.steps) if self.steps else "Dry run: nothing was changed.",
            "prompt": prompt,
            "snapshot": self.snapshot,
            "recorded": self.is_recorded,
            "created": self.created,
            "warnings": self.warnings,
            "lines": self.lines,
        }

    # Before the first step

    def _run_probes(self) -> None:
        known = self.known
        asked = known.request.get("claims", [])
        if not asked:
            return
        from holdfast.session.claims import remember, run_all

        root, commit = known.workspace.root, known.head["commit"]
        self.claims = list(run_all(asked, root, known.settings, commit, known.now))
        remember(known.workspace, self.claims, known.settings)
        failing = [claim for claim in self.claims if not claim["ok"]]
        if failing and known.request.get("require_verified"):
            lines = "; ".join(f"{claim['claim']}: {claim['output'].strip()}" for claim in failing)
            raise HoldfastError(
                f"The handoff is refused: {len(failing)} of {len(self.claims)} claims are unverified. {lines}",
                hint="Make them true, or leave --require-verified out.",
                kind="unverified",
            )
        for claim in failing:
            why = claim["output"].strip().split("\n")[-1]
            self.lines.append(f"Unverified: {claim['claim']} ({why})")

    def _refuse_bad_input(self) -> None:
        """Refuse what is wrong with the request itself before anything is done."""
        request = self.known.request
        given = request.get("given", {}).get("issue")
        if given:
            ccc_files.refuse_bad_issue(str(given))
        for name in request.get("files", []):
            if not names_files(name):
                raise Usage(f"{name!r} names the whole work tree.", hint="Name the files in scope.")
        if request.get("strict") and self.known.profile == "manual":
            weak = self._list_weaknesses(self._preview()["progress"]["prompt"])
            if weak:
                raise HoldfastError(
                    f"The continuation prompt is too vague: {'; '.join(weak)}.",
                    hint="Give --issue, --task, --file and --next, or leave --strict out.",
                    kind="weak_prompt",
                )

    def _preview(self) -> SessionState:
        """Return the state as it would be afterwards; nothing is written."""
        known = self.known
        decision = rules.decide(known.known, known.make_command(self.claims), known.now)
        kind, body = decision.records[0]
        return rules.apply(
            known.known,
            {"id": known.id, "kind": kind, "body": body, "at": body["at"], "actor": known.actor},
        )

    def _ask_for_files(self) -> None:
        """Ask a person before the first step: a person who leaves the question has changed nothing."""
        known = self.known
        is_left_out = known.request.get("skip_git") or not known.workspace.git_dir
        if known.ask is None or is_left_out or known.list_files():
            return
        from holdfast.session.git_step import ask_for_files

        names = ask_for_files(known.workspace, known.ask, known.control_files)
        known.request = {**known.request, "files": names}

    def _observe(self) -> None:
        """Record the work before a statement: what was done earlier in the same turn is then not taken
        for work that was done since."""
        from holdfast.session import observation

        known, workspace = self.known, self.known.workspace
        try:
            if workspace.exists() and workspace.journal.read_only:
                return
            found = self._find_session_beside()
            looked = observation.look(
                workspace,
                found["session"] if found else known.session,
                transcript=found["path"] if found else "",
                state=None if found else known.known,
                now=known.now,
            )
            if looked is not None:
                observation.record(
                    workspace,
                    known.session,
                    looked,
                    None,
                    of=found["session"] if found else "",
                    actor=known.actor,
                    now=known.now,
                )
        except (HoldfastError, OSError) as error:
            self.warnings.append(f"The transcript was not read: {error}")

    def _find_session_beside(self) -> FoundSession | None:
        """Return the newest client's session here, for a checkpoint of a terminal, which has no transcript."""
        from holdfast.session.client_process import has_slot
        from holdfast.session.session_choice import is_bare, sessions_of_clients

        known = self.known
        is_named = known.request.get("session") or own_id()
        if is_named or has_slot(known.workspace, known.session) or not is_bare(known.known):
            return None
        here = sessions_of_clients(known.workspace)
        return here[0] if here and here[0]["session"] != known.session else None

    # Step 1

    def _persist(self) -> Step:
        """Keep the session's progress, as a record and in its file."""
        known = self.known
        if known.adopted is not None:
            before = known.adopted["session"]
            known.adopted = sessions.adopt(
                known.workspace, before, known.session, actor=known.actor, now=known.now
            )
        command, version = known.make_command(self.claims), self._find_version()
        is_first = command["shown"] and not known.has_file() and not self._was_shown()
        if is_first:
            self._hide_from_git()
        # A checkpoint creates the file when it is absent, also after a person removed it; CCC-12.
        order = Order(known.stream, command, raise_removed=True)
        outcome = commit(
            known.writer, [order], actor=known.actor, now=known.now, id=known.id, can_wait=True
        )[0]
        if outcome["queued"]:
            self.is_queued = True
            message = "Progress queued: the journal cannot be written here."
            return report.done(report.PERSIST, message)
        self.is_recorded = True
        session_files.drop(known.workspace, known.session, session_files.RESUMED)
        left = known.writer.remembered.get(known.stream)
        if left is None or left.version != version + len(outcome["records"]):
            self._say_where_broken_files_are(version)
        for view in outcome["views"]:
            if view["status"] == "failed":
                not_written = f"{view['path']} was not written: {view['reason'].rstrip('.')}"
                return report.failed(report.PERSIST, f"{not_written}. The record is safe")
            if is_first and view["status"] == "written":
                self.created.append(view["path"])
        return report.done(report.PERSIST)

    def _hide_from_git(self) -> None:
        """Keep the file that is about to appear out of the next `git add -A`."""
        from holdfast.session.progress_file import COMMIT, SETTING

        known = self.known
        if known.settings[SETTING] != COMMIT and known.workspace.git_dir:
            from holdfast.kernel.git_exclude import hide_new

            hide_new(known.workspace, [known.progress_path])

    def _find_version(self) -> int:
        """Return the version of the session's stream before the capture."""
        known = self.known
        remembered = known.writer.remembered.get(known.stream)
        if remembered is not None:
            return remembered.version
        exists = known.workspace.exists()
        head = known.workspace.journal.head(known.stream) if exists else None
        return head["version"] if head else 0

    def _was_shown(self) -> bool:
        """Whether an earlier session wrote its progress into this work tree."""
        workspace, path = self.known.workspace, self.known.progress_path
        return workspace.exists() and bool(
            workspace.journal.views(worktree=workspace.root, path=path)
        )

    def _say_where_broken_files_are(self, before: int) -> None:
        """More than the capture was recorded: perhaps a file that could not be read."""
        for record in self.known.workspace.journal.read(self.known.stream, after=before):
            if record["kind"] == "quarantined":
                words = "{path} was broken ({reason}); it is kept in {kept}"
                warning = words.format(**record["body"])
                self.warnings.append(warning)
                self.lines.append(f"Warning: {warning}")

    # Step 2

    def _commit_in_scope(self) -> Step:
        known = self.known
        if known.request.get("skip_git"):
            return report.skipped(report.SNAPSHOT, "Git snapshot skipped (--skip-git).")
        if not known.workspace.git_dir:
            return report.skipped(report.SNAPSHOT, "Git snapshot skipped — no git repository.")
        from holdfast.session.git_step import commit_files_in_scope, message_of

        template = str(known.settings["session.commit_message"])
        message = message_of(template, known.find_state()["progress"], known.position)
        step, warnings = commit_files_in_scope(
            known.workspace, known.list_files(), message, known.id, known.control_files
        )
        self.warnings += warnings
        return step

    def _keep_snapshot(self) -> None:
        """Keep the whole work tree under a private ref. No step of the protocol: a failure is a warning."""
        known = self.known
        if not known.workspace.git_dir:
            return
        from holdfast.session.git_step import CLEAN, keep_work_tree

        largest_mb = int(known.settings["snapshot.largest_mb"])
        self.snapshot, warnings = keep_work_tree(
            known.workspace, known.session, largest_mb=largest_mb, now=known.now
        )
        self.warnings += warnings
        step = self.steps[-1]
        is_left_out = step["status"] == "skipped" and step["message"] != CLEAN
        if self.snapshot and is_left_out and not known.request.get("skip_git"):
            shown = f"holdfast snapshot show {quote(self.snapshot)}"
            self.lines.append(f"The work tree is kept: {shown}")

    def _survey(self) -> None:
        """Record the world as step 2 left it, where it moved HEAD: resume compares with that."""
        known, before = self.known, self.known.head
        known.head = head_now(known.workspace)
        if known.head == before:
            return
        try:
            command = {"do": "survey", "world": known.look_at_world()}
            known.writer.execute(known.stream, command, actor=known.actor, now=known.now)
        except HoldfastError as error:
            self.warnings.append(f"The commit was not noted: {error.message}")

    # Step 3

    def _update_tracker(self) -> Step:
        """Deliver the comment. What delivers it is loaded where one waits."""
        known = self.known
        flag = known.request.get("skip_tracker")
        if flag:
            return report.skipped(report.TRACKER, f"Linear update skipped ({flag}).")
        if known.state_problem:
            return report.failed(report.TRACKER, known.state_problem.rstrip("."))
        issue = known.find_state()["progress"]["issue"]
        why, waiting = "", []
        if issue != UNKNOWN_ISSUE and not is_issue(issue):
            why = f"no tracker has an issue {issue}"
        elif known.has_tracker and known.is_strangers_issue(issue):
            why = f"{issue} came from elsewhere; if it is yours, give --issue {issue} once"
        elif not known.workspace.exists() or known.workspace.journal.read_only:
            why = "the journal cannot be written"
        else:
            effects = known.workspace.journal.effects(kinds=[rules.TRACKER])
            waiting = [effect for effect in effects if effect["key"] == issue]
            why = "nothing new to say" if known.has_tracker else "no tracker configured"
        if not waiting:
            return report.skipped(report.TRACKER, f"Linear update skipped — {why}.")
        from holdfast.session.tracker_step import deliver_now

        return deliver_now(known.workspace, known.writer, waiting[-1], known.settings, known.now)

    # Step 4

    def _show_prompt(self) -> Step:
        """Show the continuation prompt, and what is weak in it."""
        self.prompt, warning = self._read_prompt()
        if warning:
            self.lines.append(f"Warning: {warning}")
            self.warnings.append(warning)
        self.lines.append(draw_box(self.prompt))
        if warning.startswith(PROGRESS_FILE):
            return report.failed(report.PROMPT, f"{PROGRESS_FILE} cannot be read")
        return report.done(report.PROMPT)

    def _read_prompt(self) -> tuple[str, str]:
        """Return the section as the file has it, and what is wrong with it; the session's own where it has no file."""
        known = self.known
        if self.is_recorded and not rules.render(known.find_state()):
            return known.find_state()["progress"]["prompt"], ""
        try:
            _, content = read_file(TreeFile(known.workspace.root, known.progress_path))
            text = text_of(content)
            read = progress.parse(text)
        except (OSError, Unreadable, rules.Unparsable) as problem:
            issue = known.find_state()["progress"]["issue"]
            return generic(issue), f"{PROGRESS_FILE} cannot be read: {problem}"
        for shortcoming in progress.shortcomings(text, needs_issue=known.has_tracker):
            self.warnings.append(f"{PROGRESS_FILE}: {shortcoming}.")
        if self.steps[0]["status"] == "ok" and not self.is_queued:
            return read["prompt"], ""
        why = "Progress is queued" if self.is_queued else "Step 1 failed"
        return read["prompt"], f"{why}; this prompt is of {progress.session_of(text)}"

    def _warn_of_weakness(self, prompt: str) -> None:
        """CCC-24: a weak prompt is a warning; only --strict in the manual profile refuses it."""
        for name in self.known.request.get("files", []):
            if not os.path.lexists(os.path.join(self.known.workspace.root, name)):
                self.warnings.append(f"{name} is in scope, but there is no such file.")
        if self.known.profile == "manual" and self.is_recorded:
            state = self.known.find_state()
            if not self.known.request.get("files") and _says_nothing(state):
                self.warnings.append(_describe_empty(state))
                return
        for weakness in self._list_weaknesses(prompt):
            self.warnings.append(f"The continuation prompt is weak: {weakness}.")

    def _list_weaknesses(self, prompt: str) -> list[str]:
        """Without a tracker there need not be an issue."""
        found = weaknesses(prompt)
        return [one for one in found if one != NAMES_NO_ISSUE or self.known.has_tracker]


def _says_nothing(state: SessionState) -> bool:
    """Whether neither a statement nor a client's transcript tells anything of the work."""
    known, last = state["progress"], state["last"]
    if state.get("observed") or (last is not None and last["claims"]):
        return False
    empty = {**empty_progress(), **{name: known[name] for name in ("issue", "mode", "prompt")}}
    return known == empty and not is_stated(next_action_of(known["prompt"]))


def _describe_empty(state: SessionState) -> str:
    """Return what an empty checkpoint holds, and what it lacks."""
    world = state["last"]["world"] if state["last"] else None
    held = []
    if world is not None and world["commit"]:
        held.append(f"commit {world['commit'][:12]}")
    if world is not None and world["dirty_files"]:
        files = len(world["dirty_files"])
        held.append(f"the work tree with {files} uncommitted file{'s' if files > 1 else ''}")
    holds = f"It holds {' and '.join(held)}. " if held else ""
    return (
        "This checkpoint says nothing about the work: no task, no next action, and no session of a "
        f"client was found here. {holds}Give --task and --next"
    )
