"""Settings: `holdfast.toml`, or `[tool.holdfast]` in pyproject.toml, then HOLDFAST_*, then flags.

An unknown key is an error with the nearest match. The parsed file is kept in the journal beside
the identity of the file it came from, because `tomllib` costs a hook 0.9 of a bare interpreter.
"""

from __future__ import annotations

import os

from holdfast.kernel import canonical_json
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.plain_file import read_plain
from holdfast.kernel.workspace import CONFIG_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from holdfast.journal.interface import Journal
    from holdfast.kernel.workspace import Workspace

# name: (default, what it means). The default's type is the setting's type.
SETTINGS: dict[str, tuple[Any, str]] = {
    "journal.url": (
        "",
        "A PostgreSQL database for the journal, `postgresql://USER@HOST:PORT/DATABASE`; empty is a "
        "file of this machine. In a file without a password.",
    ),
    "journal.workspace": (
        "",
        "What this workspace is called in that database, the same on every machine; empty goes by "
        "the address of the git remote `origin`.",
    ),
    "journal.forwarder": (
        True,
        "With a server: hooks start the forwarder by themselves. False when a service of yours runs "
        "`holdfast journal forward --stay`, or `holdfast serve` does its work.",
    ),
    "retention.days": (90, "Records older than this are removed by `holdfast gc`."),
    "retention.keep": (
        200,
        "So many of the newest records of each stream stay, whatever their age.",
    ),
    "redact.rules": (
        {},
        "Your own redaction rules: a table of names and regular expressions. "
        "A group named `keep` stays in front of the mark.",
    ),
    "session.stale_hours": (24, "A session older than this resumes with the verdict STALE."),
    "session.commit_message": (
        "wip({issue}): checkpoint — task {number} of {total}: {task}",
        "The message of a checkpoint's commit.",
    ),
    "session.observe": (
        True,
        "Read the clients' transcripts, so that a session's work is known without anybody stating it.",
    ),
    "session.ask_at_percent": (
        60,
        "Ask the agent once for what cannot be observed (decisions, dead ends, the next step) when "
        "its context is so full; 0 is never.",
    ),
    "session.same_file": (
        "tell",
        "What happens when two sessions in one worktree edit the same file: `tell` tells both once, "
        "`deny` denies the edit to the second.",
    ),
    "session.pack_characters": (9000, "How long the text for a resumed session may be."),
    "claude.compaction": (
        "assist",
        "What the plugin does when Claude Code compacts: `assist` gives the pack to the client's own "
        "summary, `instant` replaces the conversation by the pack and its last messages without a "
        "request to the model, `off` does nothing.",
    ),
    "claude.compaction_tokens": (
        8000,
        "About how many tokens of the last messages an `instant` compaction keeps word for word.",
    ),
    "fleet.inclusive": (
        False,
        "Exactly 30 and 60 minutes of silence count already, as `stale_agent_protocol.md` reads them.",
    ),
    "fleet.epic": ("", "The folder of the fleet's files; empty is the worktree's top."),
    "loop.lock_seconds": (30, "How long a command waits for a track's `.metadata.lock`."),
    "loop.stale_lock_seconds": (
        300,
        "A track's lock that another tool left behind is broken when it is older than this.",
    ),
    "probe.seconds": (60, "How long one probe of a claim may run."),
    "probe.tests": ("", "The command behind the probe `tests`."),
    "snapshot.keep": (20, "So many snapshots of each worktree stay at `holdfast gc`."),
    "snapshot.remote": (
        "",
        "A git remote that snapshots are pushed to as they are taken. Only from the environment: a file that came "
        "with a repository must not say where work goes that is not committed.",
    ),
    "snapshot.largest_mb": (50, "A snapshot leaves larger files out, and names them."),
    "tracker.kind": (
        "auto",
        "`auto`, `linear`, `github` or `none`; auto goes by the issue's form.",
    ),
    "tracker.linear_url": ("", "Another address for Linear."),
    "tracker.github_url": ("", "Another address for GitHub."),
    "tracker.github_repository": ("", "`owner/name`, for issues such as `#12`."),
    "tracker.key_variable": ("", "A variable of your own that holds the key."),
    "tracker.key_command": (
        "",
        "A command that prints the key. Only from the environment: a file that came with a "
        "repository must not say what is run.",
    ),
    "rfc.pressure": (
        50,
        "Percent of the context in use above which a rejected review restarts it.",
    ),
    "rfc.references": (
        {},
        "What a bootstrap reads on entering a phase: a table of phases and lists of paths.",
    ),
    "gate.signers": (
        "",
        "An allowed-signers file, as git uses it: what people decide counts only with their SSH signature.",
    ),
    "gate.key": (
        "",
        "The SSH key that a person signs with; by default ~/.ssh/id_ed25519.",
    ),
    "notify.urls": (
        "",
        "Where people are told that a gate waits: apprise addresses, separated by blanks.",
    ),
    "notify.page": (
        "",
        "The address of your page, such as `https://holdfast.example`: notifications lead there. Only from "
        "the environment: the address of a page on this machine is for its person alone.",
    ),
    "notify.remind_minutes": (
        60,
        "A gate that still waits is announced again after so long; 0 is never.",
    ),
    "guard.last_turn": (
        True,
        "At a budget's stop each session gets one last turn, of at most five minutes, to checkpoint.",
    ),
    "guard.every_warning": (
        False,
        "A budget's warning is printed at every check, not once when its level is entered.",
    ),
    "plan.agent": (
        "",
        "The command that gets a task without `<run>` on its standard input, such as `claude -p`.",
    ),
    "plan.fix": (
        "",
        "The command that gets what a person found at a checkpoint, and mends it; then they are asked "
        "again.",
    ),
    "plan.goals": (
        "",
        "A command that looks whether a phase's goals are met; each line it prints is one that is not.",
    ),
    "plan.jobs": (4, "How many tasks of a run are at work at the same time."),
    "plan.tries": (3, "How often a task may fail before its run stops."),
    "plan.seconds": (0, "How long a task may run; 0 is without a limit."),
    "plan.on": (
        "",
        "Where a run's tasks are carried out: `local`, or a Dask scheduler such as "
        "`tls://scheduler.example:8786`; empty is `local`.",
    ),
    "plan.remote": (
        "origin",
        "The git remote by which work goes to workers that do not see this disk, and comes back.",
    ),
    "quarantine.days": (30, "Files in quarantine older than this are removed by `holdfast gc`."),
}
# Settings that a file of a repository may name, and that count only once a person has trusted them:
# what each may do. See `holdfast trust`.
GUARDED: dict[str, str] = {
    "journal.workspace": "read, write and stop the workspace of this name in your team's database",
    "redact.rules": "run these patterns over everything that is written, and hold writers up",
    "probe.tests": "run this command at a checkpoint with the probe `tests`",
    "tracker.linear_url": "send your Linear key and the status comments to this address",
    "tracker.github_url": "send your GitHub token and the status comments to this address",
    "tracker.github_repository": "write the status comments into this repository, as you",
    "tracker.key_variable": "send this variable of your environment to the tracker, as its key",
    "gate.key": "sign what you decide with this key",
    "notify.urls": "send the titles of gates to these addresses",
    "plan.agent": "run this command for each task of a plan",
    "plan.fix": "run this command after a person found something at a checkpoint",
    "plan.goals": "run this command at the end of a phase",
    "plan.on": "send the tasks of plans, and your work, to this scheduler",
    "plan.remote": "push work to this git remote",
    "fleet.epic": "write the fleet's files into this folder, outside of the worktree",
}
# Settings of earlier versions: a file or an environment may still hold them, and they have no effect.
RETIRED = ("rfc.compressor", "rfc.compressor_seconds")
ENVIRONMENT_ONLY = ("notify.page", "snapshot.remote", "tracker.key_command")
# Variables that are no settings: they are needed before a file can be found.
VARIABLES: dict[str, str] = {
    "HOLDFAST_HOME": "A local folder for the journal, when the usual place will not do.",
    "HOLDFAST_ACTOR": "Who writes, in the records; otherwise the user's name.",
    "HOLDFAST_AGENT_PID": "The process that an agent is, where it cannot be found out.",
    "HOLDFAST_FENCE": "Which life of an agent a script is, as --fence says it.",
    "HOLDFAST_RUN": "The plan's run that a program belongs to; set by it, not by you.",
    "HOLDFAST_PHASE": "The phase of that program's plan.",
    "HOLDFAST_PLAN": "The plan of that program.",
    "HOLDFAST_TASK": "Its task, as `phase/plan#key`.",
    "HOLDFAST_ATTEMPT": "Which start of the task it is; by it, what is left behind is found.",
    "HOLDFAST_ISSUES": "What a person found at a checkpoint, for the command of `plan.fix`.",
    "HOLDFAST_DEBUG": "Any value shows the full trace of a bug in holdfast.",
}
# What people answered at the gates of a plan, for its programs; one variable a gate.
ANSWERS = "HOLDFAST_GATE_"


