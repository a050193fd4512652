"""What an event of any client means, and what can come of it.

A client's own file turns its payload into a `HookEvent` and a `HookOutcome` into its own answer. What is
done about a meaning is done in one place for all clients: `hooks/handlers.py`.
"""

from __future__ import annotations

import os

from holdfast.clients.table import CLIENTS, part
from holdfast.kernel.plain_file import list_names, modified_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal, Protocol, TypedDict

    from holdfast.kernel.workspace import Workspace

    Means = Literal[
        "start",  # a session begins, goes on, or has lost its context
        "prompt",  # a person or a program asked the agent for something
        "tool",  # the agent is about to use a tool
        "used",  # it has used one
        "compacting",  # its context is about to be cut down
        "may compact",  # or perhaps not: this client says so all the time
        "waits",  # the client asks its person something, or a limit or an error ended the turn
        "stop",  # the agent is done, or thinks so
        "end",  # the session is over
        "nothing",  # known, and none of our business
        "unknown",
    ]

    class Permit(TypedDict):
        """`message` is the reason of a denial, `chosen` has the labels for each question of an agent."""

        allow: bool
        message: str
        chosen: list[list[str]]

    class HookOutcome(TypedDict, total=False):
        """What a client is to do: each key in the client's own words, where it has any for it."""

        context: str  # for the agent to read
        deny: str  # the tool is not used, and why
        prompt: str  # the agent does not stop, but reads this
        halt: str  # the agent ends now, and why
        tell: str  # for the person to read
        permit: Permit  # the answer of a person elsewhere to what the client asks

    class Client(Protocol):
        """The capability `hooks`: the module `events` of a client."""

        NAME: str
        EVENTS: dict[str, Means]

        def read(self, name: str, payload: dict[str, Any]) -> HookEvent: ...

        def length(self, text: str) -> int: ...

        def answer(self, event: HookEvent, outcome: HookOutcome) -> dict[str, Any]: ...


# How much of what a hook says stands in a context, as `length` of its client counts. Claude Code puts all but
# the first 2,000 of more than 10,000 characters into a file that the model does not read; Codex cuts out the
# middle of more than 2,500 tokens, which it takes for four bytes each; of the others no limit was seen.
LONGEST_CONTEXT = 9_500
# Words after `holdfast` that are a person's. Hooks and their launcher deny them to an agent. This is a
# fence, which a shell can get around; the wall behind it is the terminal that `gates.person` demands.
PERSONS_COMMANDS = (
    ("gate", "answer"),
    ("gate", "withdraw"),
    ("guard", "ack"),
    ("guard", "reset"),
    ("release",),
)

# The names that Claude Code gave, and that most clients took over from it. What a client does at the
# last ones is none of our business.
SHARED_EVENTS: dict[str, Means] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PreToolUse": "tool",
    "PostToolUse": "used",
    "PostToolUseFailure": "used",
    "PreCompact": "compacting",
    "Stop": "stop",
    "SessionEnd": "end",
    "PermissionRequest": "waits",
    **dict.fromkeys(
        str.split(
            "PostToolBatch PostCompact SubagentStart SubagentStop StopFailure ElicitationResult "
            "UserPromptExpansion PermissionDenied ErrorOccurred PreModelSwitch PostModelSwitch "
            "ConfigChange Interrupt notify Setup TeammateIdle TaskCreated TaskCompleted TodoCreated "
            "TodoCompleted WorktreeCreate WorktreeRemove InstructionsLoaded CwdChanged FileChanged "
            "DirectoryAdded MessageDisplay"
        ),
        "nothing",
    ),
}


class HookEvent:
    """One event: what it means, and the facts of it that matter to us."""

    def __init__(self, name: str, means: Means) -> None:
        self.name = name
        self.means: Means = means
        self.session = ""
        self.folder = ""
        # Why a session starts or ends.
        self.source = ""
        # What the agent is asked for.
        self.prompt = ""
        # Where the client writes the session down; empty where it does not say.
        self.transcript = ""
        self.tool = ""
        # The files that a tool is about to change, as the agent named them.
        self.paths: list[str] = []
        # What a shell is to run; empty for other tools.
        self.command = ""
        # A tool's event looks at the session itself when no other event did for so long; 0 is never, because
        # the client tells, too, when a tool was used.
        self.looks_after = 0
        # What the client asks its person; empty for all other events.
        self.asks = ""
        # The client shows its own dialogue while this hook runs, and takes the first answer.
        self.has_dialogue_beside = False
        # The input of the tool that it asks about.
        self.given: dict[str, Any] = {}
        # A usage limit ended the turn; `asks` is what the client said of it.
        self.is_limit = False
        # The client has gone on: it neither waits for an answer nor reads one.
        self.is_deferred = False


