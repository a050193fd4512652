"""What a repository names that needs a person's trust, and what each may do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypedDict

from holdfast import registry
from holdfast.journal.postgres.url import without_password
from holdfast.kernel import config
from holdfast.kernel import trust as kernel_trust
from holdfast.kernel.errors import NotAllowed, NotFound
from holdfast.kernel.project_home import take_over, tree_journal
from holdfast.kernel.rules import Person
from holdfast.kernel.workspace import Workspace
from holdfast.parts import Trustable
from holdfast.people.person import require
from holdfast.remote.address import SETTING
from holdfast.session import ccc_files

JOURNAL = "journal"
JOURNAL_MAY = (
    "be read and written as yours: its claims, sessions, agents, and what waits to be sent"
)
CAME_WITH_GIT_MAY = "count as yours: the answers to its gates, and the issues of its sessions"
SIGNERS = "gate.signers"
FILE_MAY = (
    "name the issue that a checkpoint comments on with your key, and drive the loop of your agents"
)
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
    """Return each guarded setting of the workspace's file, and whether it counts."""
    return _report(workspace, config.from_file(workspace, None))


def grant(workspace: Workspace, *, now: int) -> TrustReport:
    """Let the settings of this file count, as they are now. Only a person can say so."""
    # What the person sees is what counts: the file may change while they read.
    found = config.from_file(workspace, None)
    waiting = list(_list_waiting(workspace))
    report = _report(workspace, found, waiting)
    if not report["settings"]:
        raise NotFound(
            "The settings of this repository name nothing that needs your trust.",
            hint="Nothing is to be done. A setting that names a command, an address, a path or a key "
            "needs it, and a journal or a file of a protocol that came with the project.",
        )
    if report["trusted"]:
        return report
    lines = [f"{report['file'] or 'This project'} may do this from now on:"]
    for setting in report["settings"]:
        lines += [f"  {setting['name']} = {value_text(setting['value'])}", f"    {setting['may']}"]
    lines.append("When one of them changes, you are asked again.")
    person = require(workspace, "trust these settings", lines, now=now)
    for one in waiting:
        one.confirm(person)
    url = str(found.get(SETTING, ""))
    if url:
        kernel_trust.trust(workspace, url, person["at"])
    guarded = config.guarded_in(found)
    if guarded:
        kernel_trust.forget_settings(workspace)
        kernel_trust.trust(workspace, kernel_trust.words_of(guarded), person["at"])
    if SIGNERS in guarded:
        kernel_trust.remember_signers(
            workspace, kernel_trust.named_signers(workspace), person["at"]
        )
    return gather(workspace)


def _report(
    workspace: Workspace, found: Mapping[str, Any], waiting: list[Trustable] | None = None
) -> TrustReport:
    waiting = list(_list_waiting(workspace)) if waiting is None else waiting
    settings: list[GuardedSetting] = [
        {"name": one.name, "value": one.value, "may": one.may, "trusted": False} for one in waiting
    ]

    def add(name: str, value: Any, may: str, *, trusted: bool) -> None:
        settings.append({"name": name, "value": value, "may": may, "trusted": trusted})

    url = str(found.get(SETTING, ""))
    if url:
        is_trusted = kernel_trust.is_trusted(workspace, url)
        add(SETTING, without_password(url), SERVER_MAY, trusted=is_trusted)
    untrusted = config.untrusted_in(workspace, found)
    for name, value in config.guarded_in(found).items():
        add(name, value, config.tables().settings[name].guard, trusted=name not in untrusted)
    return {
        "workspace": kernel_trust.key_of(workspace),
        "file": config.config_file(workspace),
        "trusted": all(setting["trusted"] for setting in settings),
        "settings": settings,
    }


def _list_waiting(workspace: Workspace) -> Iterator[Trustable]:
    """Return what is no setting and does not count yet, in the order in which it is confirmed."""

    def make(name: str, value: Any, may: str, function: Any, *arguments: str) -> Trustable:
        def confirm(person: Person) -> None:
            function(workspace, *arguments, person["at"])

        return Trustable(name=name, value=value, may=may, confirm=confirm)

    for name in ccc_files.list_unfollowed(workspace):
        issues = ", ".join(ccc_files.issues_named(workspace, name)) or "no issue"
        yield make(name, issues, FILE_MAY, ccc_files.follow, name)
    if kernel_trust.is_foreign(workspace):
        yield make(JOURNAL, tree_journal(workspace), JOURNAL_MAY, _adopt)
    elif _came_with_git(workspace):
        yield make(JOURNAL, workspace.journal_path, CAME_WITH_GIT_MAY, _adopt)
    for find in registry.parts("trust", registry.all_features):
        yield from find(workspace)
    replaced = kernel_trust.replaced_signers(workspace)
    if replaced:
        value = kernel_trust.named_signers(workspace) or "not set"
        may = f"let decisions count without a signature by {replaced}"
        yield make(SIGNERS, value, may, kernel_trust.replace_signers)


def _came_with_git(workspace: Workspace) -> bool:
    try:
        return bool(kernel_trust.made_elsewhere_until(workspace))
    except NotAllowed:
        return False  # a server that is not trusted yet: that is asked for first


def _adopt(workspace: Workspace, at: str) -> None:
    if workspace.git_dir:
        kernel_trust.know_journal(workspace, workspace.journal)
        return
    take_over(workspace)


def withdraw(workspace: Workspace) -> bool:
    """Revoke trust in a workspace's settings. Return whether there was any. An agent may, too: less counts then."""
    url = str(config.from_file(workspace, None).get(SETTING, ""))
    had_server = bool(url) and kernel_trust.forget(workspace, url)
    return kernel_trust.forget_settings(workspace) or had_server


def value_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