def load(workspace: Workspace, journal: Journal | None = None) -> dict[str, Any]:
    """Every setting with its value: defaults, then the file, then the environment."""
    values = {name: default for name, (default, _) in SETTINGS.items()}
    # Reading one file costs less than asking a server what was in it.
    found = from_file(workspace, None if workspace.url else journal)
    untrusted = untrusted_in(workspace, found)
    workspace.ignored_settings = frozenset(untrusted)
    values.update({name: value for name, value in found.items() if name not in untrusted})
    values.update(_from_environment(os.environ))
    return values


def settings_of(workspace: Workspace) -> dict[str, Any]:
    """The same, from the journal's copy of the file where the journal is a file too. No server is asked."""
    is_file = not workspace.url and workspace.exists()
    return load(workspace, workspace.journal if is_file else None)


def guarded_in(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a file that name a command, a place, a variable or a rule."""
    return {
        name: value
        for name, value in settings.items()
        if name in GUARDED and value != SETTINGS[name][0] and not _is_inside(name, value)
    }


def _is_inside(name: str, value: Any) -> bool:
    """Whether a folder of the fleet is one of the worktree."""
    if name != "fleet.epic":
        return False
    is_elsewhere = os.path.isabs(value) or value.startswith("~")
    return not is_elsewhere and ".." not in value.replace(os.sep, "/").split("/")


def untrusted_in(workspace: Workspace, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The guarded settings of a file that no person has trusted: they do not count."""
    guarded = guarded_in(settings)
    if not guarded:
        return {}
    from holdfast.kernel.trust import is_trusted, words_of

    return {} if is_trusted(workspace, words_of(guarded)) else guarded


def config_file(workspace: Workspace) -> str:
    """The file that holds the settings, or nothing."""
    for name in (CONFIG_FILE, "pyproject.toml"):
        path = os.path.join(workspace.root, name)
        if os.path.isfile(path):
            return path
    return ""


def from_file(workspace: Workspace, journal: Journal | None) -> dict[str, Any]:
    """The settings of the workspace's file alone."""
    path = config_file(workspace)
    if not path:
        return {}
    status = os.stat(path)
    identity = f"{path}:{status.st_ino}:{status.st_mtime_ns}:{status.st_size}"
    key = f"config:{workspace.root}"
    if journal is not None:
        cached = canonical_json.loads(journal.get(key) or "{}")
        if cached.get("identity") == identity:
            settings: dict[str, Any] = cached["settings"]
            return settings
    settings = _parse(path)
    if journal is not None and not getattr(journal, "read_only", False):
        journal.put(key, canonical_json.dumps({"identity": identity, "settings": settings}))
    return settings


# No setting has so many names between its dots.
DEEPEST = 100


def _parse(path: str) -> dict[str, Any]:
    import tomllib

    try:
        text = read_plain(path).decode()
        # The parser's time grows with the square of the depth.
        if any(line.partition("=")[0].count(".") > DEEPEST for line in text.splitlines()):
            raise RecursionError
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise HoldfastError(
            f"{path} is not TOML: {why}.", hint="Correct that line.", kind="bad_config"
        ) from error
    except OSError as error:
        raise unreadable(path, error) from error
    if os.path.basename(path) == "pyproject.toml":
        for key in ("tool", "holdfast"):
            document = document.get(key, {})
            if not isinstance(document, dict):
                raise HoldfastError(f"{path}: {key} must be a table.", kind="bad_config")
    try:
        return check(_flatten(document), path)
    except RecursionError:
        raise HoldfastError(
            f"{path} is nested too deeply.", hint="No setting needs that.", kind="bad_config"
        ) from None


def unreadable(path: str, error: OSError) -> HoldfastError:
    """The error for a file with settings that cannot be read."""
    return HoldfastError(
        f"{path} cannot be read: {error.strerror}.",
        hint="Put a file with settings in its place, or remove it.",
        kind="bad_config",
    )


def _flatten(document: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in document.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and not isinstance(SETTINGS.get(name, (0,))[0], dict):
            flat.update(_flatten(value, f"{name}."))
        else:
            flat[name] = value
    return flat


def check(settings: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The settings, if all are known and of the right type."""
    settings = {name: value for name, value in settings.items() if name not in RETIRED}
    for name, value in settings.items():
        if name not in SETTINGS:
            raise HoldfastError(
                f"{source}: there is no setting {name!r}.",
                hint=_nearest(name, SETTINGS),
                kind="bad_config",
            )
        if name in ENVIRONMENT_ONLY:
            raise HoldfastError(
                f"{source}: {name} cannot be set in a file.",
                hint=f"Set {variable_of(name)} in your own environment.",
                kind="bad_config",
            )
        wanted = type(SETTINGS[name][0])
        if type(value) is not wanted:
            raise HoldfastError(
                f"{source}: {name} must be {_TYPE_NAMES[wanted]}, not {value!r}.", kind="bad_config"
            )
        if isinstance(value, int) and value < 0:
            raise HoldfastError(f"{source}: {name} must not be negative.", kind="bad_config")
        if name == "redact.rules":
            _check_rules(value, source)
    return settings


# A part of a redaction rule that may repeat more often than this repeats without a bound.
MOST_REPEATS = 32
_TYPE_NAMES: dict[type, str] = {
    int: "a whole number",
    str: "text",
    bool: "true or false",
    dict: "a table",
}


def has_nested_repeat(pattern: str) -> bool:
    """Whether a part that repeats without a bound holds another repeat or an alternative: a text that
    almost matches then takes a time that doubles with each letter."""
    from re import _parser  # type: ignore[attr-defined]

    def walk(parts: Any, *, is_inside: bool) -> bool:
        for operator, argument in parts:
            name = str(operator)
            is_repeat = name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
            is_open = is_repeat and argument[1] > MOST_REPEATS
            if is_inside and (name == "BRANCH" or (is_repeat and argument[0] != argument[1])):
                return True
            for inner in _inner_parts(name, argument):
                if walk(inner, is_inside=is_inside or is_open):
                    return True
        return False

    return walk(_parser.parse(pattern), is_inside=False)


def _inner_parts(name: str, argument: Any) -> list[Any]:
    """The patterns inside one part of a parsed pattern."""
    if name == "BRANCH":
        return list(argument[1])
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return [argument[2]]
    if name == "SUBPATTERN":
        return [argument[3]]
    if name in ("ASSERT", "ASSERT_NOT"):
        return [argument[1]]
    if name == "ATOMIC_GROUP":
        return [argument]
    if name == "GROUPREF_EXISTS":
        return [one for one in argument[1:] if one is not None]
    return []


def _check_rules(rules: Mapping[str, Any], source: str) -> None:
    import re

    for name, pattern in rules.items():
        try:
            if re.compile(pattern).search("") is not None:
                raise HoldfastError(
                    f"{source}: redact.rules.{name} matches everything, even nothing.",
                    hint="Write a rule that needs at least one character.",
                    kind="bad_config",
                )
            if has_nested_repeat(pattern):
                raise HoldfastError(
                    f"{source}: redact.rules.{name} repeats what repeats or chooses by itself, and can "
                    "take for ever on some texts.",
                    hint="Write it without a repeat around a repeat or an alternative: not (a+)+ or "
                    "(a|b)*, but a+ or [ab]*.",
                    kind="bad_config",
                )
        except (re.error, TypeError) as error:
            raise HoldfastError(
                f"{source}: redact.rules.{name} is not a regular expression: {error}.",
                kind="bad_config",
            ) from error


# The setting that each variable sets; filled when the first variable is read.
_names: dict[str, str] = {}


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    ours = [variable for variable in environment if variable.startswith("HOLDFAST_")]
    if not ours:
        return settings
    if not _names:
        _names.update({variable_of(name): name for name in (*SETTINGS, *RETIRED)})
    for variable in ours:
        if (
            variable not in _names
            and variable not in VARIABLES
            and not variable.startswith(ANSWERS)
        ):
            raise HoldfastError(
                f"There is no variable {variable}.",
                hint=_nearest(variable, {*_names, *VARIABLES}),
                kind="bad_config",
            )
    for variable in ours:
        name = _names.get(variable, "")
        if name not in SETTINGS:
            continue
        default, text = SETTINGS[name][0], environment[variable]
        if isinstance(default, dict):
            raise HoldfastError(
                f"{variable} cannot be set by a variable: {name} is a table.",
                hint=f"Put it into {CONFIG_FILE}.",
                kind="bad_config",
            )
        if isinstance(default, bool):
            if text.lower() not in ("true", "false", "1", "0"):
                raise HoldfastError(
                    f"{variable} must be true or false, not {text!r}.", kind="bad_config"
                )
            settings[name] = text.lower() in ("true", "1")
        elif isinstance(default, int):
            if not text.isascii() or not text.isdigit():
                raise HoldfastError(
                    f"{variable} must be a whole number, not {text!r}.", kind="bad_config"
                )
            settings[name] = int(text)
        else:
            settings[name] = text
    return settings


def variable_of(name: str) -> str:
    if name == "journal.url":
        return "HOLDFAST_URL"
    return "HOLDFAST_" + name.replace(".", "_").upper()


def _nearest(name: str, known: Iterable[str]) -> str:
    import difflib

    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    return f"Did you mean {close[0]}?" if close else f"Known are: {', '.join(names)}."
