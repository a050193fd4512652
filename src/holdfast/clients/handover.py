"""Start a client with a first prompt, for a person to go on from."""

from __future__ import annotations

import os
import shutil

from holdfast.clients.table import CLIENTS, NAMES
from holdfast.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from holdfast.clients.table import ClientName

# Linux takes at most 128 KiB for one argument, with the byte that ends it.
LONGEST_PROMPT = 128 * 1024 - 1


def startable(preferred: str) -> ClientName | Literal[""]:
    """A client whose program is on the PATH: the preferred one, else the first; empty if none is."""
    for name in sorted(NAMES, key=lambda each: each != preferred):
        if shutil.which(CLIENTS[name].start[0]):
            return name
    return ""


def command_for(client: ClientName, prompt: str) -> list[str]:
    """The command line that starts a client interactively, with `prompt` as its first request."""
    # No argument can hold a null byte.
    prompt = prompt.replace("\0", "")
    if client not in CLIENTS:
        raise Usage(f"{client!r:.60} is no client; there are {', '.join(CLIENTS)}.")
    if not prompt.strip():
        raise Usage("There is nothing to start the client with: the prompt is empty.")
    *words, last = CLIENTS[client].start
    command = [*words, f"{last}{prompt}"]
    size = max(len(os.fsencode(word)) for word in command)
    if size > LONGEST_PROMPT:
        raise Usage(
            f"The prompt is {size:,} bytes long; a program takes at most {LONGEST_PROMPT:,}.",
            hint="Ask for a smaller one: --budget 50000",
        )
    return command
