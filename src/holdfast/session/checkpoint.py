"""A checkpoint: the four steps of CCC, each on its own, and a report that hides nothing.

Everything heavy (git, probes, a tracker) is imported where it is used: the automated profile runs in
hooks, and starts no git process at all.
"""

from __future__ import annotations

import os

from holdfast.clients.table import own_id
from holdfast.kernel import canonical_json, config
from holdfast.kernel.crash import reached
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.views.files import Unreadable, read_file, text_of
from holdfast.remote.offline import works_offline
from holdfast.session import ccc_files, session_files, sessions
from holdfast.session.rules import progress, report
from holdfast.session.rules import session as rules
from holdfast.session.rules.model import (
    PROGRESS_FILE,
    STATE_FILE,
    UNKNOWN_ISSUE,
    empty_progress,
    is_issue,
    issue_in,
)
from holdfast.session.rules.prompt import (
    CONTINUE,
    NAMES_NO_ISSUE,
    boxed,
    generic,
    next_action_of,
    weaknesses,
)
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
    run = CheckpointRun(workspace, request, actor, now, ask)
    claims = _claims(run)
    _refuse_bad_input(run, claims)
    if request.get("dry_run"):
        return _dry_run(run, claims)
    _ask_for_files(run)
    _observe(run)
    for name in report.STEPS[run.profile]:
        try:
            reached(f"before {name}")
            if name == report.PERSIST:
                step = _persist(run, claims)
            elif name == report.SNAPSHOT:
                step = _git(run)
            elif name == report.TRACKER:
                step = _tracker(run)
            else:
                step = _show(run)
        except HoldfastError as error:
            step = report.failed(name, error.message.rstrip("."))
        except Exception as error:
            step = report.failed(name, str(error) or type(error).__name__)
        _note(run, step)
        if name == report.SNAPSHOT:
            reached("before snapshot")
            _keep_work_tree(run)
            reached("before survey")
            _survey(run)
    prompt = run.prompt or _prompt(run)[0]
    _weak(run, prompt)
    tally = report.tally(run.steps)
    if tally:
        run.lines.append(tally)
    reached("before result")
    return _result(run, prompt)


class CheckpointRun:
    """One checkpoint under way: what was asked for, what is known, and what was done so far."""

    __slots__ = (
        *("actor", "adopted", "answer", "ask", "created", "folder", "head", "id", "known"),
        *("lines", "now"),
        *("profile", "prompt", "queued", "recorded", "request", "session", "settings", "snapshot"),
        *("_writer", "state_file", "state_problem", "steps", "warnings", "workspace"),
    )

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
        self.folder = ccc_files.folder_of(workspace)
        self.queued = False
        # The journal has the progress, whether or not its file could be written.
        self.recorded = False
        self.created: list[str] = []
        self.steps: list[Step] = []
        self.lines: list[str] = []
        self.warnings: list[str] = []
        self.snapshot = ""
        self.prompt = ""
        # What a person said when asked for the issue: a person is asked once.
        self.answer: str | None = None
        self.settings = _settings(self)
        self._writer: Writer | None = None
        self.state_file, self.state_problem = _state_file(self)
        self.head: Any = head_now(workspace)
        # `known` is the session as it was loaded, once.
        self.session, self.known, self.adopted = _session(self)

    @property
    def writer(self) -> Writer:
        """Opened when it is needed: a damaged journal fails step 1 alone."""
        if self._writer is None:
            self._writer = open_writer(self.workspace)
        return self._writer


def _note(run: CheckpointRun, step: Step) -> None:
    """Add a step to the report."""
    run.steps.append(step)
    if step["status"] == "failed":
        run.warnings.append(step["message"])
        run.lines.append(f"Warning: {step['message']}")
    elif step["message"]:
        run.lines.append(step["message"])


def _dry_run(run: CheckpointRun, claims: list[Any]) -> Result:
    after = _preview(run, claims)
    for path, text in rules.render(after).items():
        run.lines += [path, "", *text.split("\n")]
    return _result(run, after["progress"]["prompt"])


