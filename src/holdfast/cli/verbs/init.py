"""holdfast init, uninstall, trust: holdfast in the settings of the clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ProgressLine, one_line, safe, style, table
from holdfast.clients.condition import clients_with_ours, conditions, hook_runs
from holdfast.clients.installation import FoundClient, Setup, detect, server, set_up
from holdfast.clients.table import CLIENTS, NAMES, title_of
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.text import quote
from holdfast.maintenance import known_roots
from holdfast.maintenance.remains import remove_everything, remove_from_clients
from holdfast.maintenance.trust import TrustReport, gather, grant, value_text, withdraw
from holdfast.session.progress_file import describe_files

INIT_SAID = {"installed": "Installed", "already": "Installed already", "left": "Left as it is"}
WOULD = {"installed": "Would write", "already": "Written already", "left": "Would leave"}
UNINSTALL_SAID = {
    "deleted": ("Removed, because holdfast made it", "Would remove, because holdfast made it"),
    "restored": ("Restored as it was", "Would restore as it was"),
    "removed": ("Took ours out, and left the rest", "Would take ours out, and leave the rest"),
    "absent": ("Nothing of Holdfast", "Nothing of Holdfast"),
}
LONGEST_VALUE = 60


def _client_option(without: str) -> Callable[[Any], Any]:
    return click.option(
        "--client",
        "clients",
        multiple=True,
        type=click.Choice(NAMES),
        help=f"A client; repeatable.  [default: {without}]",
    )


_dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Say what would change; change nothing."
)


@click.command()
@_client_option("only show what would be done for the clients found here")
@click.option("--no-mcp", is_flag=True, help="Set up the hooks only, without the MCP server.")
@click.option(
    "--shared", is_flag=True, help="Write hooks into the settings that your team commits."
)
@_dry_run_option
@verb
def init_command(
    call: Call, clients: tuple[str, ...], no_mcp: bool, shared: bool, dry_run: bool
) -> Reply:
    """Let the clients of your agents call holdfast by themselves.

    A session then starts with the text to continue from. It is captured before compaction, at every stop
    and at its end, and budgets are checked while it works. To run this twice changes nothing.
    `holdfast uninstall` restores every file byte for byte.
    """
    found = detect()
    wanted = list(dict.fromkeys(clients)) or [one["client"] for one in found if one["because"]]
    only_shown = dry_run or not clients
    if shared:
        wanted = _shared_clients(wanted, is_named=bool(clients))
    with ProgressLine("Setting up", is_shown=not call.as_json):
        setup = set_up(
            call.workspace,
            wanted,
            server(),
            without_server=no_mcp,
            shared=shared,
            dry_run=only_shown,
        )
    done = setup["clients"]
    if not only_shown:
        _remember(call)
    missing = [one for one in done if one["status"] != "already"]
    named = [f"--client {one['client']}" for one in missing or done]
    named += ["--no-mcp"] * no_mcp + ["--shared"] * shared
    to_do = " ".join(["holdfast init", *named]) if done and not setup["in_place"] else ""
    lines = list(_init_lines(call, setup, only_shown, to_do))
    following = ["holdfast doctor"]
    if not clients:
        lines = [*_detected_lines(call, wanted, found), *_broken_lines(call), *lines]
        # The lines have it already.
        following = [to_do] if to_do and call.as_json else []
    data = {
        **setup,
        "detected": found,
        "dry_run": only_shown,
        "hooks": hook_runs(call.workspace, server()),
    }
    return Reply(data, lines, next=following)


def _shared_clients(wanted: list[str], *, is_named: bool) -> list[str]:
    """Return the clients with settings that a team can commit; one that was named must be among them."""
    without = [client for client in wanted if not CLIENTS[client].shared]
    if without and is_named:
        raise Usage(
            f"{title_of(without[0])} has no settings with hooks that a team can commit.",
            hint="Copilot CLI also runs the hooks of `holdfast init --shared --client claude`."
            if "copilot" in without
            else f"holdfast init --client {without[0]} sets it up for you alone.",
        )
    return [client for client in wanted if client not in without]


def _remember(call: Call) -> None:
    """Let `holdfast serve` find this workspace. A failure is only a warning: nothing else needs it."""
    try:
        known_roots.remember(call.workspace)
    except (OSError, HoldfastError) as error:
        warn(f"`holdfast serve` will not find this workspace by itself: {error}")


def _detected_lines(call: Call, wanted: list[str], found: list[FoundClient]) -> Iterator[str]:
    ours = clients_with_ours(call.workspace, server()) if not wanted else []
    if ours:
        yield f"Set up in this project: {', '.join(ours)}."
        yield "To set up another client: holdfast init --client NAME"
        return
    if not wanted:
        yield f"None of {', '.join(NAMES)} was found here."
        yield "To name one: holdfast init --client claude"
        return
    for one in found:
        if one["because"]:
            yield f"Found: {one['client']} ({safe(one['because'])})"
    yield ""


def _broken_lines(call: Call) -> Iterator[str]:
    """What is installed, but does not work or belongs to another holdfast."""
    for one in conditions(call.workspace, server()):
        if one["problem"]:
            yield style(safe(one["problem"]), "yellow")
            yield f"  To repair it: holdfast init --client {quote(one['client'])}"
    for run in hook_runs(call.workspace, server()):
        if run["problem"]:
            yield style(safe(run["problem"]), "yellow")
            yield f"  {run['fix']}"


def _init_lines(call: Call, setup: Setup, only_shown: bool, to_do: str) -> Iterator[str]:
    words = WOULD if only_shown else INIT_SAID
    for one in setup["clients"]:
        for file in one["files"]:
            yield f"{words[file['status']]}: {one['client']} in {safe(file['path'])}"
        for note in one["notes"]:
            yield style(f"  {safe(note)}", "yellow")
    beside = [one for one in setup["beside"] if one["status"] != "already"]
    if beside:
        yield "Would write beside them:" if only_shown else "Written beside them:"
        rows = [[safe(one["path"]), style(one["what"], dim=True)] for one in beside]
        yield from table(rows, indent="  ")
        yield describe_files(call.workspace)
    if setup["in_place"]:
        yield "Everything is in place already. Nothing was changed."
    elif only_shown and setup["clients"]:
        yield ""
        yield f"Nothing was changed. To do it: {to_do}"


@click.command()
@_client_option("all clients")
@click.option(
    "--everything",
    is_flag=True,
    help="Also remove the journal and all files that holdfast wrote here. Only a person can, at a terminal.",
)
@_dry_run_option
@verb
def uninstall_command(
    call: Call, clients: tuple[str, ...], everything: bool, dry_run: bool
) -> Reply:
    """Take holdfast out of the settings of your clients.

    The journal and your files stay. It lists them, each with the command that removes it.
    """
    if everything and clients:
        raise Usage("--everything is for all clients: leave --client out.")
    if everything:
        removal = remove_everything(call.workspace, now=call.now, dry_run=dry_run)
    else:
        removal = remove_from_clients(call.workspace, clients, dry_run=dry_run)
    done, removed, left = removal["clients"], removal["removed"], removal["left"]
    lines = [
        f"{UNINSTALL_SAID['deleted' if file['deleted'] else file['status']][dry_run]}: {safe(file['path'])}"
        for one in done
        for file in one["files"]
        if file["status"] != "absent" or clients
    ]
    lines += [style(f"  {safe(note)}", "yellow") for one in done for note in one["notes"]]
    lines = lines or ["Nothing of Holdfast is installed."]
    gone = "Would remove" if dry_run else "Removed"
    lines += [f"{gone}: {safe(one['what'])}: {safe(one['path'])}" for one in removed]
    if left:
        lines += ["", "Left, because it is yours. To remove it:"]
        for one in left:
            lines += [f"  {safe(one['what'])}", style(f"    {safe(one['remove'])}", dim=True)]
        if any(not one["yours"] for one in left):
            lines += ["", "To remove all that holdfast wrote: holdfast uninstall --everything"]
    return Reply({**removal, "dry_run": dry_run}, lines)


@click.command()
@click.option("--show", is_flag=True, help="List each setting and what it may do; change nothing.")
@click.option("--forget", is_flag=True, help="Withdraw the trust.")
@verb
def trust_command(call: Call, show: bool, forget: bool) -> Reply:
    """Let the settings of this repository name commands, places, variables and rules.

    A repository from elsewhere must not choose what runs here and where your work goes. Without trust,
    these settings do not count; the harmless ones always do. The same holds for a journal that came
    with a project without git. Only a person can give it, for this clone
    and for these very values: when one changes, you are asked again. Variables of your own environment
    need no trust.
    """
    workspace = call.workspace
    if forget:
        known = withdraw(workspace)
        said = "Trusted no more." if known else "Nothing was trusted."
        return Reply({**gather(workspace)}, [said])
    if show:
        report = gather(workspace)
        next = [] if report["trusted"] else ["holdfast trust"]
        return Reply({**report}, _trust_lines(report), next=next)
    report = grant(workspace, now=call.now)
    return Reply({**report}, _trust_lines(report), next=["holdfast doctor"])


def _trust_lines(report: TrustReport) -> list[str]:
    if not report["settings"]:
        return ["The settings of this repository name nothing that needs your trust."]
    lines = [f"{safe(report['file'] or report['workspace'])} names:"]
    for one in report["settings"]:
        mark = style("trusted", "green") if one["trusted"] else style("not trusted", "yellow")
        value = one_line(value_text(one["value"]), LONGEST_VALUE)
        lines += [f"  {one['name']} = {value}  ({mark})", f"    may {one['may']}"]
    return lines
