"""A checkpoint: the four steps of CCC, each on its own, and a report that hides nothing.

Everything heavy (git, probes, a tracker) is imported where it is used: the automated profile runs in
hooks, and starts no git process at all.
"""

from __future__ import annotations

import os

from holdfast.kernel.crash import reached
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.tree_file import TreeFile
from holdfast.kernel.views.files import Unreadable, read_file, text_of
from holdfast.remote.offline import works_offline
from holdfast.session import ccc_files, progress_step
from holdfast.session.checkpoint_run import (
    CheckpointRun,
    is_strangers_issue,
    known_progress,
    known_session,
    names_files,
)
from holdfast.session.rules import progress, report
from holdfast.session.rules import session as rules
from holdfast.session.rules.model import PROGRESS_FILE, UNKNOWN_ISSUE, empty_progress, is_issue
from holdfast.session.rules.prompt import (
    NAMES_NO_ISSUE,
    draw_box,
    generic,
    is_stated,
    next_action_of,
    weaknesses,
)
from holdfast.trackers import is_set_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypedDict

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
    if report.SNAPSHOT in report.STEPS[run.profile]:
        from holdfast.session import git_step

        git_step.ask_for_files(run)
    progress_step.observe(run)
    for name in report.STEPS[run.profile]:
        try:
            reached(f"before {name}")
            if name == report.PERSIST:
                step = progress_step.persist(run, claims)
            elif name == report.SNAPSHOT:
                step = git_step.commit_in_scope(run)
            elif name == report.TRACKER:
                step = _tracker(run)
            else:
                step = _show_prompt(run)
        except HoldfastError as error:
            step = report.failed(name, error.message.rstrip("."))
        except Exception as error:
            step = report.failed(name, str(error) or type(error).__name__)
        _note(run, step)
        if name == report.SNAPSHOT:
            reached("before snapshot")
            git_step.keep_snapshot(run)
            reached("before survey")
            git_step.survey(run)
    prompt = run.prompt or _read_prompt(run)[0]
    _warn_of_weakness(run, prompt)
    tally = report.tally(run.steps)
    if tally:
        run.lines.append(tally)
    reached("before result")
    return _result(run, prompt)


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
        if not names_files(name):
            raise Usage(f"{name!r} names the whole work tree.", hint="Name the files in scope.")
    if run.request.get("strict") and run.profile == "manual":
        weak = _weaknesses_of(run, _preview(run, claims)["progress"]["prompt"])
        if weak:
            raise HoldfastError(
                f"The continuation prompt is too vague: {'; '.join(weak)}.",
                hint="Give --issue, --task, --file and --next, or leave --strict out.",
                kind="weak_prompt",
            )


def _preview(run: CheckpointRun, claims: list[Any]) -> SessionState:
    """The state as it would be afterwards; nothing is written."""
    state = run.known
    decision = rules.decide(state, progress_step.command_of(run, claims), run.now)
    kind, body = decision.records[0]
    return rules.apply(
        state,
        {"id": run.id, "kind": kind, "body": body, "at": body["at"], "actor": run.actor},
    )


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


def _tracker(run: CheckpointRun) -> Step:
    """Step 3. What delivers a comment is loaded where one waits."""
    flag = run.request.get("skip_tracker")
    if flag:
        return report.skipped(report.TRACKER, f"Linear update skipped ({flag}).")
    if run.state_problem:
        return report.failed(report.TRACKER, run.state_problem.rstrip("."))
    issue = known_progress(run)["issue"]
    if issue != UNKNOWN_ISSUE and not is_issue(issue):
        why = f"no tracker has an issue {issue}"
        return report.skipped(report.TRACKER, f"Linear update skipped — {why}.")
    if is_set_up(run.settings) and is_strangers_issue(run, issue):
        why = f"{issue} came from elsewhere; if it is yours, give --issue {issue} once"
        return report.skipped(report.TRACKER, f"Linear update skipped — {why}.")
    if not run.workspace.exists() or run.workspace.journal.read_only:
        return report.skipped(
            report.TRACKER, "Linear update skipped — the journal cannot be written."
        )
    effects = run.workspace.journal.effects(kinds=[rules.TRACKER])
    waiting = [effect for effect in effects if effect["key"] == issue]
    if not waiting:
        why = "nothing new to say" if is_set_up(run.settings) else "no tracker configured"
        return report.skipped(report.TRACKER, f"Linear update skipped — {why}.")
    from holdfast.session.tracker_step import deliver_now

    return deliver_now(run.workspace, run.writer, waiting[-1], run.settings, run.now)


def _show_prompt(run: CheckpointRun) -> Step:
    """Step 4: the continuation prompt, and what is weak in it."""
    run.prompt, warning = _read_prompt(run)
    if warning:
        run.lines.append(f"Warning: {warning}")
        run.warnings.append(warning)
    run.lines.append(draw_box(run.prompt))
    if warning.startswith(PROGRESS_FILE):
        return report.failed(report.PROMPT, f"{PROGRESS_FILE} cannot be read")
    return report.done(report.PROMPT)


def _read_prompt(run: CheckpointRun) -> tuple[str, str]:
    """The section as the file has it, and what is wrong with it."""
    try:
        _, content = read_file(
            TreeFile(run.workspace.root, os.path.join(run.folder, PROGRESS_FILE))
        )
        read = progress.parse(text_of(content))
        for shortcoming in progress.shortcomings(
            text_of(content), needs_issue=is_set_up(run.settings)
        ):
            run.warnings.append(f"{PROGRESS_FILE}: {shortcoming}.")
    except (OSError, Unreadable, rules.Unparsable) as problem:
        return generic(known_progress(run)["issue"]), f"{PROGRESS_FILE} cannot be read: {problem}"
    persisted = run.steps[0]["status"] == "ok" and not run.queued
    if not persisted:
        stamp = progress.session_of(text_of(content))
        why = "Progress is queued" if run.queued else "Step 1 failed"
        return read["prompt"], f"{why}; this prompt is of {stamp}"
    return read["prompt"], ""


def _warn_of_weakness(run: CheckpointRun, prompt: str) -> None:
    """CCC-24: a weak prompt is a warning; only --strict in the manual profile refuses it."""
    for name in run.request.get("files", []):
        if not os.path.lexists(os.path.join(run.workspace.root, name)):
            run.warnings.append(f"{name} is in scope, but there is no such file.")
    if run.profile == "manual" and run.recorded and _says_nothing(run):
        run.warnings.append(_what_it_holds(run))
        return
    for weakness in _weaknesses_of(run, prompt):
        run.warnings.append(f"The continuation prompt is weak: {weakness}.")


def _says_nothing(run: CheckpointRun) -> bool:
    """Whether neither a statement nor a client's transcript tells anything of the work."""
    state = known_session(run)
    known, last = state["progress"], state["last"]
    if state.get("observed") or (last is not None and last["claims"]) or run.request.get("files"):
        return False
    empty = {**empty_progress(), **{name: known[name] for name in ("issue", "mode", "prompt")}}
    return known == empty and not is_stated(next_action_of(known["prompt"]))


def _what_it_holds(run: CheckpointRun) -> str:
    """What an empty checkpoint is good for all the same."""
    last = known_session(run)["last"]
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


def _weaknesses_of(run: CheckpointRun, prompt: str) -> list[str]:
    """Without a tracker there need not be an issue."""
    return [one for one in weaknesses(prompt) if one != NAMES_NO_ISSUE or is_set_up(run.settings)]
