"""holdfast admin"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.journal.postgres.grants import grants


@click.group()
def command() -> None:
    """For the owner of a PostgreSQL database of journals."""


@command.command("grant")
@click.argument("role")
@click.option("--read-only", is_flag=True, help="Let the role read only.")
@verb
def grant(call: Call, role: str, read_only: bool) -> Reply:
    """Print the SQL that lets ROLE append to the journals, but not change or remove anything.

    This command connects to no database. Read the SQL, then run it with psql as the database's owner.
    The schema has to exist: the first command of the owner creates it.
    """
    statements = grants(role, read_only=read_only)
    lines = [f"-- What {'a reader' if read_only else 'a writer'} of the journals needs."]
    return Reply({"role": role, "read_only": read_only, "sql": statements}, [*lines, *statements])
