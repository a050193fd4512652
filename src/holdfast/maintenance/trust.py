"""What a repository names that needs a person's trust, and what each may do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.budgets.acknowledge import confirm, confirm_own, describe_stated, find_stated
from holdfast.budgets.check import Budget
from holdfast.budgets.limits import describe_raised
from holdfast.budgets.rules.documents import ACKNOWLEDGMENTS
from holdfast.gates.person import require
from holdfast.journal.postgres.url import without_password
from holdfast.kernel import config
from holdfast.kernel import trust as kernel_trust
from holdfast.kernel.errors import HoldfastError, NotAllowed, NotFound
from holdfast.kernel.project_home import take_over, tree_journal
from holdfast.remote.address import SETTING
from holdfast.session import ccc_files

if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace

JOURNAL = "journal"
JOURNAL_MAY = (
    "be read and written as yours: its claims, sessions, agents, and what waits to be sent"
)
CAME_WITH_GIT_MAY = "count as yours: the answers to its gates, and the issues of its sessions"
SIGNERS = "gate.signers"
FILE_MAY = (
    "name the issue that a checkpoint comments on with your key, and drive the loop of your agents"
)
ACKNOWLEDGMENT_MAY = "let work go on at this alert, as if you had acknowledged it here"
OWN_LIMITS = "limits of your own"
OWN_LIMITS_MAY = "let agents go further here than they may now"
SERVER_MAY = "keep the journal of this clone, and read all that is noted here"


class GuardedSetting(TypedDict):
    """A setting that names a command, a place, a variable, another journal or a rule; or a journal
    that came with a project without git."""

    name: str
    value: Any
    may: str
    trusted: bool


class TrustReport(TypedDict):
    """What the settings file of a workspace asks for."""

    workspace: str
    file: str
    trusted: bool
    settings: list[GuardedSetting]


def gather(workspace: Workspace) -> TrustReport:
    """Each guarded setting of the workspace's file, and whether it counts."""
    found = config.from_file(workspace, None)
    untrusted = config.untrusted_in(workspace, found)
    settings: list[GuardedSetting] = []

    def add(name: str, value: Any, may: str, *, trusted: bool = False) -> None:
        settings.append({"name": name, "value": value, "may": may, "trusted": trusted})

    if kernel_trust.is_foreign(workspace):
        add(JOURNAL, tree_journal(workspace), JOURNAL_MAY)
    elif _came_with_git(workspace):
        add(JOURNAL, workspace.journal_path, CAME_WITH_GIT_MAY)
    replaced = kernel_trust.replaced_signers(workspace)
    if replaced:
        value = kernel_trust.named_signers(workspace) or "not set"
        add(SIGNERS, value, f"let decisions count without a signature by {replaced}")
    url = str(found.get(SETTING, ""))
    if url:
        is_trusted = kernel_trust.is_trusted(workspace, url)
        add(SETTING, without_password(url), SERVER_MAY, trusted=is_trusted)
    for name in ccc_files.list_unfollowed(workspace):
        issues = ", ".join(ccc_files.issues_named(workspace, name)) or "no issue"
        add(name, issues, FILE_MAY)
    stated, raised = _look_at_budget(workspace)
    for what in stated:
        add(ACKNOWLEDGMENTS, what, ACKNOWLEDGMENT_MAY)
    if raised:
        add(OWN_LIMITS, raised, OWN_LIMITS_MAY)
    for name, value in config.guarded_in(found).items():
        add(name, value, config.GUARDED[name], trusted=name not in untrusted)
    return {
        "workspace": kernel_trust.key_of(workspace),
        "file": config.config_file(workspace),
        "trusted": all(setting["trusted"] for setting in settings),
        "settings": settings,
    }


def grant(workspace: Workspace, *, now: int) -> TrustReport:
    """Let the settings of this file count, as they are now. Only a person can say so."""
    # What the person sees is what counts: the file may change while they read.
    found = config.from_file(workspace, None)
    report = gather(workspace)
    if not report["settings"]:
        raise NotFound(
            "The settings of this repository name nothing that needs your trust.",
            hint="Nothing is to be done. A setting that names a command, an address, a path or a key "
            "needs it, and a journal or a file of a protocol that came with the project.",
        )
    if report["trusted"]:
        return report
    lines = [f"{report['file'] or 'This project'} may do this from now on:"]
    for one in report["settings"]:
        lines += [f"  {one['name']} = {value_text(one['value'])}", f"    {one['may']}"]
    lines.append("When one of them changes, you are asked again.")
    person = require(workspace, "trust these settings", lines, now=now)
    url = str(found.get(SETTING, ""))
    guarded = config.guarded_in(found)
    named = {one["name"] for one in report["settings"] if not one["trusted"]}
    for name in named.intersection(ccc_files.FILES):
        ccc_files.follow(workspace, name, person["at"])
    if JOURNAL in named:
        _adopt(workspace)
    if ACKNOWLEDGMENTS in named:
        budget = Budget(workspace, actor=person["name"])
        for type in find_stated(budget):
            confirm(budget, type, person)
    if OWN_LIMITS in named:
        confirm_own(Budget(workspace, actor=person["name"]), person)
    if SIGNERS in named:
        kernel_trust.replace_signers(workspace, person["at"])
    if url:
        kernel_trust.trust(workspace, url, person["at"])
    if guarded:
        kernel_trust.forget_settings(workspace)
        kernel_trust.trust(workspace, kernel_trust.words_of(guarded), person["at"])
    if SIGNERS in guarded:
        kernel_trust.remember_signers(
            workspace, kernel_trust.named_signers(workspace), person["at"]
        )
    return gather(workspace)


def _look_at_budget(workspace: Workspace) -> tuple[list[str], str]:
    """The acknowledgments that only a file states, and the person's own limits that are not confirmed here."""
    budget = Budget(workspace, actor="")
    try:
        if workspace.url and not workspace.is_on_server:
            return [], ""  # to look does not connect; `guard ack` confirms there
        stated = [describe_stated(type, one) for type, one in find_stated(budget).items()]
        return stated, describe_raised(budget.state().get("own", {}))
    except HoldfastError:
        return [], ""  # a journal that is not trusted yet, or is away: that comes first


def _came_with_git(workspace: Workspace) -> bool:
    try:
        return bool(kernel_trust.made_elsewhere_until(workspace))
    except NotAllowed:
        return False  # a server that is not trusted yet: that is asked for first


def _adopt(workspace: Workspace) -> None:
    if workspace.git_dir:
        kernel_trust.know_journal(workspace, workspace.journal)
        return
    take_over(workspace)


def withdraw(workspace: Workspace) -> bool:
    """Take the trust back; whether there was any. An agent may, too: less counts afterwards."""
    url = str(config.from_file(workspace, None).get(SETTING, ""))
    had_server = bool(url) and kernel_trust.forget(workspace, url)
    return kernel_trust.forget_settings(workspace) or had_server


def value_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