def text_of(payload: dict[str, Any], name: str) -> str:
    """A text of the payload; anything else is none."""
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def command_of(given: dict[str, Any]) -> str:
    """What a shell is to run, out of a tool's arguments: one text, or a list of words."""
    value = given.get("command") or given.get("cmd")
    if isinstance(value, list):
        return " ".join(word for word in value if isinstance(word, str))
    return value if isinstance(value, str) else ""


# What the clients call their tools that change a file.
EDITS = str.split(
    "Edit MultiEdit Write NotebookEdit edit multiedit write write_file "
    "replace create apply_patch patch str_replace_editor"
)
_PATCHED = ("*** Update File: ", "*** Add File: ", "*** Delete File: ")


def paths_of(tool: str, given: dict[str, Any]) -> list[str]:
    """The files that a tool is about to change, out of its arguments."""
    if tool not in EDITS:
        return []
    for name in ("file_path", "filePath", "notebook_path", "path"):
        if path := text_of(given, name):
            return [path]
    texts = [value for value in given.values() if isinstance(value, str)]
    return [
        line[len(mark) :].strip()
        for text in texts
        for line in text.splitlines()
        for mark in _PATCHED
        if line.startswith(mark)
    ]


def read_event(events: dict[str, Means], name: str, payload: dict[str, Any]) -> HookEvent:
    """An event with the fields that Claude Code named and others took over from it, some of them in
    other letters; `events` is the client's table."""
    event = HookEvent(name, events.get(name, "unknown"))
    event.session = text_of(payload, "session_id") or text_of(payload, "sessionId")
    event.folder = text_of(payload, "cwd")
    event.source = text_of(payload, "source") or text_of(payload, "reason")
    # Gemini CLI with `-p` puts what a hook said before the words of the person.
    event.prompt = text_of(payload, "prompt").rpartition("</hook_context>")[2].lstrip()
    event.transcript = text_of(payload, "transcript_path") or text_of(payload, "transcriptPath")
    event.tool = text_of(payload, "tool_name") or text_of(payload, "toolName")
    given = payload.get("tool_input") or payload.get("toolInput")
    given = given if isinstance(given, dict) else {}
    event.command = command_of(given)
    event.paths = paths_of(event.tool, given)
    _note_question(event, payload, given)
    return event


# Claude Code's answers, which other clients took over from it

_WITH_CONTEXT = frozenset(
    str.split("SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure")
)


def length(text: str) -> int:
    """Its characters are JavaScript's: those beyond 16 bits are two."""
    return len(text) + sum(letter > "\uffff" for letter in text)


def answer(event: HookEvent, outcome: HookOutcome) -> dict[str, Any]:
    said: dict[str, Any] = {}
    specific: dict[str, Any] = {}
    if outcome.get("context") and event.name in _WITH_CONTEXT:
        specific["additionalContext"] = outcome["context"]
    if "deny" in outcome:
        specific["permissionDecision"] = "deny"
        specific["permissionDecisionReason"] = outcome["deny"]
    if "permit" in outcome:
        specific["decision"] = _decision(event, outcome["permit"])
    if specific:
        said["hookSpecificOutput"] = {"hookEventName": event.name, **specific}
    if "prompt" in outcome:
        said["decision"], said["reason"] = "block", outcome["prompt"]
    if outcome.get("tell"):
        said["systemMessage"] = outcome["tell"]
    if "halt" in outcome:
        said["continue"], said["stopReason"] = False, outcome["halt"]
        said["systemMessage"] = outcome["halt"]
    return said


def _decision(event: HookEvent, permit: Permit) -> dict[str, Any]:
    if not permit["allow"]:
        return {"behavior": "deny", "message": permit["message"]}
    questions = event.given.get("questions")
    if not permit["chosen"] or not isinstance(questions, list):
        return {"behavior": "allow"}
    answers = {
        one["question"]: ", ".join(chosen)
        for one, chosen in zip(questions, permit["chosen"], strict=False)
    }
    return {"behavior": "allow", "updatedInput": {**event.given, "answers": answers}}


# Which client really runs a hook. Copilot CLI and Cursor run the hooks in Claude Code's settings, so that
# the name in the command line may be another client's. Payload and environment tell.

# Whose settings other clients read.
SHARED = "claude"
# Seen in every payload of Cursor, and in none of another client.
_CURSOR = "cursor_version"
# What Copilot calls its transcripts.
_EVENTS_FILE = "/events.jsonl"


def caller_of(named: str, payload: dict[str, Any], environment: Mapping[str, str]) -> str:
    """The client that sent a payload to a hook in the settings of `named`."""
    if named != SHARED:
        return named
    if _CURSOR in payload:
        return "cursor"
    transcript = payload.get("transcript_path")
    if isinstance(transcript, str) and transcript:
        return "copilot" if transcript.endswith(_EVENTS_FILE) else named
    # Claude Code always names its transcript. Copilot does so at a stop only, and says when it was.
    if "timestamp" in payload or "sessionId" in payload:
        return "copilot"
    is_inside = bool(environment.get("COPILOT_PROJECT_DIR"))
    return "copilot" if is_inside and not environment.get("CLAUDE_CODE_SESSION_ID") else named


