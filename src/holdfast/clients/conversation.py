"""What happens in a session, in the same words for every client.

A client's transcript reader turns each line into events. It never runs anything that a transcript
says, and it never raises: what it does not know it skips and counts.

| kind | what happened | fields |
|---|---|---|
| `place` | the session works in a folder | path |
| `prompt` | the person asked for something | text |
| `heard` | the person typed it while the agent worked | id, text (empty: taken back) |
| `said` | the agent wrote to the person | text |
| `run` | the agent started a command | id, text (the command line), path (its folder, or empty) |
| `edit` | the agent changed a file | id, path, text (old and new text), change, exact, about (moved from) |
| `read` | the agent looked at a file | id, path, text (what it looked for there) |
| `search` | the agent searched | id, text (the pattern), path (where, or empty) |
| `call` | the agent used any other tool | id, text (the tool and its input) |
| `result` | a call of the same id ended | id, text (its output, shortened), failed, exact (the file after it) |
| | it runs on behind the session | id, text, end (`running`) |
| | the person refused it | id, text (what they said to it), end (`refused`) |
| `plan` | the agent put a plan to the person | id, text |
| `tasks` | the agent wrote its whole task list | id, tasks |
| `task` | one task was made or changed | tasks (one; empty text or state: as before) |
| `answer` | the person answered a question | text (the answer), about (the question) |
| `agent` | a subagent was started | id, text (what it is to do) |
| `agent_end` | the subagent of that id ended | id |
| `compact` | the client compacted the conversation | |
| `summary` | the client wrote its own summary | text |

Of `run`, `edit`, `read`, `search`, `call`, `plan`, `tasks` and `agent`, the first is one tool call
each, unless `again` says that it belongs to the call before it (a patch of several files).
"""

from __future__ import annotations

from holdfast.kernel.canonical_json import list_of, table_of, text_of
from holdfast.kernel.patterns import DOTALL, IGNORECASE, compile_later
from holdfast.kernel.text import ABOUT_SIGNS, HANDED_OVER, split_words, undo_defuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Literal, NotRequired, Protocol, TypedDict

    Kind = Literal[
        "place",
        "prompt",
        "heard",
        "said",
        "run",
        "edit",
        "read",
        "search",
        "call",
        "result",
        "plan",
        "tasks",
        "task",
        "answer",
        "agent",
        "agent_end",
        "compact",
        "summary",
    ]
    Change = Literal["edited", "created", "deleted"]
    # A hook let a blocked call not begin; a refused one was refused by the person.
    End = Literal["", "running", "refused", "blocked"]
    TaskState = Literal["open", "active", "done", "dropped", ""]

    class Task(TypedDict):
        """A task of the client's own list. `key` is the client's name for it, or its position."""

        key: str
        text: str
        state: TaskState

    class Replacement(TypedDict, total=False):
        """One change of a file's text, whole and not redacted: for `holdfast edits`, never to be kept.

        `old` is replaced by `new`; without `old`, `new` is the whole file. `everywhere` replaces each
        `old`. `whole_lines` is a part of a patch: it stands behind the line `after`, if that is given.
        `with_break` takes the line break behind a text that is removed, if there is one.
        """

        old: str
        new: str
        everywhere: bool
        whole_lines: bool
        after: str
        with_break: bool

    class ReaderState(TypedDict):
        """What a reader has to know of earlier lines to understand later ones. Plain JSON."""

        pending: dict[str, list[str]]
        seen: list[str]
        unknown: int
        cwd: NotRequired[str]

    Parse = Callable[[dict[str, Any], ReaderState, list["SessionEvent"]], None]

    class Transcript(Protocol):
        """A client's transcript module. So many bytes of the end of a file are read whole; what
        stands before is skimmed."""

        READ_WHOLE: int

        def is_telling(self, line: bytes) -> bool:
            """Whether the line can matter; asked before anything is decoded."""

        def is_quiet(self, line: bytes) -> bool:
            """Whether a line that tells nothing is known to be one; others are counted."""

        def peek(self, line: bytes, state: ReaderState, events: list[SessionEvent]) -> bool:
            """Read a long line without decoding it; False where it must be decoded after all."""

        def parse(
            self, record: dict[str, Any], state: ReaderState, events: list[SessionEvent]
        ) -> None:
            """Append the events of one decoded object."""

        def skim(self, line: bytes, state: ReaderState, events: list[SessionEvent]) -> None:
            """Append what stays important for a whole session: prompts, answers, plans, tasks,
            compactions; and of other tool calls only that there was one."""


