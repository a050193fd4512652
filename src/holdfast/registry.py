"""The features of Holdfast: what the rest of the house may know of each.

A feature is a folder with a `feature.py` that holds one `FEATURE`. Nothing outside names a feature: commands, tools,
pages, settings, packs, hooks, status, history and purge ask this table. Everything in it is a string until it is needed,
so a hook imports no more than it uses. Other distributions add features by the entry-point group
`holdfast.features`; hooks do not know these, because nothing that a hook reads may name code to import.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, dataclass_transform
else:

    def dataclass_transform() -> Callable[[type], type]:
        return lambda kind: kind


GROUP = "holdfast.features"


@dataclass_transform()
class TableRow:
    """A row of a feature's tables, with the fields that its class lists. It is no dataclass: to load these takes a
    hook as long as half a bare interpreter."""

    def __init__(self, *values: Any, **named: Any) -> None:
        fields = self.__annotations__
        named |= zip(fields, values, strict=False)
        if not fields.keys() >= named.keys():
            strange = ", ".join(named.keys() - fields.keys())
            raise TypeError(f"{type(self).__name__} has no {strange}")
        self.__dict__ = named


class StreamKind(TableRow):
    """What holds for all streams of one kind.

    `rules` names the module with its five functions. A stream `of_one_life` belongs to one session
    or agent, which alone writes to it; only these may be written to this machine's file first and
    to the server later (ADR 0027). `is_fenced` says that each life has a fence. Hooks read streams
    that are `mirrored`, so each machine keeps a copy of them. `follower` names the module that
    brings this machine's files in line when the stream changed on the server. `acts` are the commands
    of people and of holdfast itself: they do not count when they come from the inbox. `found_by` names the
    module that knows which of these streams began on this machine. `word` is what people call one of them,
    if it is not the name. `is_decided` says that people decide it: only a person restores, purges or removes it.
    `is_said` says that its records are words and no acts: a purge removes them as a whole.
    """

    name: str
    rules: str
    of_one_life: bool = False
    is_fenced: bool = False
    is_decided: bool = False
    is_said: bool = False
    mirrored: bool = False
    follower: str = ""
    found_by: str = ""
    acts: tuple[str, ...] = ()
    word: str = ""


class Setting(TableRow):
    """One setting: its default, whose type is the setting's, and its meaning.

    A setting with a `guard` counts in a file only after `holdfast trust`; the guard says what it may do. One that is
    `environment_only` cannot stand in a file.
    """

    default: Any
    meaning: str
    guard: str = ""
    environment_only: bool = False


class Verb(TableRow):
    """One command of the command line: its line in `--help`, its group there, and the module that holds it.

    `inner` are the verbs of a verb, each with its line. `modules` names the module of an inner verb that is not in
    `module`. A module holds a verb as `<verb>_command`, or as `command`.
    """

    name: str
    line: str
    group: str
    module: str
    help: str = ""
    inner: Mapping[str, str] = {}
    modules: Mapping[str, str] = {}


# How urgent something that needs a person is; `status` lists the smallest first.
STOPPED, WAITS, SETTINGS, BROKEN, STALLED = range(5)


class Attention(TableRow):
    """Something that a person should look at, and the command for it.

    `urgency` is one of the numbers above: what stops agents; a question that waits for a person; settings that do not
    count; what is broken; work that is stalled because its process is gone. `has_card` says that the board shows it
    in a place of its own.
    """

    what: str
    next: str
    urgency: int
    has_card: bool = False


class StatusLine(TableRow):
    """What a feature adds to the line under a client's prompt: parts that come first and parts that come last, each
    with its colour, and the limits by which its numbers are coloured, by level and type."""

    first: Sequence[tuple[str, str]] = ()
    last: Sequence[tuple[str, str]] = ()
    limits: Mapping[str, Mapping[str, float]] = {}


class Feature(TableRow):
    """What a feature gives to the rest of the house. Each value is a table, or the name of a module or function
    (`package.module:function`) that is imported when it is called.

    Args:
        name: the folder's name.
        rank: its place in lists, lowest first.
        streams: its kinds of streams.
        settings: its settings by name; `retired` are names of earlier versions, which have no effect.
        variables: environment variables that are no settings, with their meanings.
        verbs: its commands.
        tools: the list of its MCP tools and prompts.
        pages: its `Pages` (`holdfast.web.table`); their templates are in the folder `templates` beside the module.
        api: what an open `Workspace` of the library offers, by name: a class that is made of the workspace and the
            actor, or a function that becomes a method (`holdfast.offers`).
        describe: its `parts.Words`, by which people read its records.
        attention: a function of the workspace and the time that returns what needs a person, as `Attention`.
        pack: a function that gives commands and sections for the text of the next session.
        hooks: what it does at a client's events, by the names in `hooks/activity.py`.
        words: what programs may send to `hooks/entry.py` without the command line's parser, by the first word.
        status_line: a function of the workspace and the session that returns its `StatusLine`.
        checks: functions of the workspace, the time and whether to fix, which return a `parts.Check` for `doctor`.
        copies: its `parts.Copies`, by which purge, gc and uninstall find its files.
        places: its rows of `kernel.places`: the files that it writes.
        trust: a function of the workspace that returns what it wants a person's trust for, as `parts.Trustable`.
        restore: a context manager around the restore of one of its streams, of the workspace, the writer, the stream,
            the actor and the time; it yields where a broken file was moved.
        effects: kinds of effects that only the machine that decided them may carry out.
        holds: the streams that say what holds agents, each with the function that lists what holds and has no file.
        lifts: the command that lifts a stop, by who set it.
        offers: what it answers to questions of others, by the question: the name of a function.
    """

    name: str
    rank: int = 100
    streams: Sequence[StreamKind] = ()
    settings: Mapping[str, Setting] = {}
    retired: Sequence[str] = ()
    variables: Mapping[str, str] = {}
    verbs: Sequence[Verb] = ()
    tools: str = ""
    pages: str = ""
    api: Mapping[str, str] = {}
    describe: str = ""
    attention: str = ""
    pack: str = ""
    hooks: Mapping[str, str] = {}
    words: Mapping[str, str] = {}
    status_line: str = ""
    checks: Sequence[str] = ()
    copies: str = ""
    places: str = ""
    trust: str = ""
    restore: str = ""
    effects: Sequence[str] = ()
    holds: Mapping[str, str] = {}
    lifts: Mapping[str, str] = {}
    offers: Mapping[str, str] = {}


_features: list[Feature] = []
# Why a feature of another distribution could not be loaded.
problems: list[str] = []
_state = {"others": False, "is_closed": False, "version": 0}


def close() -> None:
    """Know the built-in features only, from now on: this process is a hook."""
    _state["others"], _state["is_closed"] = True, True


def is_closed() -> bool:
    """Return whether features of others stay unknown to this process."""
    return bool(_state["is_closed"])


def features() -> Sequence[Feature]:
    """Return the features in order: the built-in ones, and those of others once they are loaded."""
    if not _features:
        _add(load(f"holdfast.{name}.feature:FEATURE") for name in built_in())
    return _features


def built_in(below: str = "") -> list[str]:
    """Return the names of the built-in features, or of those in a folder; none of them is loaded."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), below)
    if not os.path.isdir(folder):
        return []
    return [
        name
        for name in os.listdir(folder)
        if os.path.isfile(os.path.join(folder, name, "feature.py"))
    ]