def is_named_twice(named: str, caller: str, root: str) -> bool:
    """Whether the caller's own settings in a worktree start our hooks as well: those count then."""
    if named == caller or caller not in CLIENTS:
        return False
    from holdfast.clients import launcher

    return launcher.NAME in launcher.content_of(os.path.join(root, CLIENTS[caller].files[0]))


# What a client asks its person, and what ended a turn

LONGEST_QUESTION = 300
# The last is Gemini CLI's.
_NOTICES = str.split(
    "permission_prompt idle_prompt elicitation_dialog worker_permission_prompt ToolPermission"
)
# Tools by which an agent asks its person, whatever it is allowed to do; `hook.sh` knows them too.
QUESTION_TOOLS = ("AskUserQuestion", "ask_user_question", "ask_user", "request_user_input")
_LIMITS = ("rate_limit", "usage_limit", "billing_error")


def _note_question(event: HookEvent, payload: dict[str, Any], given: dict[str, Any]) -> None:
    """Put what a client asks its person into an event; one that asks nothing means nothing."""
    if event.means == "tool" and event.tool in QUESTION_TOOLS:
        event.asks = one_line(_permission(event.tool, given))
    if event.means != "waits":
        return
    event.given = given
    event.is_limit = event.name == "StopFailure" and text_of(payload, "error") in _LIMITS
    event.asks = one_line(_find_question(event, payload))
    if not event.asks:
        event.means = "nothing"


def _find_question(event: HookEvent, payload: dict[str, Any]) -> str:
    """What a person is asked for in the client; empty where nothing waits for a person."""
    if event.name == "PermissionRequest":
        return _permission(event.tool, event.given)
    if event.name == "Notification":
        is_question = text_of(payload, "notification_type") in _NOTICES
        return text_of(payload, "message") if is_question else ""
    if event.name == "Elicitation":
        return text_of(payload, "message") or "A server asks for an input."
    if event.name == "StopFailure":
        error, said = text_of(payload, "error"), text_of(payload, "last_assistant_message")
        asked = said or error or "no reason was given"
        return asked if error in _LIMITS else f"An error ended the turn: {asked}"
    return ""


def one_line(text: str) -> str:
    return " ".join(text.split())[:LONGEST_QUESTION]


def _permission(tool: str, given: dict[str, Any]) -> str:
    questions = given.get("questions")
    if isinstance(questions, list) and questions and isinstance(questions[0], dict):
        return text_of(questions[0], "question") or "A question"
    if tool in QUESTION_TOOLS:
        return text_of(given, "question") or text_of(given, "message") or "A question"
    command = command_of(given)
    names = ("file_path", "path", "url")
    detail = next((text_of(given, name) for name in names if given.get(name)), "")
    if command or not tool:
        return f"May {tool} run: {command}?" if tool else ""
    return f"May {tool} use {detail}?" if detail else f"May {tool} run?"


# When each event of each client last came in: the time of a file, which the launcher touches as well.
SEEN = "seen"
TIMED_BY_LAUNCHER = ("prompt", "tool", "used", "stop", "compacting", "may compact", "end")


def note_time(workspace: Workspace, client: str, name: str, now: int) -> None:
    """Remember when an event came in."""
    if not name.isalnum():
        return
    try:
        path = os.path.join(workspace.prepare_private(SEEN), f"{client}.{name}")
        _touch(path, os.O_NOFOLLOW, now)
    except OSError:
        return


def _touch(path: str, how: int, at: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | how, 0o600)
    try:
        os.utime(descriptor, ns=(at * 1_000_000, at * 1_000_000))
    finally:
        os.close(descriptor)


def prepare_times(workspace: Workspace, client: str) -> None:
    """Make the files of the events that the launcher may answer: it touches no file that it did not find. A file
    of the time 0 says that no such event came in yet."""
    folder = workspace.prepare_private(SEEN)
    for name, means in part(client, "events").EVENTS.items():
        if means not in TIMED_BY_LAUNCHER:
            continue
        try:
            _touch(f"{folder}/{client}.{name}", os.O_EXCL, 0)
        except FileExistsError:
            continue


def last_times(workspace: Workspace) -> dict[str, dict[str, int]]:
    """For each client, when its events last came in, in milliseconds."""
    folder = os.path.join(workspace.private, SEEN)
    found: dict[str, dict[str, int]] = {}
    for file in list_names(folder):
        client, _, name = file.partition(".")
        at = modified_at(os.path.join(folder, file))
        if at:
            found.setdefault(client, {})[name] = at
    return found
