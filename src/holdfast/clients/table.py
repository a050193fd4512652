"""The clients that Holdfast knows, one row of facts for each; and which session runs this process.

A client is one folder beside this file: `install`, `events`, `sessions` and `transcript`. Everything that
goes through all clients goes through this table. docs/how-to/add-a-client.md says how to add one.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    ClientName = Literal["claude", "codex", "gemini", "opencode", "qwen", "copilot"]
    PartName = Literal["install", "events", "sessions", "transcript", "fork"]


class ClientFacts:
    """What is known of a client before any of its modules is loaded. A row states what its client has."""

    name: ClientName
    title: str
    # The npm package that its program is installed from.
    package: str
    # The first version that runs all of our hooks; docs/reference/clients.md has the sources.
    oldest: str
    # What `init` writes in a project. A change there is no change of the work.
    files: tuple[str, ...]
    # The settings with hooks that a team commits; empty where the client has none.
    shared = ""
    # How to start it for a person; the last word ends with the first prompt.
    start: tuple[str, ...]
    # The folder in which it keeps what is its own, from the user's home; and the variable that names
    # it instead, or the folder that it is in: `VARIABLE/folder`.
    home: str
    home_variable = ""
    # The same for its user's settings; empty where they are in `home`, too.
    settings_home = ""
    settings_variable = ""
    # What its user has to do before hooks run; it has the capability `review` then. Empty: nothing.
    review = ""
    # What is in the name of a transcript and of its folder, and in no other client's. Empty: all
    # others are Claude Code's.
    transcript = ""
    # Where the processes that it starts find the session's id. Empty: it does not say.
    session_variable = ""
    # Where its hooks find the folder that the session began in: the folder of a payload follows
    # every `cd`. Empty: the payload's folder is the session's.
    project_variable = ""
    # No variable tells its hooks the session: the launcher knows it by the client's process, which
    # runs one at a time.
    has_nameless_hooks = False


class Claude(ClientFacts):
    name = "claude"
    title = "Claude Code"
    package = "@anthropic-ai/claude-code"
    # An older one calls the settings invalid.
    oldest = "2.1.78"
    files = (".claude/settings.local.json", ".mcp.json")
    shared = ".claude/settings.json"
    home = ".claude"
    home_variable = "CLAUDE_CONFIG_DIR"
    # Behind `--` a prompt that begins with a dash is no option.
    start = ("claude", "--", "")
    session_variable = "CLAUDE_CODE_SESSION_ID"
    project_variable = "CLAUDE_PROJECT_DIR"


class Codex(ClientFacts):
    name = "codex"
    title = "Codex"
    package = "@openai/codex"
    oldest = "0.145.0"  # SessionEnd came last
    files = (".codex/hooks.json", ".codex/config.toml")
    shared = ".codex/hooks.json"
    home = ".codex"
    home_variable = "CODEX_HOME"
    start = ("codex", "--", "")
    transcript = "/rollout-"
    review = (
        "Start codex in this project, trust the project, type /hooks and review Holdfast's hooks. "
        "Do so again after each change of them."
    )
    session_variable = "CODEX_SESSION_ID"
    has_nameless_hooks = True


class Gemini(ClientFacts):
    name = "gemini"
    title = "Gemini CLI"
    package = "@google/gemini-cli"
    oldest = "0.26.0"  # hooks are on without a setting
    files = (".gemini/settings.json",)
    shared = ".gemini/settings.json"
    home = ".gemini"
    home_variable = "GEMINI_CLI_HOME/.gemini"
    start = ("gemini", "--prompt-interactive=")
    transcript = "/chats/session-"
    session_variable = "GEMINI_SESSION_ID"
    project_variable = "GEMINI_PROJECT_DIR"


class Opencode(ClientFacts):
    name = "opencode"
    title = "opencode"
    package = "opencode-ai"
    # It tells `shell.env` the session, which came last of what the shim uses.
    oldest = "1.2.7"
    # The server's entry is in one of the last two.
    files = (".opencode/plugins/holdfast.js", "opencode.json", "opencode.jsonc")
    home = ".local/share/opencode"
    home_variable = "XDG_DATA_HOME/opencode"
    settings_home = ".config/opencode"
    settings_variable = "XDG_CONFIG_HOME/opencode"
    start = ("opencode", "--prompt=")
    session_variable = "OPENCODE_SESSION_ID"


class Qwen(ClientFacts):
    name = "qwen"
    title = "Qwen Code"
    package = "@qwen-code/qwen-code"
    oldest = "0.24.0"  # seen to run; older ones were not tried
    files = (".qwen/settings.json",)
    shared = ".qwen/settings.json"
    home = ".qwen"
    start = ("qwen", "--prompt-interactive=")
    transcript = "/chats/"
    session_variable = "QWEN_CODE_SESSION_ID"
    project_variable = "QWEN_PROJECT_DIR"


class Copilot(ClientFacts):
    name = "copilot"
    title = "Copilot CLI"
    package = "@github/copilot"
    oldest = "1.0.100"  # seen to run; older ones were not tried
    files = (".github/copilot/settings.local.json", ".github/mcp.json")
    home = ".copilot"
    home_variable = "COPILOT_HOME"
    start = ("copilot", "--interactive=")
    transcript = "/events.jsonl"
    review = (
        "Start copilot in this folder and trust the folder. `copilot -p` runs hooks in trusted "
        "folders, and elsewhere with GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS=true."
    )
    # The commands of its agent have it, its hooks do not.
    session_variable = "COPILOT_AGENT_SESSION_ID"
    project_variable = "COPILOT_PROJECT_DIR"
    has_nameless_hooks = True


_ROWS = tuple(row() for row in ClientFacts.__subclasses__())
CLIENTS: dict[str, ClientFacts] = {row.name: row for row in _ROWS}
NAMES: tuple[ClientName, ...] = tuple(row.name for row in _ROWS)


# Below the user's folder, where `contrib.claude_sdk` stores transcripts in Claude Code's format.
AGENT_SDK = "agent-sdk"


def title_of(client: str) -> str:
    """The client's name as its vendor writes it."""
    facts = CLIENTS.get(client)
    return facts.title if facts else client