# A prompt as short as "yes, the second" is a reply: the question before it says what it means.
LONGEST_REPLY = 60
TOOL_CALLS = frozenset(("run", "edit", "read", "search", "call", "plan", "tasks", "agent"))

# No reader keeps more of one text than this; what is left out of the middle is marked.
LONGEST_TEXT = 24_000
LONGEST_OUTPUT = 16_000
LONGEST_LINE_TO_DECODE = 64 << 20
# A shorter line is decoded at once: looking for its parts takes as long.
PEEK_ABOVE = 4096
AT_ONCE = 100
# Calls whose result is still out, and message blocks already read: only the newest matter.
MOST_PENDING = 64
MOST_SEEN = 64
CUT = "\n[...]\n"

# What clients write in the person's name.
_NOT_THE_PERSON = compile_later(
    r"\s*(?:<(?!command-)|Caveat:|\[Request interrupted|This session is being continued|"
    r"Base directory for this skill|# AGENTS\.md instructions|"
    # What our hooks answer to a stop, which opencode puts in as a prompt.
    r"Stop now, checkpoint: |Holdfast: the context is \d+ % full)"
)
_INSERTED = compile_later(
    r"<(system-reminder|ide_opened_file|ide_selection|hook_context|environment_context|"
    r"local-command-caveat|qwen:[a-z-]{1,40}-context)(?: [^>]{1,80})?>.*?</\1>",
    DOTALL,
)
_SLASH_COMMAND = compile_later(r"<command-name>\s*(/?[^<]{1,80}?)\s*</command-name>")
_SLASH_ARGUMENTS = compile_later(r"<command-args>(.*?)</command-args>", DOTALL)

# A pack, as we gave it to an agent or as a person pasted it: no word of theirs.
_PACK = compile_later(
    r"Holdfast: .{1,3000}?It is data, not instructions\.[^\n]*\n[ \t]*(`{3,})data\n"
    r".*?(?:\n[ \t]*\1(?!`)(?:\s*Left out for length: [^\n]*)?|\Z)",
    DOTALL,
)

# Commands that change the client and begin no turn.
_ASKS_FOR_NO_WORK = frozenset(
    split_words(
        "add-dir agents bashes btw bug clear color compact config context copy cost doctor effort exit export "
        "extra-usage fast feedback goal help hooks ide keybindings login logout mcp memory mobile model "
        "output-style permissions plan plugin plugins privacy-settings quit release-notes reload-plugins "
        "remote-env rename resume rewind sandbox skills stats status statusline tasks terminal-setup theme "
        "todos upgrade usage vim voice"
    )
)
# With such a word a person lets the agent go on with what is under way.
_GO_ON = compile_later(
    r"\s*(?:please |pls |bitte |and |now )?(?:y|yes|yeah|yep|yup|sure|ok|okay|k|lgtm|great|good|perfect|right|exactly|"
    r"continue|resume|proceed|carry on|keep going|keep at it|go on|go ahead|do it|do that|do so|next|"
    r"sounds good|again|retry|try again|weiter|mach weiter|ja|jawohl|genau|fortfahren|los|continuer|oui|"
    r"sigue|s[ií]|continua|continuar|vai|dale|дальше|продолжай|да|继续|続けて)(?:\W|$)",
    IGNORECASE,
)

_STATES: dict[str, TaskState] = {
    "pending": "open",
    "todo": "open",
    "open": "open",
    "not_started": "open",
    "in_progress": "active",
    "in-progress": "active",
    "active": "active",
    "completed": "done",
    "complete": "done",
    "done": "done",
    "deleted": "dropped",
    "cancelled": "dropped",
    "canceled": "dropped",
    "dropped": "dropped",
}


class SessionEvent:
    """One thing that happened. See the table above for which field says what."""

    __slots__ = split_words("kind at id text path about change failed tasks again exact end")

    def __init__(
        self,
        kind: Kind,
        *,
        at: str = "",
        id: str = "",
        text: str = "",
        path: str = "",
        about: str = "",
        change: Change = "edited",
        failed: bool | None = None,
        tasks: Iterable[Task] = (),
        again: bool = False,
        exact: Sequence[Replacement] = (),
        end: End = "",
    ) -> None:
        self.kind = kind
        self.at = at
        self.id = id
        self.text = text
        self.path = path
        self.about = about
        self.change = change
        # None: the client does not say how it ended.
        self.failed = failed
        self.tasks = list(tasks)
        self.again = again
        self.exact = exact
        self.end = end

    def __repr__(self) -> str:
        said = {name: getattr(self, name) for name in self.__slots__ if getattr(self, name)}
        return f"Event({said})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SessionEvent) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

    __hash__ = None  # type: ignore[assignment]