def _result(run: CheckpointRun, prompt: str) -> Result:
    return {
        "id": run.id,
        "session": run.session,
        "profile": run.profile,
        "reason": run.request.get("reason", ""),
        "steps": run.steps,
        "report": report.write(run.steps) if run.steps else "Dry run: nothing was changed.",
        "prompt": prompt,
        "snapshot": run.snapshot,
        "recorded": run.recorded,
        "created": run.created,
        "warnings": run.warnings,
        "lines": run.lines,
    }


def _refuse_bad_input(run: CheckpointRun, claims: list[Any]) -> None:
    """What is wrong with the request itself is said before anything is done."""
    given = run.request.get("given", {}).get("issue")
    if given:
        ccc_files.refuse_bad_issue(str(given))
    for name in run.request.get("files", []):
        if not _names_files(name):
            raise Usage(f"{name!r} names the whole work tree.", hint="Name the files in scope.")
    if run.request.get("strict") and run.profile == "manual":
        weak = _weaknesses(run, _preview(run, claims)["progress"]["prompt"])
        if weak:
            raise HoldfastError(
                f"The continuation prompt is too vague: {'; '.join(weak)}.",
                hint="Give --issue, --task, --file and --next, or leave --strict out.",
                kind="weak_prompt",
            )


def _preview(run: CheckpointRun, claims: list[Any]) -> SessionState:
    """The state as it would be afterwards; nothing is written."""
    state = run.known
    decision = rules.decide(state, _command(run, claims), run.now)
    kind, body = decision.records[0]
    return rules.apply(
        state,
        {"id": run.id, "kind": kind, "body": body, "at": body["at"], "actor": run.actor},
    )


# What is known before the first step


def _settings(run: CheckpointRun) -> dict[str, Any]:
    """From the journal's copy of the file where there is one; a damaged journal fails step 1
    alone."""
    try:
        journal = run.workspace.journal if run.workspace.exists() else None
        return config.load(run.workspace, journal)
    except HoldfastError as error:
        if error.kind == "bad_config":
            raise
        return config.load(run.workspace)


def _state_file(run: CheckpointRun) -> tuple[dict[str, Any], str]:
    try:
        return ccc_files.read_state(run.workspace), ""
    except HoldfastError as error:
        run.warnings.append(error.message)
        return {}, error.message


def _session(run: CheckpointRun) -> tuple[str, SessionState, SessionState | None]:
    """The session's id, its state, and for a new one the session that it takes over."""
    wanted = run.request.get("session") or own_id() or _clients_session(run)
    try:
        if not wanted:
            own = sessions.at_work(run.workspace)
            wanted = own["session"] if own else new_id()
        known = _loaded(run, wanted)
        if known["captures"]:
            return wanted, known, None
        return wanted, known, sessions.predecessor(sessions.here(run.workspace), wanted)
    except HoldfastError:
        wanted = wanted or new_id()
        return wanted, rules.initial(rules.stream_of(wanted)), None


def _loaded(run: CheckpointRun, session: str) -> SessionState:
    """The state of a session. The writer keeps it for the commit of step 1."""
    stream = rules.stream_of(session)
    if not run.workspace.exists():
        return rules.initial(stream)
    state: SessionState = run.writer.load(stream)
    return state


def _clients_session(run: CheckpointRun) -> str:
    from holdfast.session import client_process

    try:
        return client_process.at_work(run.workspace)
    except HoldfastError:
        return ""


