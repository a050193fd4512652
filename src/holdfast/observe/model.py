"""The data of an observation, and what keeps it below 64 KB.

What was used lately counts more than what was used often: each use has a weight that halves every
25 tool calls. A weight is kept as one number that needs no update while time goes on: the logarithm
of the sum of all uses, measured on a clock of calls that runs on. Such numbers compare directly.
"""

from __future__ import annotations

from holdfast.kernel import canonical_json
from holdfast.kernel.patterns import compile_later
from holdfast.kernel.text import split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, NotRequired, TypedDict, TypeVar

    from holdfast.clients.conversation import Task

    T = TypeVar("T")

    class Said(TypedDict):
        """Words of the person or of the agent. `call`: how many tool calls came before."""

        text: str
        at: str
        call: int
        # What the agent had said before, where the words are too short to be understood alone.
        after: NotRequired[str]
        # How many prompts came before, where they were no prompt of their own.
        turn: NotRequired[int]
        # How many edits came before.
        edits: NotRequired[int]

    class ChosenAnswer(TypedDict):
        about: str
        text: str
        call: int

    class SeenFile(TypedDict):
        """`state` is read, edited, created or deleted; `number` is what names refer to."""

        number: int
        weight: float
        edits: int
        reads: int
        call: int
        state: str

    class Command(TypedDict):
        """`failed` is None while it runs, or where the client does not say."""

        text: str
        weight: float
        runs: int
        failed: bool | None
        call: int
        # How many edits came before its last run.
        edits: NotRequired[int]

    class Failure(TypedDict):
        """Steps of a command line that failed and have not passed since; `key` has one a line.
        `edits` counts the edits before it. `again`: it ran since, and its end is not known."""

        key: str
        text: str
        end: str
        call: int
        edits: NotRequired[int]
        again: NotRequired[bool]

    class Commit(TypedDict):
        id: str
        text: str
        call: int
        edits: NotRequired[int]

    class Result(TypedDict):
        """What the last push said, or the last check that passed. `edits` counts the edits before it."""

        text: str
        call: int
        edits: NotRequired[int]

    class OpenCall(TypedDict):
        """A call without a result. `behind`: its command runs on behind the session."""

        text: str
        at: str
        call: int
        behind: NotRequired[bool]

    class Refusal(TypedDict):
        """A call that the person refused, and what they said to it; either may be empty."""

        text: str
        words: str
        call: int
        turn: int

    class Observation(TypedDict):
        version: int
        cwd: str
        started_at: str
        at: str
        calls: int
        edits: int
        first: Said | None
        earlier: list[Said]
        request: Said | None
        prompts: int
        rulings: list[Said]
        answers: list[ChosenAnswer]
        plan: list[str]
        tasks: list[Task]
        files: dict[str, SeenFile]
        numbered: int
        glimpsed: dict[str, float]
        names: dict[str, list[float]]
        commands: dict[str, Command]
        habits: dict[str, float]
        failures: list[Failure]
        commits: list[Commit]
        said: list[Said]
        agents: dict[str, str]
        compactions: int
        summary: Said | None
        pending: dict[str, list[str]]
        # An observation of an older version has none of these: paths that were removed or moved away, calls
        # without a result, calls that the person refused, what they typed while the agent worked, and the last
        # request before a short one.
        gone: NotRequired[list[str]]
        open: NotRequired[dict[str, OpenCall]]
        refused: NotRequired[list[Refusal]]
        heard: NotRequired[list[Said]]
        asked: NotRequired[Said | None]
        pushed: NotRequired[Result | None]
        # How many calls came before the last change of the tasks.
        listed: NotRequired[int]
        green: NotRequired[Result | None]
        # What was asked, said and done, by sentences: see `story`.
        story: NotRequired[list[list[Any]]]


VERSION = 1
LARGEST = 64 * 1024
HALF_LIFE = 25
# How much room each part may take, in bytes of JSON. The sum stays below LARGEST.
ROOM = {
    "request": 2400,
    "first": 600,
    "earlier": 1300,
    "rulings": 2200,
    "answers": 1100,
    "plan": 800,
    "tasks": 2100,
    "files": 3800,
    "glimpsed": 1800,
    "names": 8100,
    "commands": 1700,
    "habits": 1600,
    "failures": 1200,
    "commits": 500,
    "said": 1200,
    "agents": 300,
    "pending": 1400,
    "gone": 400,
    "open": 1100,
    "refused": 1200,
    "heard": 1500,
    "asked": 1700,
    "story": 24_000,
    "pushed": 300,
    "green": 500,
}
# What an entry of a table takes beside its texts, at most: numbers and the names of fields.
ENTRY = 84
# Lines of an error that say only that there is one, and words of those that say more.
_BARE = compile_later(
    r"FAIL|PASS|exit status \d+|[\W_]*|Ran \d+ tests? in .*|FAILED \((?:(?:failures|errors)=\d+[, ]*)+\)"
)
_SAYS_WHY = compile_later(
    r"(?i)error|undefined|expected|assert|panic|--- fail|cannot|not found|denied"
)
_CONTROLS = compile_later(r"[\x00-\x08\x0b-\x1f]")


