"""Before a tool is used: what only a person may do, and what a waiting alert forbids.

This runs before every single tool that the launcher does not let pass by itself.
"""

from __future__ import annotations

import os

from holdfast.clients.events import PERSONS_COMMANDS
from holdfast.hooks.activity import (
    EVERY_WHEN_HELD,
    find_hold,
    follow_spending,
    look,
    tell,
    tell_edits,
)
from holdfast.people.removed_stops import restore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.clients.events import Client, HookEvent, HookOutcome
    from holdfast.kernel.workspace import Workspace

# `PERSONS_COMMANDS` as tools of a server.
_PERSONS_TOOLS = ("gate_answer", "guard_ack", "guard_reset", "release")
# What ends a word in any shell.
_WITHOUT_QUOTES = str.maketrans(
    dict.fromkeys(";&|()<>{}`$\n\r\t,[]", " ") | dict.fromkeys("\"'\\", "")
)
_BETWEEN_WORDS = {**_WITHOUT_QUOTES, ord('"'): " ", ord("'"): " "}
_PROGRAM = "holdfast"
# What an agent still needs while it is held: to keep its work, and to see why.
_WAYS_OUT = (("checkpoint",), ("status",), ("guard", "check"), ("gate", "list"), ("gate", "show"))
_TOOLS_OUT = ("checkpoint", "gate_status", "guard")
# A claim's probe is any command at all.
_NOT_ON_THE_WAY = ("--claim", "--require-verified")
# Programs that run what they are given: their words are commands, in quotes or not.
_CARRIERS = frozenset(
    str.split(
        "sh bash dash zsh ksh fish busybox eval source . trap env sudo doas su runuser "
        "command builtin exec nohup time timeout nice ionice setsid stdbuf script "
        "unbuffer expect watch xargs parallel find ssh tmux screen at batch alias "
        "coproc uv uvx pipx poetry hatch pdm perl ruby node awk for"
    )
)
# Tools that change nothing.
_ONLY_LOOK = frozenset(
    str.split(
        "Read Grep Glob LS read grep glob list view read_file read_many_files search_file_content"
    )
)
_CARRIERS_BY_NAME = ("python", "pypy")


def before(event: HookEvent, client: Client, workspace: Workspace, now: int) -> HookOutcome:
    """Let it be used, or say why not."""
    wanted = persons_alone(event)
    if wanted:
        return {
            "deny": f"Only a person may run `holdfast {wanted}`, in a terminal of their own. "
            "Tell them what you need, and go on with what you can."
        }
    why = find_hold(workspace, event.session)
    if not why:
        # The files of a stop or an alert may have been removed: the records know.
        restore(workspace, now=now)
        why = find_hold(workspace, event.session)
    if why or event.looks_after:
        look(event.session, workspace, now, every=EVERY_WHEN_HELD if why else event.looks_after)
        why = find_hold(workspace, event.session)
    if not why and not event.is_deferred:
        follow_spending(event.session, workspace, now)
        why = find_hold(workspace, event.session)
    if why and not is_way_out(event):
        return {"deny": why}
    if event.asks:
        from holdfast.hooks.handlers import wait_for_person

        wait_for_person(event, client, workspace, now)
    if event.tool not in _ONLY_LOOK and not event.is_deferred:
        tell("changes", workspace)
    if event.paths and os.path.isdir(os.path.join(workspace.private, "shared")):
        from holdfast.hooks.shared_worktree import before_edit

        outcome = before_edit(event, workspace, now)
        if outcome:
            return outcome
    # Not every client lets a hook say something before a tool.
    if event.paths and event.session and client.answer(event, {"context": "?"}):
        said = tell_edits(workspace, event.session, event.folder, event.paths)
        return {"context": said} if said else {}
    return {}


def persons_alone(event: HookEvent) -> str:
    """The person's command that a tool would run, or nothing."""
    for name in _PERSONS_TOOLS:
        if _is_our_tool(event.tool, name):
            return name.replace("_", " ")
    # Twice: `sh -c "holdfast ..."` runs what its quotes hold, and `hold""fast` is one word.
    for between in (_BETWEEN_WORDS, _WITHOUT_QUOTES):
        found = _persons_words(event.command.translate(between).split())
        if found:
            return "" if _only_speaks_of_it(event.command) else found
    return ""


def _only_speaks_of_it(command: str) -> bool:
    """Whether a person's words stand in a command, but run nothing: in a message, or to be searched
    for. Where that is not clear, they run."""
    from holdfast.hooks.shell_words import ShellLine

    line = ShellLine(command)
    if not line.is_clear:
        return False
    for words in line.commands:
        program = words[0].rpartition("/")[2]
        is_carried = program.startswith(_CARRIERS_BY_NAME) or program in _CARRIERS
        if is_carried or ">" in words[0]:  # a command may follow where its output goes
            return False
        found = _persons_words(words) if program == _PROGRAM else ""
        if found and words[1:] != [*found.split(), "--help"]:
            return False
    return True


def _persons_words(words: list[str]) -> str:
    for position, word in enumerate(words):
        if word.rpartition("/")[2] != _PROGRAM:
            continue
        after = [each for each in words[position + 1 : position + 12] if each[:1] != "-"]
        for wanted in PERSONS_COMMANDS:
            # An option's value may stand between: `holdfast gate -C folder answer`.
            if after[:1] == [wanted[0]] and set(wanted[1:]) <= set(after[1:4]):
                return " ".join(wanted)
    return ""


def is_way_out(event: HookEvent) -> bool:
    """Whether a tool only keeps the agent's work, or looks: exactly one plain command of ours."""
    if any(_is_our_tool(event.tool, name) for name in _TOOLS_OUT):
        return True
    from holdfast.hooks.shell_words import ShellLine

    line = ShellLine(event.command.strip())
    if not line.is_plain:
        return False
    (words,) = line.commands
    if words[0] != _PROGRAM or any(word.startswith(_NOT_ON_THE_WAY) for word in words):
        return False
    return any(tuple(words[1 : 1 + len(way)]) == way for way in _WAYS_OUT)


def _is_our_tool(tool: str, name: str) -> bool:
    """`mcp__holdfast__checkpoint`, a plugin's `mcp__plugin_holdfast_holdfast__checkpoint`, Gemini's
    `mcp_holdfast_checkpoint`, opencode's `holdfast_checkpoint`."""
    return tool.endswith((f"{_PROGRAM}__{name}", f"{_PROGRAM}_{name}"))
