"""Claude Code: `~/.claude/projects/<the folder's path>/<session>.jsonl`.

Subagents have files of their own beside it. Qwen Code names its folders in the same way.

One line is a content block: a message of several blocks stands there several times with the same id. The
line `cost-state` is the client's own total with subagents and compactions; it comes when the client ends, so
what was said after the last one is added to it.
"""

from __future__ import annotations

import os

from holdfast.clients.discovery import (
    entries_of,
    found_session,
    newest_first,
    paths_matching,
    source_of,
)
from holdfast.clients.lines import FIRST_BYTES, MOST_BYTES, cwd_in, object_in, read_piece
from holdfast.clients.table import AGENT_SDK, home_of
from holdfast.clients.usage.model import (
    count,
    money,
    new_context,
    new_limit,
    new_message,
    new_quota,
)
from holdfast.kernel.canonical_json import table_of, text_of
from holdfast.kernel.workspace import user_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from holdfast.clients.discovery import FoundSession, SessionPlace
    from holdfast.clients.table import ClientName
    from holdfast.clients.usage.model import Found, Quota, Report, Source, UsageLimit

# Longer names of folders are shortened, and end with a digest.
LONGEST_FOLDER_NAME = 200


def sessions(place: SessionPlace) -> Iterator[FoundSession]:
    own = sessions_in_projects("claude", place, "*.jsonl")
    stored = list(_stored_sessions(place))
    if not stored:
        return own
    found: dict[str, FoundSession] = {}
    for one in sorted([*own, *stored], key=lambda one: -one["modified"]):
        found.setdefault(one["session"], one)
    return iter(found.values())


def _stored_sessions(place: SessionPlace) -> Iterator[FoundSession]:
    """The sessions of agents that use the SDK. The names of their projects are the agent's."""
    for modified, path in newest_first(
        paths_matching(os.path.join(user_folder(), AGENT_SDK), "*/*.jsonl")
    ):
        cwd = cwd_of(path)
        if cwd and place.holds(cwd):
            yield found_session(
                "claude", session_at(path, modified)["session"], path, modified, cwd
            )


def sessions_in_projects(
    client: ClientName, place: SessionPlace, pattern: str
) -> Iterator[FoundSession]:
    """Projects have one folder each. Its name stands for several paths: `/a/b-c` and `/a/b/c`."""
    names = [_name_of(path) for path in place.spellings]
    paths = (
        path
        for project in entries_of(os.path.join(home_of(client), "projects"))
        if any(_may_be_below(project.name, name) for name in names)
        for path in paths_matching(project.path, pattern)
    )
    for modified, path in newest_first(paths):
        name, cwd = os.path.basename(path), cwd_of(path)
        if cwd and place.holds(cwd) and not name.startswith("agent-"):
            yield found_session(client, name.removesuffix(".jsonl"), path, modified, cwd)


def filed_under(folder: str) -> Iterator[FoundSession]:
    return filed_in_project("claude", folder, "*.jsonl")


def filed_in_project(client: ClientName, folder: str, pattern: str) -> Iterator[FoundSession]:
    for modified, path in newest_first(paths_matching(folder_of(folder, client), pattern)):
        session = os.path.basename(path).removesuffix(".jsonl")
        yield found_session(client, session, path, modified, folder)


def folder_of(root: str, client: ClientName = "claude") -> str:
    """Where the transcripts of sessions in a folder are."""
    return os.path.join(home_of(client), "projects", _name_of(root))


def _name_of(path: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in path)


def _may_be_below(name: str, of: str) -> bool:
    return name == of or name.startswith((of + "-")[:LONGEST_FOLDER_NAME])


def find(session: str) -> list[Source]:
    stored = paths_matching(os.path.join(user_folder(), AGENT_SDK), f"*/{session}.jsonl")
    paths = newest_first([find_in_projects("claude", f"{session}.jsonl"), *stored])
    return of_path(paths[0][1]) if paths else []


def find_in_projects(client: ClientName, name: str) -> str:
    """The file of this name in the folder of any project; empty when there is none."""
    projects = entries_of(os.path.join(home_of(client), "projects"))
    paths = (os.path.join(project.path, name) for project in projects)
    return next(filter(os.path.isfile, paths), "")


