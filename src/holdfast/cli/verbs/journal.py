"""holdfast journal, admin: the journal on a server."""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import VerbGroup, verb
from holdfast.cli.terminal import ProgressLine, safe
from holdfast.journal.postgres.upkeep import grants
from holdfast.kernel.errors import Usage
from holdfast.kernel.text import plural
from holdfast.remote.forwarder import Forwarder
from holdfast.remote.identity import name_of
from holdfast.remote.move import LOCAL
from holdfast.remote.move import move as move_journal


@click.group(cls=VerbGroup)
def journal_command() -> None:
    """Move the journal between a file on this machine and a server for many machines."""


@journal_command.command("move")
@click.option(
    "--to", required=True, metavar="URL", help="postgresql://USER@HOST/DATABASE, or local."
)
@click.option("--dry-run", is_flag=True, help="Say what would be moved; change nothing.")
@verb
def move(call: Call, to: str, dry_run: bool) -> Reply:
    """Copy the journal to a PostgreSQL database, or back to a file.

    Every record keeps its hash and is compared with its copy. If the move is interrupted, run it again:
    it continues where it was. The file stays as it is. A server that you moved away from accepts no more
    records. Put a password into ~/.pgpass or PGPASSWORD: other programs can see the command line.
    """
    with ProgressLine("Copying records", is_shown=not call.as_json) as progress:
        moved = move_journal(call.workspace, to, call.now, dry_run=dry_run, progress=progress)
    what = f"{plural(moved['records'], 'record')} in {plural(moved['streams'], 'stream')}"
    place = safe(moved["target"])
    if dry_run:
        return Reply({**moved}, [f"Would copy {what} to {place}, as {safe(moved['workspace'])}"])
    lines = [f"Moved {what} to {place}, every record compared."]
    if moved["aside"]:
        lines.append(f"What the file was is in {safe(moved['aside'])}")
    if to == LOCAL:
        lines.append(
            "Take HOLDFAST_URL out of the environment, and journal.url out of the settings."
        )
        return Reply({**moved}, lines, next=["unset HOLDFAST_URL"])
    lines.append(f"It is called {safe(moved['workspace'])} there.")
    lines.append("Set HOLDFAST_URL, or journal.url in holdfast.toml, on every machine.")
    return Reply({**moved}, lines, next=[f"export HOLDFAST_URL={place}"])


@journal_command.command("forward")
@click.option(
    "--stay", is_flag=True, help="Keep running when there is nothing to do; for a service."
)
@verb
def forward(call: Call, stay: bool) -> Reply:
    """Exchange records with the server: run the forwarder.

    It sends what hooks wrote on this machine, and fetches what they read: stops, answers,
    acknowledgments, lost fences.

    Hooks start the forwarder by themselves. It ends when it had nothing to do for five minutes. Each
    workspace has one: a second one says so and ends.
    """
    if not call.workspace.url:
        raise Usage(
            "The journal is a file of this machine: there is nothing to forward.",
            hint="From one machine to many: holdfast journal move --to postgresql://...",
            kind="no_server",
        )
    ending = Forwarder(call.folder, stays=stay).run()
    said = {
        "another": "Another forwarder is at work here.",
        "idle": "Nothing is left to do.",
        "asked": "Ended.",
    }
    return Reply({"ended": ending}, [said[ending]])


@click.group(cls=VerbGroup)
def admin_command() -> None:
    """For the owner of a PostgreSQL database of journals."""


@admin_command.command("grant")
@click.argument("role")
@click.option("--read-only", is_flag=True, help="Let the role read only.")
@click.option(
    "--workspace",
    "workspaces",
    multiple=True,
    metavar="NAME",
    help="Let the role see and write this workspace; repeat it for several.  [default: the one of this folder]",
)
@click.option("--all-workspaces", is_flag=True, help="Let the role see and write all workspaces.")
@verb
def grant(
    call: Call, role: str, read_only: bool, workspaces: tuple[str, ...], all_workspaces: bool
) -> Reply:
    """Print the SQL that lets ROLE append to the journal, but not change or remove anything.

    This command connects to no database. Read the SQL, then run it with psql as the database's owner.
    The schema has to exist: the first command of the owner creates it. A role sees nothing of the
    workspaces that it was not granted.
    """
    if all_workspaces and workspaces:
        raise Usage("--workspace and --all-workspaces exclude each other.", hint="Leave one out.")
    if not all_workspaces:
        workspaces = workspaces or (name_of(call.workspace),)
    statements = grants(role, read_only=read_only, workspaces=workspaces)
    lines = [f"-- What {'a reader' if read_only else 'a writer'} of the journals needs."]
    data = {"role": role, "read_only": read_only, "workspaces": workspaces, "sql": statements}
    return Reply(data, [*lines, *statements])
