"""The reference pages, and the stub of the library, made from the code: `python -m scripts.reference [--check]`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from holdfast.cli.parser import root
from holdfast.gates.rules.gate_xml import BadXml
from holdfast.git.repository import GitError
from holdfast.kernel import config, errors, places
from holdfast.loop.lock import LockTimeout
from holdfast.people.notices import NotifyError
from holdfast.rfc.rules.model import BootstrapError
from holdfast.trackers.port import TrackerError
from scripts import offers, readme

DOCS = Path(__file__).parent.parent / "docs" / "reference"
DECISIONS = DOCS.parent / "adr"
SOURCES = {
    kind.__module__
    for kind in (
        errors.HoldfastError,
        GitError,
        TrackerError,
        BootstrapError,
        LockTimeout,
        NotifyError,
        BadXml,
    )
}
NOTICE = "<!-- Written by `make docs`; do not edit. -->"

FILES_INTRODUCTION = """Nothing else is written. The table is `holdfast.kernel.places` and the `places` of the features; `holdfast purge` reads
it, and `holdfast uninstall` lists what is left, with the command that removes each. Never remove one of `journal.db`,
`journal.db-wal` and `journal.db-mark` alone. Whatever is a view can be removed: the journal has its content, and
`holdfast restore` writes it again."""
ERASURES = {
    "text": "takes the text out",
    "file": "removes it",
    "journal": "goes through the journal",
}

EXIT_CODES = {
    0: "Done. Also when it was done already, and for a report that names what failed.",
    1: "Refused or failed; the message says why.",
    2: "Usage: the command line is wrong.",
    3: "Not found.",
    4: "Not allowed.",
    5: "Conflict: another writer was first, or this life was taken over.",
    7: "Stopped by a budget or an emergency stop.",
    8: "Waiting for a person.",
    9: "A person said no.",
    70: "A bug in holdfast.",
    75: "The store is busy, full, read-only or out of reach: try again.",
    130: "Interrupted.",
}


def command_line() -> str:
    """Every command with its help, as it is printed."""
    # As the tool itself does it, whatever terminal and whatever calls came before.
    context = click.Context(
        root, info_name="holdfast", terminal_width=100, help_option_names=["-h", "--help"]
    )
    sections = ["# The command line", NOTICE, _block(root.get_help(context))]
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        assert command is not None
        child = click.Context(command, info_name=name, parent=context)
        sections += [f"## holdfast {name}", _block(command.get_help(child))]
        for word, inner in _below(command, child):
            below = click.Context(inner, info_name=word, parent=child)
            sections += [f"### holdfast {name} {word}", _block(inner.get_help(below))]
    sections += ["## Exit codes", _table(["code", "meaning"], _exit_rows())]
    return "\n\n".join(sections) + "\n"


def _below(command: click.Command, context: click.Context) -> list[tuple[str, click.Command]]:
    """The verbs of a noun, in its order."""
    if not isinstance(command, click.Group):
        return []
    found = {name: command.get_command(context, name) for name in command.list_commands(context)}
    return [(name, inner) for name, inner in found.items() if inner is not None]


def settings() -> str:
    """Every setting, with its default and its variable."""
    rows = [
        [
            f"`{name}`",
            f"`{one.default!r}`",
            _variable(name, one.default),
            one.meaning + _trust(name),
        ]
        for name, one in sorted(config.tables().settings.items())
    ]
    variables = [[f"`{name}`", meaning] for name, meaning in config.tables().variables.items()]
    return (
        "\n\n".join(
            [
                "# Settings",
                NOTICE,
                "In `holdfast.toml`, or under `[tool.holdfast]` in `pyproject.toml`. "
                "The environment wins over the file, a flag over both. "
                "An unknown name is an error that names the nearest one. "
                "A setting of a file that names a command, a place, a variable or a rule counts only after "
                "a person's `holdfast trust`.",
                _table(["setting", "default", "variable", "meaning"], rows),
                "## Variables that are no settings",
                _table(["variable", "meaning"], variables),
            ]
        )
        + "\n"
    )


def error_kinds() -> str:
    """The hierarchy of errors, with the exit codes."""
    # By name: a module that was loaded a second time has each of its classes twice.
    kinds = {kind.__name__: kind for kind in _descendants(errors.HoldfastError)}
    rows = [
        [f"`{kind.__name__}`", f"`{kind.kind}`", str(kind.exit_code), _yes(kind.retryable)]
        for kind in kinds.values()
        if kind.__module__ in SOURCES
    ]
    tree = (errors.__doc__ or "").split("\n\n", 1)[1].rstrip()
    return (
        "\n\n".join(
            [
                "# Errors",
                NOTICE,
                "Every error has a kind, a message, a hint where there is a way out, and says whether "
                "trying again can help.",
                _block(tree),
                _table(["class", "kind", "exit code", "retryable"], rows),
            ]
        )
        + "\n"
    )


def decisions() -> str:
    """List the decisions in order, each with its title, and say which are withdrawn."""
    lines = []
    for page in sorted(DECISIONS.glob("0*.md")):
        text = page.read_text(encoding="utf-8")
        title = text.partition("\n")[0].removeprefix("# ")
        withdrawn = " (withdrawn)" if "\n**Withdrawn.**" in text else ""
        lines.append(f"- [{title}]({page.name}){withdrawn}")
    return "\n".join(lines)


def files() -> str:
    """Every file that Holdfast writes, by the folder that it is in."""
    sections = ["# The files on the disk", NOTICE, FILES_INTRODUCTION]
    known = list(places.list_places())
    for area, (title, where) in places.AREAS.items():
        rows = [
            [
                f"`{place.name}`",
                owner,
                place.what,
                place.format,
                place.removed_by,
                ERASURES[place.erasure],
            ]
            for owner, place in known
            if place.area == area
        ]
        head = ["file", "of", "what it is", "format", "who may remove it", "`purge`"]
        sections += [f"## {title}", where, _table(head, rows)]
    return "\n\n".join(sections) + "\n"


PAGES = {"cli.md": command_line, "settings.md": settings, "errors.md": error_kinds}


def _descendants(kind: type[errors.HoldfastError]) -> list[type[errors.HoldfastError]]:
    # In an order that does not depend on which module was imported first.
    home = errors.__name__
    children = sorted(
        kind.__subclasses__(), key=lambda child: (child.__module__ != home, child.__module__)
    )
    return [kind, *(below for child in children for below in _descendants(child))]


def _exit_rows() -> list[list[str]]:
    return [[str(code), meaning] for code, meaning in EXIT_CODES.items()]


def _trust(name: str) -> str:
    """What a file of a repository needs for this setting to count."""
    return " In a file only after `holdfast trust`." if config.tables().settings[name].guard else ""


def _variable(name: str, default: object) -> str:
    return "" if isinstance(default, dict) else f"`{config.variable_of(name)}`"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _block(text: str) -> str:
    return f"```\n{text}\n```"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    DOCS.mkdir(parents=True, exist_ok=True)
    made = {DOCS / name: make() for name, make in PAGES.items()}
    made[DOCS.parent / "files.md"] = files()
    made[offers.STUB] = offers.stub()
    for page, parts in (
        (readme.README, readme.PARTS),
        (readme.SPEED, readme.SPEED_PARTS),
        (readme.PEERS, readme.PEER_PARTS),
        (DECISIONS / "README.md", {"decisions": decisions}),
    ):
        made[page] = readme.fill_in(page.read_text(encoding="utf-8"), parts)
    stale = []
    for page, text in made.items():
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            stale.append(page.name)
            if "--check" not in arguments:
                page.write_text(text, encoding="utf-8")
    if "--check" in arguments:
        for name in stale:
            print(f"{name} is out of date; run `make docs`", file=sys.stderr)
        return 1 if stale else 0
    print(f"{len(made)} pages, {len(stale)} written anew")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