def of_path(path: str) -> list[Source]:
    session = os.path.basename(path).removesuffix(".jsonl")
    folder = os.path.join(os.path.dirname(path), session, "subagents")
    agents = [
        source_of("claude", session, each, os.path.basename(each)[len("agent-") : -len(".jsonl")])
        for each in paths_matching(folder, "agent-*.jsonl")
    ]
    return [source_of("claude", session, path), *agents]


def cwd_of(path: str) -> str:
    """The folder that the first lines name; the last line that was read may be cut."""
    size = 16 * FIRST_BYTES
    while True:
        head = read_piece(path, size)
        lines = head.split(b"\n")
        for line in lines:
            if b'"cwd"' in line:
                cwd = text_of(object_in(line).get("cwd"))
                if cwd:
                    return cwd
        if len(head) < size or size >= MOST_BYTES:
            return cwd_in(lines[-1])
        size = MOST_BYTES


def is_writer(record: dict[str, Any]) -> bool:
    kind, message = text_of(record.get("type")), record.get("message")
    # Qwen Code writes its lines with the same names around a message of another shape.
    if "systemPayload" in record or (isinstance(message, dict) and "parts" in message):
        return False
    is_message = kind in ("user", "assistant") and isinstance(message, dict)
    return bool(text_of(record.get("sessionId")) and (text_of(record.get("uuid")) or is_message))


def session_at(path: str, modified: int) -> FoundSession:
    session = os.path.basename(path).rpartition(".")[0]
    return found_session("claude", session, path, modified, cwd_of(path))


# What the lines say of spending

# A line without any of these says nothing about spending; `"` in a text is written `\"` there.
TELLING = (b'"usage":', b'"cost-state"', b'"compact_boundary"', b'"isApiErrorMessage":')
_TIME = b'"timestamp":'
# Answers that the client made up itself, such as an error shown as one.
SYNTHETIC = "<synthetic>"
STANDARD = "standard"
PROVIDER = "anthropic"
MOST_QUOTAS = 10
LARGE_WINDOW, LARGE_SUFFIX = 1_000_000, "[1m]"


def glance(line: bytes, state: dict[str, Any], found: Found) -> None:
    """What a line that is not parsed says all the same: that it is one of ours, and its time."""
    if b'"type":' in line:
        found.known += 1
    at = line.find(_TIME)
    if at >= 0:
        stamp = line[at + len(_TIME) : at + len(_TIME) + 28].split(b'"')
        if len(stamp) > 2:
            _seen(stamp[1].decode("ascii", "replace"), state, found)


def parse(record: dict[str, Any], source: Source, state: dict[str, Any], found: Found) -> None:
    """One line. `state` is what a later line needs to know of earlier ones."""
    kind = record.get("type")
    if isinstance(kind, str):
        found.known += 1
    _seen(text_of(record.get("timestamp")), state, found)
    if kind == "assistant":
        _answer(record, source, state, found)
    elif kind == "cost-state":
        report = _cost_state(record, state)
        if report is not None:
            found.reports.append(report)
    elif kind == "system" and record.get("subtype") == "compact_boundary" and not source["agent"]:
        after = table_of(record.get("compactMetadata")).get("postTokens")
        if isinstance(after, int):
            found.context = new_context(
                state.get("at", ""), count(after), state.get("model", ""), provider=PROVIDER
            )


def _seen(at: str, state: dict[str, Any], found: Found) -> None:
    if at > state.get("at", ""):
        state["at"] = at
    if at and not found.started_at:
        found.started_at = at


def _answer(record: dict[str, Any], source: Source, state: dict[str, Any], found: Found) -> None:
    said = table_of(record.get("message"))
    if record.get("isApiErrorMessage"):
        id = text_of(record.get("uuid")) or state.get("at", "")
        found.errors[id] = _first_text(said) or text_of(record.get("error")) or "API error"
        return
    model = text_of(said.get("model"))
    if model == SYNTHETIC:
        return
    at = text_of(record.get("timestamp")) or state.get("at", "")
    id = text_of(said.get("id")) or text_of(record.get("uuid"))
    usage = said.get("usage")
    # A faster answer has a price of its own, which is on no list here: another model, in effect.
    speed = text_of(table_of(usage).get("speed")) or STANDARD
    priced = model if speed == STANDARD else f"{model} ({speed})"
    answer = found.messages[id] = new_message(id, at, priced, provider=PROVIDER)
    if not isinstance(usage, dict):
        return
    hour = count(table_of(usage.get("cache_creation")).get("ephemeral_1h_input_tokens"))
    answer["input"] = count(usage.get("input_tokens"))
    answer["output"] = count(usage.get("output_tokens"))
    answer["cache_read"] = count(usage.get("cache_read_input_tokens"))
    answer["cache_write"] = count(usage.get("cache_creation_input_tokens"))
    answer["cache_write_hour"] = min(hour, answer["cache_write"])
    answer["counted"] = True
    if not source["agent"] and not record.get("isSidechain"):
        state["model"] = model
        tokens = sum(answer[name] for name in ("input", "output", "cache_read", "cache_write"))
        is_large = text_of(record.get("requestedModel")).endswith(LARGE_SUFFIX)
        window = LARGE_WINDOW if is_large else 0
        found.context = new_context(
            state.get("at", ""), tokens, model, provider=PROVIDER, window=window
        )


