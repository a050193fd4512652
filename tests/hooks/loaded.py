"""Which modules a process has loaded."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence


def loaded_by_script(
    interpreter: Sequence[str], script: str, *words: str, payload: bytes = b""
) -> set[str]:
    """What a script printed: the names of modules. It runs from a file, since `python -c` itself
    loads linecache and more from Python 3.13 on."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(script)
        file.flush()
        command = [*interpreter, file.name, *words]
        done = subprocess.run(command, input=payload, capture_output=True, check=True)
    return set(done.stdout.decode().split())


def loaded_by_entry(command: Sequence[str], payload: bytes) -> set[str]:
    """The modules that a hook had loaded when it ended; the command is the hook's."""
    python, isolated, no_site, entry, libraries, *words = command
    script = (
        "import os, sys; leave = os._exit; out = os.dup(1); os.dup2(2, 1)\n"
        "os._exit = lambda code: (os.write(out, (' '.join(sys.modules) + ' ').encode()), leave(code))\n"
        f"sys.argv = [{entry!r}, {libraries!r}, *{words!r}]\n"
        f"exec(compile(open({entry!r}).read(), {entry!r}, 'exec'), {{'__file__': {entry!r}}})\n"
    )
    return loaded_by_script([python, isolated, no_site], script, payload=payload)