def titles(last: str = "or") -> str:
    """All clients, for a sentence."""
    found = [row.title for row in _ROWS]
    return f"{', '.join(found[:-1])} {last} {found[-1]}"


def home_of(client: str) -> str:
    """The folder in which a client keeps what is its own."""
    return _folder(CLIENTS[client].home, CLIENTS[client].home_variable)


def settings_home_of(client: str) -> str:
    """The folder in which a client keeps its user's settings."""
    facts = CLIENTS[client]
    if not facts.settings_home:
        return home_of(client)
    return _folder(facts.settings_home, facts.settings_variable)


def _folder(below_home: str, variable: str) -> str:
    variable, slash, below = variable.partition("/")
    named = os.environ.get(variable, "") if variable else ""
    if not named:
        return os.path.join(os.path.expanduser("~"), below_home)
    return os.path.join(named, below) if slash else named


def clients_at_home() -> list[ClientName]:
    """The clients that have kept something here. The modules of the others need not be loaded."""
    # opencode's sessions may be in a file elsewhere, those of an agent in Claude's format in the user's folder.
    elsewhere = ["opencode"] if os.environ.get("OPENCODE_DB") else []
    if os.path.isdir(
        _folder(f".local/state/holdfast/{AGENT_SDK}", f"XDG_STATE_HOME/holdfast/{AGENT_SDK}")
    ):
        elsewhere.append("claude")
    return [name for name in NAMES if name in elsewhere or os.path.isdir(home_of(name))]


def owner_of(transcript: str) -> ClientName:
    """Whose a transcript is, by the name that it has in its folder: that needs no look into the file."""
    ending = "/".join(("", *transcript.split("/")[-2:]))
    owners = (row.name for row in _ROWS if row.transcript and row.transcript in ending)
    return next(owners, "claude")


def part(client: str, name: PartName) -> Any:
    """A module of a client's folder. Loaded when it is asked for: a hook needs one of them."""
    return __import__(f"holdfast.clients.{client}.{name}", fromlist=["__name__"])


# What a client can implement: the module, and the members that make the capability. A client has those
# that its modules implement; docs/how-to/add-a-client.md says which a client needs.
CAPABILITIES: dict[str, tuple[PartName, tuple[str, ...]]] = {
    "install": ("install", ("EVENTS", "parts", "notes")),
    "review": ("install", ("is_reviewed",)),
    "hooks": ("events", ("NAME", "EVENTS", "read", "length", "answer")),
    # Its permission hook may answer for its person; whether also a question with options.
    "answered elsewhere": ("events", ("OBEYS_CHOICES",)),
    # It has a hook before a compaction and none after it: the next event with context brings the pack.
    "silent compaction": ("events", ("IS_SILENT_AFTER_COMPACTION",)),
    # One process of the client's runs several sessions.
    "shared process": ("events", ("SHARES_PROCESS",)),
    # A command in the first prompt does not work behind what the start of a session tells.
    "plain first prompt": ("events", ("DROPS_COMMANDS",)),
    "sessions": ("sessions", ("sessions", "is_writer", "session_at", "find")),
    "filing": ("sessions", ("filed_under",)),
    "usage": ("sessions", ("of_path", "TELLING", "glance", "parse")),
    "limits": ("sessions", ("limit_of",)),
    "told resets": ("sessions", ("reset_of",)),
    # Its sessions are in a database, not in lines.
    "store": ("sessions", ("changed", "read")),
    "transcript": (
        "transcript",
        ("READ_WHOLE", "is_telling", "is_quiet", "peek", "parse", "skim"),
    ),
    "stored transcript": ("transcript", ("read",)),
    # It can continue a copy of a session for one turn without tools.
    "fork": ("fork", ("fork", "reply")),
}


def capability(client: str, name: str) -> Any:
    """Return the module with which a client implements a capability; None where it does not."""
    module, members = CAPABILITIES[name]
    try:
        found = part(client, module)
    except ModuleNotFoundError:
        return None
    return found if all(hasattr(found, member) for member in members) else None


# The session that a client runs this process in

# What clients give to the processes that they start; for opencode our shim does.
VARIABLES = tuple(facts.session_variable for facts in CLIENTS.values() if facts.session_variable)
LONGEST_ID = 100


def own_id() -> str:
    """The id that the client gives to the processes it starts; empty outside of one."""
    return safe_id(next((os.environ[name] for name in VARIABLES if os.environ.get(name)), ""))


def is_plain(session: str) -> bool:
    """Whether an id can stand in a line, in a path and in what an agent reads."""
    plain = session.replace("-", "").replace("_", "").replace(".", "")
    return plain.isascii() and plain.isalnum() and session[0] != "." and len(session) <= LONGEST_ID


def safe_id(session: str) -> str:
    """A session's id that can stand in a line and in a path: the client's own, or for an odd one a
    digest of it, so that no client is refused and none can write into our lines."""
    if not session or is_plain(session):
        return session
    from holdfast.kernel.digest import id_of

    return id_of(session.encode("utf-8", "replace").decode())