def _issue(run: CheckpointRun, kept: str, *, is_first: bool) -> str:
    """AMB-CCC-14: what is given, the state file, what the progress says, the branch, a person.
    A person is asked at the first checkpoint of some work and then no more; without a tracker, never."""
    named = _named_issue(run)
    if named:
        return named
    if kept != UNKNOWN_ISSUE:
        return kept
    found = issue_in(run.head["branch"] or "")
    if found:
        return found
    if run.ask is not None and run.answer is None and is_first and is_set_up(run.settings):
        question = "Which issue should this checkpoint be associated with?"
        run.answer = run.ask(question).strip()
    if run.answer and _is_issue(run, run.answer, "The answer"):
        return run.answer
    return UNKNOWN_ISSUE


def _named_issue(run: CheckpointRun) -> str:
    """The issue that is given, or that the state file names."""
    given = run.request.get("given", {}).get("issue")
    if given:
        return str(given)
    for key in ("linearIssue", "activeIssue"):
        named = run.state_file.get(key)
        if isinstance(named, str) and named and _is_issue(run, named, f"{STATE_FILE}, {key}"):
            return named
    return ""


def _is_strangers(run: CheckpointRun, issue: str) -> bool:
    """Whether an issue comes from a session in a journal that was made elsewhere, and this user never
    named it here: no comment is written there with this user's key."""
    from holdfast.kernel.trust import ISSUE, is_known_here, made_elsewhere_until

    if issue in (_named_issue(run), issue_in(run.head["branch"] or ""), run.answer):
        return False
    came = made_elsewhere_until(run.workspace) > 0
    return came and not is_known_here(run.workspace, ISSUE + issue)


def _is_issue(run: CheckpointRun, named: str, source: str) -> bool:
    """The work is captured all the same when another tool's file names what is no issue."""
    try:
        ccc_files.refuse_bad_issue(named)
    except HoldfastError as error:
        warning = f"{source}: {error.message}"
        if warning not in run.warnings:
            run.warnings.append(warning)
        return False
    return True


def _claims(run: CheckpointRun) -> list[Any]:
    asked = run.request.get("claims", [])
    if not asked:
        return []
    from holdfast.session.claims import remember, run_all

    claims = run_all(asked, run.workspace.root, run.settings, run.head["commit"], run.now)
    remember(run.workspace, claims, run.settings)
    failing = [claim for claim in claims if not claim["ok"]]
    if failing and run.request.get("require_verified"):
        lines = "; ".join(f"{claim['claim']}: {claim['output'].strip()}" for claim in failing)
        raise HoldfastError(
            f"The handoff is refused: {len(failing)} of {len(claims)} claims are unverified. {lines}",
            hint="Make them true, or leave --require-verified out.",
            kind="unverified",
        )
    for claim in failing:
        why = claim["output"].strip().split("\n")[-1]
        run.lines.append(f"Unverified: {claim['claim']} ({why})")
    return list(claims)


def _world(run: CheckpointRun) -> World:
    world = world_now(run.workspace, run.head)
    if run.profile == "manual":
        look_at_work_tree(run.workspace, world, _control_files(run))
    return world


def _control_files(run: CheckpointRun) -> list[str]:
    return [os.path.join(run.folder, name) for name in CONTROL_FILES]


# Step 1


def _observe(run: CheckpointRun) -> None:
    """Record the work before a statement: what was done earlier in the same turn is then not taken
    for work that was done since."""
    if run.profile != "manual":
        return
    from holdfast.session import observation

    workspace = run.workspace
    try:
        if workspace.exists() and workspace.journal.read_only:
            return
        looked = observation.look(workspace, run.session, state=run.known, now=run.now)
        if looked is not None:
            observation.record(workspace, run.session, looked, None, actor=run.actor, now=run.now)
    except (HoldfastError, OSError) as error:
        run.warnings.append(f"The transcript was not read: {error}")


