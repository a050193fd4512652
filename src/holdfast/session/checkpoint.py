"""A checkpoint: the four steps of CCC, each on its own, and a report that hides nothing.

Everything heavy (git, probes, a tracker) is imported where it is used: the automated profile runs in
hooks, and starts no git process at all.
"""

from __future__ import annotations

import os

from holdfast.clients.current_session import own_id
from holdfast.kernel import canonical_json, config
from holdfast.kernel.crash import reached
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.views.files import Unreadable, read_file, text_of
from holdfast.remote.offline import works_offline
from holdfast.session import ccc_files, sessions
from holdfast.session.rules import progress, report
from holdfast.session.rules import session as rules
from holdfast.session.rules.model import (
    PROGRESS_FILE,
    STATE_FILE,
    UNKNOWN_ISSUE,
    empty_progress,
    issue_in,
)
from holdfast.session.rules.prompt import boxed, generic, weaknesses
from holdfast.session.world import CONTROL_FILES, head_now, look_at_work_tree, world_now
from holdfast.streams import open_writer
from holdfast.trackers import is_set_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypedDict

    from holdfast.kernel.workspace import Workspace
    from holdfast.kernel.writer import Writer
    from holdfast.session.rules.model import Profile, Progress, SessionState, World
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
        require_verified: bool
        strict: bool
        dry_run: bool

    class Result(TypedDict):
        """What became of it. `lines` is what belongs on standard output, before the report."""

        id: str
        session: str
        profile: Profile
        reason: str
        steps: list[Step]
        report: str
        prompt: str
        snapshot: str
        warnings: list[str]
        lines: list[str]

    Ask = Callable[[str], str]


@works_offline
def checkpoint(
    workspace: Workspace, request: Request, *, actor: str, now: int, ask: Ask | None = None
) -> Result:
    """Run the steps of a profile. Only what makes the request itself wrong is raised."""
    return _Checkpoint(workspace, request, actor, now, ask).run()