def _first_text(said: dict[str, Any]) -> str:
    content = said.get("content")
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            return str(block["text"])
    return text_of(content)


def _cost_state(record: dict[str, Any], state: dict[str, Any]) -> Report | None:
    cost = money(record.get("totalCostUSD"))
    if cost is None:
        return None
    models = [table_of(value) for value in table_of(record.get("modelUsage")).values()]
    return {
        "at": state.get("at", ""),
        "cost": cost,
        "has_unknown": bool(record.get("hasUnknownModelCost")),
        "tokens": {
            "input": sum(count(each.get("inputTokens")) for each in models),
            "output": sum(count(each.get("outputTokens")) for each in models),
            "cache_read": sum(count(each.get("cacheReadInputTokens")) for each in models),
            "cache_write": sum(count(each.get("cacheCreationInputTokens")) for each in models),
        },
        "what": "cost-state",
    }


def status_line(payload: dict[str, Any], at: str, found: Found) -> str:
    """What Claude Code gives its status line: its own cost, and the only exact window.

    The account's limits stand there, too. Returns the session's id. The percentage is null before the
    first answer and after a compaction, and says nothing then.
    """
    cost = money(table_of(payload.get("cost")).get("total_cost_usd"))
    if cost is not None:
        found.reports.append(
            {"at": at, "cost": cost, "has_unknown": False, "tokens": {}, "what": "status line"}
        )
    window = table_of(payload.get("context_window"))
    size = count(window.get("context_window_size"))
    if size and window.get("current_usage") is not None:
        tokens = count(window.get("total_input_tokens")) + count(window.get("total_output_tokens"))
        model = text_of(table_of(payload.get("model")).get("id"))
        found.context = new_context(at, tokens, model, provider=PROVIDER, window=size)
    quotas = _quotas(table_of(payload.get("rate_limits")))
    if quotas:
        found.quotas = {"at": at, "quotas": quotas}
    return text_of(payload.get("session_id"))


# What Claude Code calls its subscription's limits, and the minutes of each.
_WINDOWS = {"five_hour": 300, "seven_day": 10_080}


def _quotas(told: dict[str, Any]) -> list[Quota]:
    """The limits of a subscription; a client with an API key tells none."""
    found = []
    for kind, window in told.items():
        percent = money(table_of(window).get("used_percentage"))
        if percent is not None:
            resets = count(table_of(window).get("resets_at")) * 1000
            name = "" if kind in _WINDOWS else _plain(kind)
            found.append(new_quota(_WINDOWS.get(kind, 0), percent, resets, name))
    return found[:MOST_QUOTAS]


def _plain(kind: str) -> str:
    name = kind[:30].removesuffix("_limit").replace("_", " ")
    return name if name.replace(" ", "").isalnum() else ""


_COMMANDS = ("<command-", "<local-command-", "<bash-")


def limit_of(record: dict[str, Any]) -> UsageLimit | bool | None:
    kind = record.get("type")
    said = table_of(record.get("message"))
    if record.get("isSidechain") or kind not in ("user", "assistant"):
        return None
    if kind == "user":
        # `/exit` and its kin leave lines of the person's, which ask the model for nothing.
        is_request = not record.get("isMeta") and not _first_text(said).startswith(_COMMANDS)
        return False if is_request else None
    is_limit = record.get("error") == "rate_limit" or record.get("apiErrorStatus") == 429
    if not record.get("isApiErrorMessage") or not is_limit:
        return False
    resets = count(table_of(record.get("quotaLimits")).get("resetsAt")) * 1000
    says = _first_text(said) or text_of(record.get("error"))
    return new_limit(says, text_of(record.get("timestamp")), resets)