def _persist(run: CheckpointRun, claims: list[Any]) -> Step:
    if run.adopted is not None:
        _adopt(run)
    command, stream = _command(run, claims), rules.stream_of(run.session)
    before = _version(run, stream)
    is_first = not _has_file(run) and not _was_shown(run)
    # A checkpoint creates the file when it is absent, also after a person removed it; CCC-12.
    outcome = run.writer.execute(
        stream, command, actor=run.actor, now=run.now, id=run.id, raise_removed=True
    )
    if outcome["queued"]:
        run.queued = True
        return report.done(report.PERSIST, "Progress queued: the journal cannot be written here.")
    run.recorded = True
    session_files.drop(run.workspace, run.session, session_files.RESUMED)
    _say_where_broken_files_are(run, stream, before)
    for view in outcome["views"]:
        if view["status"] == "failed":
            not_written = f"{view['path']} was not written: {view['reason'].rstrip('.')}"
            return report.failed(report.PERSIST, f"{not_written}. The record is safe")
        if is_first and view["status"] == "written":
            run.created.append(view["path"])
    return report.done(report.PERSIST)


def _version(run: CheckpointRun, stream: str) -> int:
    head = run.workspace.journal.head(stream) if run.workspace.exists() else None
    return head["version"] if head else 0


def _say_where_broken_files_are(run: CheckpointRun, stream: str, before: int) -> None:
    for record in run.workspace.journal.read(stream, after=before):
        if record["kind"] == "quarantined":
            words = "{path} was broken ({reason}); it is kept in {kept}"
            warning = words.format(**record["body"])
            run.warnings.append(warning)
            run.lines.append(f"Warning: {warning}")


def _command(run: CheckpointRun, claims: list[Any]) -> dict[str, Any]:
    given, text = canonical_json.storable(dict(run.request.get("given", {})))
    # Before it is taken apart: in `password: hunter2`, neither half alone is a secret.
    given = dict(run.writer.redactor.value(given, text))
    known = run.known
    source = run.adopted
    if source is None and not known["captures"] and _has_file(run):
        # The session before was killed, so no session adopts it; its work is carried over all the same.
        from holdfast.session.client_process import killed

        source = killed(run.workspace, sessions.here(run.workspace), run.now)
    if source is not None:
        given = {**sessions.carried_over(source), **given}
    kept = (source or known)["progress"]["issue"]
    given["issue"] = _issue(
        run,
        kept if kept != UNKNOWN_ISSUE else ccc_files.issue_of_file(run.workspace),
        is_first=source is None and not known["captures"],
    )
    mode = run.state_file.get("executionMode")
    if "mode" not in given and isinstance(mode, str):
        given["mode"] = mode
    elif "mode" not in given and not known["captures"]:
        given["mode"] = ccc_files.read_preferences(run.workspace)["default_mode"] or None
    world = _world(run)
    is_dirty = bool(world["dirty_files"])
    return {
        "do": "capture",
        "given": given,
        "files": _files(run),
        "position": _position(run),
        "folder": run.folder,
        "profile": run.profile,
        "reason": run.request.get("reason", ""),
        "adopts": run.adopted["session"] if run.adopted else "",
        "resumed": bool(session_files.read(run.workspace, run.session, session_files.RESUMED)),
        "world": world,
        "claims": [{**claim, "dirty": is_dirty} for claim in claims],
        "inherits": _inherited(source),
        "tracker": _tracker_wish(run, given["issue"]),
    }


def _has_file(run: CheckpointRun) -> bool:
    return os.path.exists(os.path.join(run.workspace.root, run.folder, PROGRESS_FILE))


def _was_shown(run: CheckpointRun) -> bool:
    """Whether an earlier session wrote its progress into this work tree."""
    path = os.path.join(run.folder, PROGRESS_FILE)
    known = run.workspace.exists()
    return known and bool(run.workspace.journal.views(worktree=run.workspace.root, path=path))


def _adopt(run: CheckpointRun) -> None:
    """One record, one winner: another session may have been faster."""
    assert run.adopted is not None
    if not sessions.adopt(
        run.workspace, run.adopted["session"], run.session, actor=run.actor, now=run.now
    ):
        run.adopted = None