def new() -> Observation:
    """Nothing seen yet."""
    numbers = split_words("calls edits prompts numbered compactions listed")
    lists = split_words(
        "earlier rulings answers plan tasks failures commits said refused heard story"
    )
    tables = split_words("files glimpsed names commands habits agents pending open")
    seen: Any = {"version": VERSION, "cwd": "", "started_at": "", "at": ""}
    seen |= dict.fromkeys(numbers, 0)
    seen |= dict.fromkeys(split_words("first request summary asked pushed green"))
    seen |= {name: [] for name in lists} | {name: {} for name in tables}
    return seen  # type: ignore[no-any-return]


def is_empty(seen: Observation) -> bool:
    """Whether there is nothing to tell."""
    return not seen["prompts"] and not seen["calls"] and not seen["said"]


def lighten(table: dict[str, float], room: int) -> None:
    """Drop the lightest keys of a table of weights that has grown too large."""
    if sum(map(len, table)) + 12 * len(table) <= room:
        return
    heaviest = [key for _, key in sorted([(-weight, key) for key, weight in table.items()])]
    _keep_only(table, pick(heaviest, room * 5 // 6, lambda key: len(key) + 12))


def weight_now(weight: float, seen: Observation) -> float:
    """A kept weight as a number of uses right now."""
    return float(2.0 ** max(-60.0, weight - seen["calls"] / HALF_LIFE))


def wait_for_end(seen: Observation, id: str, *what: str) -> None:
    pending = seen["pending"]
    pending.pop(id, None)
    if not id or len(id) > 100:
        return
    pending[id] = list(what)
    while len(pending) > 2 and size_of(pending) > ROOM["pending"]:
        del pending[next(iter(pending))]


def shrink(table: dict[str, Any], room: int, most: int, *, keep: str) -> None:
    """Drop the lightest entries of a table that has grown too large, a few at a time."""
    sizes = {
        key: size_of(key) + size_of(entry.get("text", "")) + ENTRY for key, entry in table.items()
    }
    if len(table) <= most and sum(sizes.values()) <= room:
        return
    heaviest = sorted(table, key=lambda key: (key != keep, -table[key]["weight"], key))
    _keep_only(table, pick(heaviest[: most * 9 // 10], room * 9 // 10, sizes.__getitem__))


def _keep_only(table: dict[str, Any], kept: list[str]) -> None:
    for key in table.keys() - kept:
        del table[key]


def pick(items: Iterable[T], room: int, size: Callable[[T], int]) -> list[T]:
    """Return the first items, as many as there is room for."""
    kept = []
    for item in items:
        room -= size(item)
        if room < 0:
            break
        kept.append(item)
    return kept


def newest(items: list[Any], most: int, room: int) -> list[Any]:
    items = items[-most:]
    if size_of(items) <= room:
        return items
    return pick(items[::-1], room, lambda item: size_of(item) + 2)[::-1]


def oldest(items: list[Any], most: int, room: int) -> list[Any]:
    return newest(items[:most][::-1], most, room)[::-1]


def size_of(value: Any) -> int:
    """Return how many bytes a value takes as JSON."""
    if isinstance(value, str) and value.isascii() and value.isprintable():
        return len(value) + 2 + value.count('"') + value.count("\\")
    return len(canonical_json.dumps(value).encode())


def clipped(text: str, most: int) -> str:
    """The beginning of a text, bounded in letters and in bytes of JSON."""
    short = text if len(text) <= most else text[: most - 1].rstrip() + "…"
    while not short.isascii() and size_of(short) > most + 40:
        short = short[: len(short) * 3 // 4]
    return short if short.isprintable() else _strip_controls(short, most)


def clipped_end(text: str, most: int) -> str:
    """Return the end of a text, bounded in the same way."""
    short = text[-most:]
    while not short.isascii() and size_of(short) > most + 40:
        short = short[len(short) // 4 :]
    return clipped(short, most)


def _strip_controls(text: str, most: int) -> str:
    """Control characters take six bytes each in JSON; only line breaks and tabs may stay."""
    text = _CONTROLS.sub("", text)
    while size_of(text) > most * 5 // 4 + 40:
        text = text[: len(text) * 3 // 4]
    return text


def telling_lines(lines: list[str], most: int) -> list[str]:
    """The last lines of an error; where only one is shown, the last that says what is wrong."""
    lines = [line for line in lines if not _BARE.fullmatch(line)] or lines
    wrong = [line for line in lines if _SAYS_WHY.search(line)]
    return wrong[-1:] if most == 1 and wrong else lines[-most:]
