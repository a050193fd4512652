"""Start a client with a first prompt, for a person to go on from.

Checked with Claude Code 2.1.325, Codex 0.166.0, Gemini CLI 0.61.0 and opencode 1.18.33.
"""

from __future__ import annotations

import os

from holdfast.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.clients.discovery import ClientName

# Linux takes at most 128 KiB for one argument, with the byte that ends it.
LONGEST_PROMPT = 128 * 1024 - 1


def command_for(client: ClientName, prompt: str) -> list[str]:
    """The command line that starts a client interactively, with `prompt` as its first request."""
    # No argument can hold a null byte.
    prompt = prompt.replace("\0", "")
    commands: dict[str, list[str]] = {
        # Behind `--` a prompt that begins with a dash is no option.
        "claude": ["claude", "--", prompt],
        "codex": ["codex", "--", prompt],
        "gemini": ["gemini", f"--prompt-interactive={prompt}"],
        "opencode": ["opencode", f"--prompt={prompt}"],
    }
    if client not in commands:
        raise Usage(f"{client!r:.60} is no client; there are {', '.join(commands)}.")
    if not prompt.strip():
        raise Usage("There is nothing to start the client with: the prompt is empty.")
    command = commands[client]
    size = max(len(os.fsencode(word)) for word in command)
    if size > LONGEST_PROMPT:
        raise Usage(
            f"The prompt is {size:,} bytes long; a program takes at most {LONGEST_PROMPT:,}.",
            hint="Ask for a smaller one: --budget 50000",
        )
    return command