def _files(run: CheckpointRun) -> list[str]:
    if run.request.get("files"):
        return run.request["files"]
    active = run.state_file.get("activeTaskFiles")
    names = [str(name) for name in active] if isinstance(active, list) else []
    # Seen from the engine's own root. An empty one would be the whole tree, never the scope.
    return [os.path.join(run.folder, name) for name in names if _names_files(name)]


def _position(run: CheckpointRun) -> tuple[int, int] | None:
    """AMB-CCC-15: the engine counts from 0, people from 1."""
    index, total = run.state_file.get("taskIndex"), run.state_file.get("totalTasks")
    if isinstance(index, int) and isinstance(total, int) and total > 0:
        return min(index + 1, total), total
    return None


def _tracker_wish(run: CheckpointRun, issue: str) -> str:
    """`always`, `changed` (a plain stop says only what is new) or nothing."""
    if run.request.get("skip_tracker") or not is_issue(issue):
        return ""  # no tracker knows such a name
    if not is_set_up(run.settings) or _is_strangers(run, issue):
        return ""
    plain_stop = run.profile == "automated" and not run.request.get("at_gate")
    return "changed" if plain_stop else "always"


def _weak(run: CheckpointRun, prompt: str) -> None:
    """CCC-24: a weak prompt is a warning; only --strict in the manual profile refuses it."""
    for name in run.request.get("files", []):
        if not os.path.lexists(os.path.join(run.workspace.root, name)):
            run.warnings.append(f"{name} is in scope, but there is no such file.")
    if run.profile == "manual" and run.recorded and _says_nothing(run):
        run.warnings.append(_what_it_holds(run))
        return
    for weakness in _weaknesses(run, prompt):
        run.warnings.append(f"The continuation prompt is weak: {weakness}.")


def _says_nothing(run: CheckpointRun) -> bool:
    """Whether neither a statement nor a client's transcript tells anything of the work."""
    state = _remembered(run)
    known, last = state["progress"], state["last"]
    if state.get("observed") or (last is not None and last["claims"]) or run.request.get("files"):
        return False
    empty = {**empty_progress(), **{name: known[name] for name in ("issue", "mode", "prompt")}}
    return known == empty and next_action_of(known["prompt"]) in ("", CONTINUE)


def _what_it_holds(run: CheckpointRun) -> str:
    """What an empty checkpoint is good for all the same."""
    last = _remembered(run)["last"]
    world = last["world"] if last else None
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


def _weaknesses(run: CheckpointRun, prompt: str) -> list[str]:
    """Without a tracker there need not be an issue."""
    return [one for one in weaknesses(prompt) if one != NAMES_NO_ISSUE or is_set_up(run.settings)]


# Step 2


QUESTION = "Files for this checkpoint's commit (names with blanks between them; empty for none)"


def _ask_for_files(run: CheckpointRun) -> None:
    """Ask a person before the first step: a person who leaves the question has changed nothing."""
    is_left_out = run.request.get("skip_git") or not run.workspace.git_dir
    if run.ask is None or is_left_out or report.SNAPSHOT not in report.STEPS[run.profile]:
        return
    from holdfast.session import git_step

    if _files(run) or not git_step.is_dirty(run.workspace, _control_files(run)):
        return
    import shlex

    answer = run.ask(QUESTION)
    try:
        names = shlex.split(answer)
    except ValueError as problem:
        raise Usage(f"{answer!r:.80} are no names of files: {problem}.") from None
    run.request = {**run.request, "files": names}


def _git(run: CheckpointRun) -> Step:
    if run.request.get("skip_git"):
        return report.skipped(report.SNAPSHOT, "Git snapshot skipped (--skip-git).")
    if not run.workspace.git_dir:
        return report.skipped(report.SNAPSHOT, "Git snapshot skipped — no git repository.")
    from holdfast.session import git_step

    message = git_step.message_of(
        str(run.settings["session.commit_message"]), _progress(run), _position(run)
    )
    step, warnings = git_step.commit(
        run.workspace, _files(run), message, run.id, _control_files(run)
    )
    run.warnings += warnings
    return step


