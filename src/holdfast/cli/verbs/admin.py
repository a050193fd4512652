"""holdfast admin"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.journal.postgres.grants import grants


@click.group()
def command() -> None:
    """For whoever owns a PostgreSQL database of journals."""


@command.command("grant")
@click.argument("role")
@click.option("--read-only", is_flag=True, help="The role may read, and write nothing.")
@verb
def grant(call: Call, role: str, read_only: bool) -> Reply:
    """Print the SQL that lets ROLE append to the journals, and change or remove nothing.

    Nothing is connected to: read it, then hand it to psql as the database's owner. The schema must
    be there, which the owner's first command sees to.
    """
    statements = grants(role, read_only=read_only)
    lines = [f"-- What {'a reader' if read_only else 'a writer'} of the journals needs."]
    return Reply({"role": role, "read_only": read_only, "sql": statements}, [*lines, *statements])