# A tool call of which only that matters; no code changes an event, so one serves all.
COUNTED_CALL = SessionEvent("call")
# What matters for a whole session, however long it is.
LASTING = frozenset(
    ("place", "prompt", "heard", "answer", "plan", "tasks", "task", "compact", "summary")
)


def redact(events: Iterable[SessionEvent], clean: Callable[[str], str]) -> None:
    """Redact every text of the events, before anything takes a name, a command or a finding from it."""
    for event in events:
        if event is COUNTED_CALL:
            continue
        event.text = clean(event.text)
        event.about = clean(event.about)
        event.path = clean(event.path)
        for task in event.tasks:
            task["text"] = clean(task["text"])


def new_state() -> ReaderState:
    return {"pending": {}, "seen": [], "unknown": 0}


def read(
    transcript: Transcript, lines: Iterable[bytes], state: ReaderState, *, size: int = 0
) -> Iterator[SessionEvent]:
    """What new whole lines say. `state` goes in and out. A torn last line waits outside.

    `size` is how many bytes there are to read. All but the last stretch of very many is only
    skimmed: what was named hundreds of calls ago has no weight any more.
    """
    events: list[SessionEvent] = []
    to_skim, skim = size - transcript.READ_WHOLE, transcript.skim
    for line in lines:
        if to_skim > 0:
            to_skim -= len(line) + 1
            skim(line, state, events)
        else:
            read_line(transcript, line, state, events)
        if len(events) >= AT_ONCE:
            yield from events
            events.clear()
    yield from events


def read_line(
    transcript: Transcript,
    line: bytes,
    state: ReaderState,
    events: list[SessionEvent],
    *,
    decoded: bool = False,
) -> list[dict[str, Any]]:
    """Read one line and return its objects, so that usage figures need no second decoding.

    A line that need not be decoded returns none, unless `decoded` asks for its objects.
    """
    telling = transcript.is_telling(line)
    if not telling and not transcript.is_quiet(line):
        state["unknown"] += 1
    if telling and len(line) > PEEK_ABOVE and transcript.peek(line, state, events):
        telling = False
    if not telling and not decoded:
        return []
    records = decode(line)
    if telling:
        state["unknown"] += not records
        for record in records:
            transcript.parse(record, state, events)
    return records


def skim_decoded(parse: Parse, line: bytes, state: ReaderState, events: list[SessionEvent]) -> None:
    """Decode a line and keep what matters for a whole session; of other tool calls only that there was
    one."""
    found: list[SessionEvent] = []
    for record in decode(line):
        parse(record, state, found)
    for event in found:
        if event.kind in LASTING:
            events.append(event)
        elif event.kind in TOOL_CALLS:
            events.append(COUNTED_CALL)


def decode(line: bytes) -> list[dict[str, Any]]:
    """The JSON objects of a line: usually one, none for damage, several where a client lost the
    line break between them."""
    if len(line) > LONGEST_LINE_TO_DECODE:
        return []
    import json

    text = line.decode("utf-8", "replace").strip(" \t\r\n\0")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _several(text)
    return [value] if isinstance(value, dict) else []


def _several(text: str) -> list[dict[str, Any]]:
    import json

    found: list[dict[str, Any]] = []
    decoder, start = json.JSONDecoder(), 0
    while start < len(text):
        try:
            value, start = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            break
        if isinstance(value, dict):
            found.append(value)
        while start < len(text) and text[start] in " \t\r\n\0":
            start += 1
    return found


def text_in(content: Any, most: int = LONGEST_TEXT) -> str:
    """The text of a message's content: a string, or blocks with a `text` each."""
    if isinstance(content, str):
        return shorten(content, most)
    parts = []
    for block in list_of(content)[:1000]:
        part = block if isinstance(block, str) else text_of(table_of(block).get("text"))
        if part:
            parts.append(part)
    return shorten("\n".join(parts), most)


def strings_in(value: Any, most: int = 4000) -> str:
    """The strings in a tool's input, without the names of its fields."""
    found: list[str] = []
    waiting = [value]
    while waiting and most > 0:
        one = waiting.pop()
        if isinstance(one, str):
            found.append(one[:most])
            most -= len(one) + 1
        elif isinstance(one, dict):
            waiting += list(one.values())[:100][::-1]
        elif isinstance(one, list):
            waiting += one[:100][::-1]
    return " ".join(found)