def _keep_work_tree(run: CheckpointRun) -> None:
    if not run.workspace.git_dir:
        return
    from holdfast.session.git_step import CLEAN, keep_work_tree

    largest = int(run.settings["snapshot.largest_mb"])
    run.snapshot, warnings = keep_work_tree(
        run.workspace, run.session, largest_mb=largest, now=run.now
    )
    run.warnings += warnings
    step = run.steps[-1]
    is_left_out = step["status"] == "skipped" and step["message"] != CLEAN
    if run.snapshot and is_left_out and not run.request.get("skip_git"):
        run.lines.append(f"The work tree is kept: holdfast snapshot show {run.snapshot}")


def _survey(run: CheckpointRun) -> None:
    """Step 2 moved HEAD: the world as it is left is the one to compare with at resume."""
    before = run.head
    run.head = head_now(run.workspace)
    if run.head == before:
        return
    try:
        run.writer.execute(
            rules.stream_of(run.session),
            {"do": "survey", "world": _world(run)},
            actor=run.actor,
            now=run.now,
        )
    except HoldfastError as error:
        run.warnings.append(f"The commit was not noted: {error.message}")


# Step 3


def _tracker(run: CheckpointRun) -> Step:
    flag = run.request.get("skip_tracker")
    if flag:
        return report.skipped(report.TRACKER, f"Linear update skipped ({flag}).")
    if run.state_problem:
        return report.failed(report.TRACKER, run.state_problem.rstrip("."))
    from holdfast.session.tracker_step import deliver_now

    issue = _progress(run)["issue"]
    if issue != UNKNOWN_ISSUE and not is_issue(issue):
        why = f"no tracker has an issue {issue}"
        return report.skipped(report.TRACKER, f"Linear update skipped — {why}.")
    if is_set_up(run.settings) and _is_strangers(run, issue):
        why = f"{issue} came with the journal; if it is yours, give --issue {issue} once"
        return report.skipped(report.TRACKER, f"Linear update skipped — {why}.")
    return deliver_now(run.workspace, run.writer, issue, run.settings, run.now)


# Step 4


def _prompt(run: CheckpointRun) -> tuple[str, str]:
    """The section as the file has it, and what is wrong with it."""
    path = os.path.join(run.workspace.root, run.folder, PROGRESS_FILE)
    try:
        _, content = read_file(path)
        read = progress.parse(text_of(content))
        for shortcoming in progress.shortcomings(
            text_of(content), needs_issue=is_set_up(run.settings)
        ):
            run.warnings.append(f"{PROGRESS_FILE}: {shortcoming}.")
    except (OSError, Unreadable, rules.Unparsable) as problem:
        return generic(_progress(run)["issue"]), f"{PROGRESS_FILE} cannot be read: {problem}"
    persisted = run.steps[0]["status"] == "ok" and not run.queued
    if not persisted:
        stamp = progress.session_of(text_of(content))
        why = "Progress is queued" if run.queued else "Step 1 failed"
        return read["prompt"], f"{why}; this prompt is of {stamp}"
    return read["prompt"], ""


def _progress(run: CheckpointRun) -> Progress:
    """What the session knows by now; nothing where the journal cannot say."""
    try:
        return _remembered(run)["progress"]
    except HoldfastError:
        return empty_progress()


def _remembered(run: CheckpointRun) -> SessionState:
    """The session as the writer left it; read again only where the writer does not know."""
    stream = rules.stream_of(run.session)
    remembered = run.writer.remembered.get(stream)
    if remembered is not None:
        state: SessionState = remembered.state
        return state
    return _loaded(run, run.session)


def _show(run: CheckpointRun) -> Step:
    run.prompt, warning = _prompt(run)
    if warning:
        run.lines.append(f"Warning: {warning}")
        run.warnings.append(warning)
    run.lines.append(boxed(run.prompt))
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
