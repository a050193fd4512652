"""holdfast demo"""

from __future__ import annotations

from holdfast.cli.frame import Call, Reply
from holdfast.maintenance.demo import tell


def answer(call: Call) -> Reply:
    """Play the main story with real processes in a temporary repository, which is then removed."""
    if call.as_json:
        return Reply({"story": list(tell())})
    return Reply({}, tell())