class _Checkpoint:
    def __init__(
        self, workspace: Workspace, request: Request, actor: str, now: int, ask: Ask | None
    ) -> None:
        self.workspace = workspace
        self.request = request
        self.actor = actor
        self.now = now
        self.id = new_id()
        self.profile: Profile = request.get("profile", "manual")
        # The automated profile never asks anybody anything; CCC-10.
        self.ask = ask if self.profile == "manual" else None
        self.settings = self._settings()
        self._writer: Writer | None = None
        self.folder = ccc_files.folder_of(workspace)
        self.queued = False
        self.steps: list[Step] = []
        self.lines: list[str] = []
        self.warnings: list[str] = []
        self.snapshot = ""
        self.prompt = ""
        # What a person said when asked for the issue: nobody is asked twice.
        self.answer: str | None = None
        self.state_file, self.state_problem = self._state_file()
        self.session, self.adopted = self._session()

    def run(self) -> Result:
        claims = self._claims()
        self._refuse_bad_input(claims)
        if self.request.get("dry_run"):
            after = self._preview(claims)
            for path, text in rules.render(after).items():
                self.lines += [path, "", *text.split("\n")]
            return self._result(after["progress"]["prompt"])
        does: dict[str, Callable[[], Step]] = {
            report.PERSIST: lambda: self._persist(claims),
            report.SNAPSHOT: self._git,
            report.TRACKER: self._tracker,
            report.PROMPT: self._show,
        }
        for name in report.STEPS[self.profile]:
            self._step(name, does[name])
            if name == report.SNAPSHOT:
                reached("before snapshot")
                self._keep_work_tree()
                reached("before survey")
                self._survey()
        prompt = self.prompt or self._prompt()[0]
        self._weak(prompt)
        reached("before result")
        return self._result(prompt)

    def _result(self, prompt: str) -> Result:
        return {
            "id": self.id,
            "session": self.session,
            "profile": self.profile,
            "reason": self.request.get("reason", ""),
            "steps": self.steps,
            "report": report.write(self.steps) if self.steps else "Dry run: nothing was changed.",
            "prompt": prompt,
            "snapshot": self.snapshot,
            "warnings": self.warnings,
            "lines": self.lines,
        }

    def _step(self, name: str, do: Callable[[], Step]) -> None:
        """Fail forward: whatever happens in a step is its own affair."""
        reached(f"before {name}")
        try:
            step = do()
        except HoldfastError as error:
            step = report.failed(name, error.message.rstrip("."))
        except Exception as error:
            step = report.failed(name, str(error) or type(error).__name__)
        self.steps.append(step)
        if step["status"] == "failed":
            self.warnings.append(step["message"])
            self.lines.append(f"Warning: {step['message']}")
        elif step["message"]:
            self.lines.append(step["message"])

    def _refuse_bad_input(self, claims: list[Any]) -> None:
        """What is wrong with the request itself is said before anything is done."""
        given = self.request.get("given", {}).get("issue")
        if given:
            ccc_files.refuse_bad_issue(str(given))
        for name in self.request.get("files", []):
            if not _names_files(name):
                raise Usage(f"{name!r} names the whole work tree.", hint="Name the files in scope.")
        if self.request.get("strict") and self.profile == "manual":
            weak = weaknesses(self._preview(claims)["progress"]["prompt"])
            if weak:
                raise HoldfastError(
                    f"The continuation prompt is too vague: {'; '.join(weak)}.",
                    hint="Give --issue, --task, --file and --next, or leave --strict out.",
                    kind="weak_prompt",
                )

    def _preview(self, claims: list[Any]) -> SessionState:
        """The state as it would be afterwards; nothing is written."""
        state = sessions.read_or_new(self.workspace, self.session)
        decision = rules.decide(state, self._command(claims), self.now)
        kind, body = decision.records[0]
        return rules.apply(
            state,
            {"id": self.id, "kind": kind, "body": body, "at": body["at"], "actor": self.actor},
        )

    # What is known before the first step

    def _settings(self) -> dict[str, Any]:
        """From the journal's copy of the file where there is one; a damaged journal fails step 1
        alone."""
        try:
            journal = self.workspace.journal if self.workspace.exists() else None
            return config.load(self.workspace, journal)
        except HoldfastError as error:
            if error.kind == "bad_config":
                raise
            return config.load(self.workspace)

    def _state_file(self) -> tuple[dict[str, Any], str]:
        try:
            return ccc_files.read_state(self.workspace), ""
        except HoldfastError as error:
            self.warnings.append(error.message)
            return {}, error.message

    def _session(self) -> tuple[str, SessionState | None]:
        """The session's id, and for a new one the session that it takes over."""
        wanted = self.request.get("session") or own_id() or self._clients_session()
        try:
            return sessions.meant(self.workspace, wanted)
        except HoldfastError:
            return wanted or new_id(), None

    def _clients_session(self) -> str:
        from holdfast.session import client_process

        try:
            return client_process.at_work(self.workspace)
        except HoldfastError:
            return ""

    def _issue(self, kept: str) -> str:
        """AMB-CCC-14: what is given, the state file, what the progress says, the branch, a person."""
        given = self.request.get("given", {}).get("issue")
        if given:
            return str(given)
        for key in ("linearIssue", "activeIssue"):
            named = self.state_file.get(key)
            if isinstance(named, str) and named and self._is_issue(named, f"{STATE_FILE}, {key}"):
                return named
        if kept != UNKNOWN_ISSUE:
            return kept
        found = issue_in(self.head["branch"] or "")
        if found:
            return found
        if self.ask is not None and self.answer is None:
            question = "Which issue should this checkpoint be associated with?"
            self.answer = self.ask(question).strip()
        if self.answer and self._is_issue(self.answer, "The answer"):
            return self.answer
        return UNKNOWN_ISSUE

    def _is_issue(self, named: str, source: str) -> bool:
        """The work is captured all the same when somebody else's file names what is no issue."""
        try:
            ccc_files.refuse_bad_issue(named)
        except HoldfastError as error:
            warning = f"{source}: {error.message}"
            if warning not in self.warnings:
                self.warnings.append(warning)
            return False
        return True

    def _claims(self) -> list[Any]:
        self.head = head_now(self.workspace)
        asked = self.request.get("claims", [])
        if not asked:
            return []
        from holdfast.session.claims import run_all

        claims = run_all(asked, self.workspace.root, self.settings, self.head["commit"], self.now)
        failing = [claim for claim in claims if not claim["ok"]]
        if failing and self.request.get("require_verified"):
            lines = "; ".join(f"{claim['claim']}: {claim['output'].strip()}" for claim in failing)
            raise HoldfastError(
                f"The handoff is refused: {len(failing)} of {len(claims)} claims are unverified. {lines}",
                hint="Make them true, or leave --require-verified out.",
                kind="unverified",
            )
        for claim in failing:
            why = claim["output"].strip().split("\n")[-1]
            self.lines.append(f"Unverified: {claim['claim']} ({why})")
        return list(claims)

    def _world(self) -> World:
        world = world_now(self.workspace, self.head)
        if self.profile == "manual":
            look_at_work_tree(self.workspace, world, self._control_files())
        return world

    def _control_files(self) -> list[str]:
        return [os.path.join(self.folder, name) for name in CONTROL_FILES]

    # Step 1

    def _persist(self, claims: list[Any]) -> Step:
        if self.adopted is not None:
            self._adopt()
        command, stream = self._command(claims), rules.stream_of(self.session)
        before = self._version(stream)
        # A checkpoint creates the file when it is absent, whoever removed it; CCC-12.
        outcome = self.writer.execute(
            stream, command, actor=self.actor, now=self.now, id=self.id, raise_removed=True
        )
        if outcome["queued"]:
            self.queued = True
            return report.done(
                report.PERSIST, "Progress queued: the journal cannot be written here."
            )
        self._say_where_broken_files_are(stream, before)
        for view in outcome["views"]:
            if view["status"] == "failed":
                return report.failed(report.PERSIST, view["reason"])
        return report.done(report.PERSIST)

    def _version(self, stream: str) -> int:
        head = self.workspace.journal.head(stream) if self.workspace.exists() else None
        return head["version"] if head else 0

    def _say_where_broken_files_are(self, stream: str, before: int) -> None:
        for record in self.workspace.journal.read(stream, after=before):
            if record["kind"] == "quarantined":
                words = "{path} was broken ({reason}); it is kept in {kept}"
                warning = words.format(**record["body"])
                self.warnings.append(warning)
                self.lines.append(f"Warning: {warning}")

    def _command(self, claims: list[Any]) -> dict[str, Any]:
        given, text = canonical_json.storable(dict(self.request.get("given", {})))
        # Before it is taken apart: in `password: hunter2`, neither half alone is a secret.
        given = dict(self.writer.redactor.value(given, text))
        known = sessions.read_or_new(self.workspace, self.session)
        source = self.adopted
        if source is None and not known["captures"] and self._has_file():
            # Nobody ended the session before, so nobody adopts it; but its work is not forgotten.
            from holdfast.session.client_process import killed

            source = killed(self.workspace, self.now)
        if source is not None:
            given = {**sessions.carried_over(source), **given}
        kept = (source or known)["progress"]["issue"]
        given["issue"] = self._issue(
            kept if kept != UNKNOWN_ISSUE else ccc_files.issue_of_file(self.workspace)
        )
        mode = self.state_file.get("executionMode")
        if "mode" not in given and isinstance(mode, str):
            given["mode"] = mode
        elif "mode" not in given and not known["captures"]:
            given["mode"] = ccc_files.read_preferences(self.workspace)["default_mode"] or None
        return {
            "do": "capture",
            "given": given,
            "files": self._files(),
            "position": self._position(),
            "folder": self.folder,
            "profile": self.profile,
            "reason": self.request.get("reason", ""),
            "adopts": self.adopted["session"] if self.adopted else "",
            "world": self._world(),
            "claims": claims,
            "inherits": _inherited(source),
            "tracker": self._tracker_wish(given["issue"]),
        }

    def _has_file(self) -> bool:
        return os.path.exists(os.path.join(self.workspace.root, self.folder, PROGRESS_FILE))

    def _adopt(self) -> None:
        """One record, one winner: somebody else may have been faster."""
        assert self.adopted is not None
        if not sessions.adopt(
            self.workspace, self.adopted["session"], self.session, actor=self.actor, now=self.now
        ):
            self.adopted = None

    def _files(self) -> list[str]:
        if self.request.get("files"):
            return self.request["files"]
        active = self.state_file.get("activeTaskFiles")
        names = [str(name) for name in active] if isinstance(active, list) else []
        # Seen from the engine's own root. An empty one would be the whole tree, never the scope.
        return [os.path.join(self.folder, name) for name in names if _names_files(name)]

    def _position(self) -> tuple[int, int] | None:
        """AMB-CCC-15: the engine counts from 0, people from 1."""
        index, total = self.state_file.get("taskIndex"), self.state_file.get("totalTasks")
        if isinstance(index, int) and isinstance(total, int) and total > 0:
            return min(index + 1, total), total
        return None

    def _tracker_wish(self, issue: str) -> str:
        """`always`, `changed` (a plain stop says only what is new) or nothing."""
        if self.request.get("skip_tracker") or issue == UNKNOWN_ISSUE:
            return ""
        if not is_set_up(self.settings):
            return ""
        plain_stop = self.profile == "automated" and not self.request.get("at_gate")
        return "changed" if plain_stop else "always"

    def _weak(self, prompt: str) -> None:
        """CCC-24: a weak prompt is a warning; only --strict in the manual profile refuses it."""
        for weakness in weaknesses(prompt):
            self.warnings.append(f"The continuation prompt is weak: {weakness}.")

    # Step 2

    def _git(self) -> Step:
        if self.request.get("skip_git"):
            return report.skipped(report.SNAPSHOT, "Git snapshot skipped (--skip-git).")
        from holdfast.session import git_step

        files, exclude = self._files(), self._control_files()
        if not files and self.ask is not None and git_step.is_dirty(self.workspace, exclude):
            import shlex

            files = shlex.split(self.ask("Which files belong to this checkpoint's commit?"))
        message = git_step.message_of(
            str(self.settings["session.commit_message"]), self._progress(), self._position()
        )
        step, warnings = git_step.commit(self.workspace, files, message, self.id, exclude)
        self.warnings += warnings
        return step

    def _keep_work_tree(self) -> None:
        from holdfast.session.git_step import keep_work_tree

        largest = int(self.settings["snapshot.largest_mb"])
        self.snapshot, warnings = keep_work_tree(
            self.workspace, self.session, largest_mb=largest, now=self.now
        )
        self.warnings += warnings

    @property
    def writer(self) -> Writer:
        if self._writer is None:
            self._writer = open_writer(self.workspace)
        return self._writer

    def _survey(self) -> None:
        """Step 2 moved HEAD: the world as it is left is the one to compare with at resume."""
        before = self.head
        self.head = head_now(self.workspace)
        if self.head == before:
            return
        try:
            self.writer.execute(
                rules.stream_of(self.session),
                {"do": "survey", "world": self._world()},
                actor=self.actor,
                now=self.now,
            )
        except HoldfastError as error:
            self.warnings.append(f"The commit was not noted: {error.message}")

    # Step 3

    def _tracker(self) -> Step:
        flag = self.request.get("skip_tracker")
        if flag:
            return report.skipped(report.TRACKER, f"Linear update skipped ({flag}).")
        if self.state_problem:
            return report.failed(report.TRACKER, self.state_problem.rstrip("."))
        from holdfast.session.tracker_step import deliver_now

        issue = self._progress()["issue"]
        return deliver_now(self.workspace, self.writer, issue, self.settings, self.now)

    # Step 4

    def _prompt(self) -> tuple[str, str]:
        """The section as the file has it, and what is wrong with it."""
        path = os.path.join(self.workspace.root, self.folder, PROGRESS_FILE)
        try:
            _, content = read_file(path)
            read = progress.parse(text_of(content))
            for shortcoming in progress.shortcomings(text_of(content)):
                self.warnings.append(f"{PROGRESS_FILE}: {shortcoming}.")
        except (OSError, Unreadable, rules.Unparsable) as problem:
            return generic(self._progress()["issue"]), f"{PROGRESS_FILE} cannot be read: {problem}"
        persisted = self.steps[0]["status"] == "ok" and not self.queued
        if not persisted:
            stamp = progress.session_of(text_of(content))
            why = "Progress is queued" if self.queued else "Step 1 failed"
            return read["prompt"], f"{why}; this prompt is of {stamp}"
        return read["prompt"], ""

    def _progress(self) -> Progress:
        """What the session knows by now; nothing where the journal cannot say."""
        try:
            return sessions.read_or_new(self.workspace, self.session)["progress"]
        except HoldfastError:
            return empty_progress()

    def _show(self) -> Step:
        self.prompt, warning = self._prompt()
        if warning:
            self.lines.append(f"Warning: {warning}")
            self.warnings.append(warning)
        self.lines.append(boxed(self.prompt))
        if warning.startswith(PROGRESS_FILE):
            return report.failed(report.PROMPT, f"{PROGRESS_FILE} cannot be read")
        return report.done(report.PROMPT)


def _inherited(source: SessionState | None) -> dict[str, Any] | None:
    """The statement and the claims of the session that is taken over, with their own time."""
    if source is None or not source.get("stated"):
        return None
    last = source["last"]
    return {"stated": source["stated"], "claims": last["claims"] if last else []}


def _names_files(name: str) -> bool:
    return os.path.normpath(name.strip() or ".") != "."