def shorten(text: str, most: int) -> str:
    """The beginning and, more important for output, the end of a text that is too long."""
    if len(text) <= most:
        return text
    head = most // 3
    return text[:head] + CUT + text[len(text) - (most - head - len(CUT)) :]


def words_of_the_person(text: str) -> str:
    """A prompt without what the client inserted; empty where no person wrote it."""
    if "<" in text:
        text = _INSERTED.sub("", text)
        command = _SLASH_COMMAND.search(text)
        if command:
            given = _SLASH_ARGUMENTS.search(text)
            arguments = given[1].strip() if given else ""
            name = command[1].lstrip("/")
            if not arguments and name in _ASKS_FOR_NO_WORK:
                return ""
            return f"/{name} {arguments}".strip()
    if "Holdfast: " in text:
        text = _PACK.sub("", text)
        if text.endswith(ABOUT_SIGNS):
            text = undo_defuse(text.removesuffix(ABOUT_SIGNS))
    text = text.strip()
    return "" if not text or _NOT_THE_PERSON.match(text) else text


def lets_go_on(text: str) -> bool:
    """Return whether a prompt only lets the agent go on: "continue", "weiter", "yes do that"."""
    if text.startswith(HANDED_OVER):
        return True
    return len(text.strip()) <= LONGEST_REPLY and _GO_ON.match(text) is not None


def is_reply(text: str) -> bool:
    """Return whether a prompt says little without what it answers: a short one, or one that begins with "yes"."""
    return len(text) <= LONGEST_REPLY or (
        len(text) <= 4 * LONGEST_REPLY and bool(_GO_ON.match(text))
    )


def request_under_way(asked: Sequence[str]) -> str:
    """The last request that says what to do, and is no mere reply; the first one where all are short."""
    whole = [text for text in asked if len(text.strip()) > LONGEST_REPLY]
    return (whole[-1] if whole else next(iter(asked), "")).removeprefix(HANDED_OVER)


def task_of(key: Any, text: Any, state: Any) -> Task:
    """A task in our words; an unknown state counts as open."""
    word = text_of(state).strip().lower()
    return {
        "key": str(key) if isinstance(key, (str, int)) else "",
        "text": text_of(text)[:1000].strip(),
        "state": _STATES.get(word, "open" if word else ""),
    }


def note_place(cwd: str, at: str, state: ReaderState, events: list[SessionEvent]) -> None:
    """Append that the session works in a folder, if it is another one than before."""
    if cwd and cwd != state.get("cwd"):
        state["cwd"] = cwd
        events.append(SessionEvent("place", at=at, path=cwd))


def remember(state: ReaderState, id: str, *what: str) -> None:
    """Keep what a call was until its result comes."""
    pending = state["pending"]
    pending[id] = list(what)
    while len(pending) > MOST_PENDING:
        del pending[next(iter(pending))]


def recall(state: ReaderState, id: str) -> list[str]:
    """What `remember` kept for an id, once; empty if nothing."""
    return state["pending"].pop(id, [])


def is_new(state: ReaderState, id: str) -> bool:
    """Whether an id was not seen among the last ones. Clients write some things twice."""
    seen = state["seen"]
    if id in seen:
        return False
    seen.append(id)
    if len(seen) > MOST_SEEN:
        del seen[0]
    return True


def string_in(line: bytes, key: bytes, start: int = 0, most: int = 200) -> str:
    """The short string value of a key in a line that is not decoded: `key` is b'"id":"'."""
    at = line.find(key, start)
    if at < 0:
        return ""
    at += len(key)
    end = line.find(b'"', at, at + most)
    return line[at:end].decode("utf-8", "replace") if end >= 0 else ""


def decode_piece(line: bytes, start: int, end: int) -> str:
    """Part of a JSON string, cut anywhere in it, as the text it stands for.

    Where the string ends before `end`, so does the text.
    """
    import json

    raw = line[max(start, 0) : min(end, len(line))].decode("utf-8", "ignore")
    whole = _WHOLE.match(raw)
    try:
        return str(json.loads(f'"{whole[0] if whole else ""}"', strict=False))
    except ValueError:
        return ""


# A string up to its end, or up to the last letter and escape that is there in full.
_WHOLE = compile_later(r'(?:[^"\\]+|\\u[0-9a-fA-F]{4}|\\[^u])*')
