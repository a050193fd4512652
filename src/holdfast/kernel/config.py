"""Settings: `holdfast.toml`, or `[tool.holdfast]` in pyproject.toml, then HOLDFAST_*, then flags.

An unknown key is an error with the nearest match. The parsed file is kept in the journal beside
the identity of the file it came from, because `tomllib` costs a hook 0.9 of a bare interpreter.
"""

from __future__ import annotations

import os

from holdfast import registry
from holdfast.kernel import canonical_json
from holdfast.kernel.errors import HoldfastError, NotAllowed
from holdfast.kernel.plain_file import read_plain
from holdfast.kernel.workspace import CONFIG_FILE
from holdfast.registry import Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from holdfast.journal.interface import Journal
    from holdfast.kernel.workspace import Workspace

# The settings of the journal and of redaction. Those of a feature are in its `feature.py`.
CORE = {
    "journal.url": Setting(
        "",
        "A PostgreSQL database for the journal, `postgresql://USER@HOST:PORT/DATABASE`; empty is a "
        "file of this machine. In a file without a password.",
    ),
    "redact.rules": Setting(
        {},
        "Your own redaction rules: a table of names and regular expressions. "
        "A group named `keep` stays in front of the mark.",
        guard="run these patterns over everything that is written, and hold writers up",
    ),
}
# Variables that are no settings: they are needed before a file can be found.
CORE_VARIABLES: dict[str, str] = {
    "HOLDFAST_HOME": "A local folder for the journal, when the usual place will not do.",
    "HOLDFAST_ACTOR": "Who writes, in the records; otherwise the user's name.",
    "HOLDFAST_DEBUG": "Any value shows the full trace of a bug in holdfast.",
}
# What people answered at the gates of a plan, for its programs; one variable a gate.
ANSWERS = "HOLDFAST_GATE_"


class Tables:
    """The settings and variables of all features that are loaded."""

    def __init__(self) -> None:
        self.version = registry.version()
        self.settings: dict[str, Setting] = dict(CORE)
        self.variables = dict(CORE_VARIABLES)
        self.retired: list[str] = []
        for feature in registry.features():
            self.settings.update(feature.settings)
            self.variables.update(feature.variables)
            self.retired.extend(feature.retired)


_tables: list[Tables] = []


def tables() -> Tables:
    """Return the settings and variables that are known now."""
    if not _tables or _tables[0].version != registry.version():
        _tables[:] = [Tables()]
    return _tables[0]


def load(workspace: Workspace, journal: Journal | None = None) -> dict[str, Any]:
    """Every setting with its value: defaults, then the file, then the environment."""
    values = {name: one.default for name, one in tables().settings.items()}
    # Reading one file costs less than asking a server what was in it.
    found = from_file(workspace, None if workspace.url else journal)
    untrusted = untrusted_in(workspace, found)
    workspace.ignored_settings = frozenset(untrusted)
    values.update({name: value for name, value in found.items() if name not in untrusted})
    values.update(_from_environment(os.environ))
    return values


def without_file() -> dict[str, Any]:
    """Every setting outside of a workspace: defaults, then the environment."""
    values = {name: one.default for name, one in tables().settings.items()}
    values.update(_from_environment(os.environ))
    return values


def settings_of(workspace: Workspace) -> dict[str, Any]:
    """The same, from the journal's copy of the file where the journal is a file too. No server is asked."""
    is_file = not workspace.url and workspace.exists()
    return load(workspace, workspace.journal if is_file else None)


def guarded_in(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a file that name a command, a place, a variable or a rule."""
    known = tables().settings
    return {
        name: value
        for name, value in settings.items()
        if name in known
        and known[name].guard
        and value != known[name].default
        and not _is_inside(name, value)
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
    """The file that holds the settings, or nothing. A link that leads out of the work tree is not followed."""
    for name in (CONFIG_FILE, "pyproject.toml"):
        path = os.path.join(workspace.root, name)
        if os.path.isfile(path) and not (os.path.islink(path) and _leads_out(workspace, path)):
            return path
    return ""


def _leads_out(workspace: Workspace, path: str) -> bool:
    return not os.path.realpath(path).startswith(f"{workspace.root}/")


def from_file(workspace: Workspace, journal: Journal | None) -> dict[str, Any]:
    """The settings of the workspace's file alone."""
    path = config_file(workspace)
    named = os.path.join(workspace.root, CONFIG_FILE)
    if path != named and os.path.islink(named) and _leads_out(workspace, named):
        raise HoldfastError(
            f"{named} is a link that leads out of the work tree, and is not followed.",
            hint="Put a file with settings in its place, or remove it.",
            kind="bad_config",
        )
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


def read_early(workspace: Workspace, name: str) -> str:
    """Return a setting that is needed before the journal is open, with nothing else looked at."""
    given = os.environ.get(variable_of(name))
    if given is not None:
        return given
    path = config_file(workspace)
    if not path:
        return ""
    # The parser costs as much as a bare interpreter, so only for a file that may speak of it.
    try:
        text = read_plain(path)
    except OSError as error:
        raise unreadable(path, error) from error
    if b"journal" not in text or name.partition(".")[2].encode() not in text:
        return ""
    found = from_file(workspace, None)
    if name in untrusted_in(workspace, found):
        # To go by another name instead would split the records of a team.
        raise NotAllowed(
            f"This repository names a {name} that you have not trusted: {found[name]}.",
            hint="`holdfast trust --show` says what it may do; `holdfast trust` lets it count.",
            kind="untrusted_setting",
        )
    return str(found.get(name, ""))


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
    known = tables().settings
    for key, value in document.items():
        name = f"{prefix}{key}"
        is_table = name in known and isinstance(known[name].default, dict)
        if isinstance(value, dict) and not is_table:
            flat.update(_flatten(value, f"{name}."))
        else:
            flat[name] = value
    return flat


def check(settings: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The settings, if all are known and of the right type."""
    known = tables()
    settings = {name: value for name, value in settings.items() if name not in known.retired}
    if any(name not in known.settings for name in settings):
        registry.all_features()
        known = tables()
    for name, value in settings.items():
        if name not in known.settings:
            from holdfast.kernel.text import nearest

            if registry.is_closed() and not nearest(name, known.settings, ""):
                continue  # perhaps of another distribution, whose settings a hook does not know
            raise HoldfastError(
                f"{source}: there is no setting {name!r}.",
                hint=nearest(name, sorted(known.settings)),
                kind="bad_config",
            )
        if known.settings[name].environment_only:
            raise HoldfastError(
                f"{source}: {name} cannot be set in a file.",
                hint=f"Set {variable_of(name)} in your own environment.",
                kind="bad_config",
            )
        wanted = type(known.settings[name].default)
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


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    ours = [variable for variable in environment if variable.startswith("HOLDFAST_")]
    if not ours:
        return settings
    known = tables()
    names = {variable_of(name): name for name in (*known.settings, *known.retired)}
    for variable in ours:
        if (
            variable not in names
            and variable not in known.variables
            and not variable.startswith(ANSWERS)
        ):
            from holdfast.kernel.text import nearest

            raise HoldfastError(
                f"There is no variable {variable}.",
                hint=nearest(variable, sorted({*names, *known.variables})),
                kind="bad_config",
            )
    for variable in ours:
        name = names.get(variable, "")
        if name not in known.settings:
            continue
        default, text = known.settings[name].default, environment[variable]
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