def all_features() -> Sequence[Feature]:
    """Return the features with those in `contrib` and of other distributions, which a hook does not know."""
    known = features()
    if _state["others"]:
        return known
    _state["others"] = True
    _add([load(f"holdfast.contrib.{name}.feature:FEATURE") for name in built_in("contrib")])
    if not has_others():
        return known
    from importlib.metadata import entry_points

    found = []
    for entry in entry_points(group=GROUP):
        try:
            feature = entry.load()
            if not isinstance(feature, Feature):
                raise TypeError(f"{entry.value} is no Feature")
            if any(feature.name == one.name for one in known):
                raise ValueError(f"there is a feature {feature.name} already")
            found.append(feature)
        except Exception as error:  # a broken feature of others breaks nothing else
            problems.append(f"{entry.name}: {error}")
    _add(found)
    return _features


def has_others() -> bool:
    """Return whether an installed distribution names a feature. `importlib.metadata` would tell as well, and costs
    two bare interpreters to load."""
    wanted = f"[{GROUP}]".encode()
    for folder in sys.path:
        try:
            names = [name for name in os.listdir(folder or ".") if name.endswith("-info")]
        except OSError:
            continue
        for name in names:
            try:
                with open(os.path.join(folder, name, "entry_points.txt"), "rb") as file:
                    if wanted in file.read():
                        return True
            except OSError:
                continue
    return False


def _add(found: Iterator[Feature] | Sequence[Feature]) -> None:
    _features.extend(found)
    _features.sort(key=lambda feature: (feature.rank, feature.name))
    _state["version"] += 1


def version() -> int:
    """Return a number that grows when features are added, for those who keep tables of them."""
    features()
    return _state["version"]


def load(name: str) -> Any:
    """Import what `package.module` or `package.module:attribute` names."""
    module, _, attribute = name.partition(":")
    # Also where it is known: another thread may be in the middle of loading it.
    __import__(module)
    found = sys.modules[module]
    return getattr(found, attribute) if attribute else found


def parts(name: str, among: Callable[[], Sequence[Feature]] = features) -> Iterator[Any]:
    """Load one part of every feature that has it, such as `attention`."""
    for feature in among():
        named = getattr(feature, name)
        if named:
            yield load(named)


def load_named(part: str, name: str) -> Iterator[Any]:
    """Load what the built-in features have under a name in one of their tables, such as `hooks` or `offers`."""
    for feature in features():
        if name in getattr(feature, part):
            yield load(getattr(feature, part)[name])


def offers(question: str) -> Iterator[Any]:
    """Load what the built-in features answer to a question of others."""
    return load_named("offers", question)


def kinds() -> Iterator[StreamKind]:
    """Return the kinds of streams that are known."""
    for feature in features():
        yield from feature.streams


def kind_of(stream: str) -> StreamKind | None:
    """Return the kind of a stream by its name; None where no feature knows it."""
    feature, name = feature_of(stream), stream.partition(":")[0]
    found = feature.streams if feature is not None else ()
    return next((kind for kind in found if kind.name == name), None)


def feature_of(stream: str) -> Feature | None:
    """Return the feature that a stream belongs to; None where no feature knows it. Only where no built-in feature
    does, those of others are loaded."""
    name = stream.partition(":")[0]
    for known in (features, all_features):
        for feature in known():
            if any(kind.name == name for kind in feature.streams):
                return feature
    return None


def prefixes(is_wanted: Callable[[StreamKind], bool]) -> tuple[str, ...]:
    """Return what the names of streams of the wanted kinds begin with."""
    return tuple(f"{kind.name}:" for kind in kinds() if is_wanted(kind))
