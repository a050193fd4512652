"""A hook in the test's own process: from the bytes on its standard input to what it would print."""

from __future__ import annotations

import os
import tempfile

import pytest

from holdfast.hooks.run import respond
from holdfast.processes import relaunch


def respond_to_bytes(client: str, event: str, content: bytes) -> dict[str, object]:
    """The answer of a client's hook. It leaves no process behind. A session's end forks, and is
    therefore not for this."""
    before = os.dup(0)
    with tempfile.TemporaryFile() as file, pytest.MonkeyPatch.context() as patches:
        patches.setattr(relaunch, "leave", lambda *_: True)
        file.write(content)
        file.seek(0)
        try:
            os.dup2(file.fileno(), 0)
            answer = respond([client, event])
        finally:
            os.dup2(before, 0)
            os.close(before)
    assert isinstance(answer, dict)
    return answer
