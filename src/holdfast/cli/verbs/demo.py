"""holdfast demo"""

from __future__ import annotations

from holdfast.cli.frame import Call, Reply
from holdfast.maintenance.demo import tell


def answer(call: Call) -> Reply:
    """Show the main story with real processes in a temporary repository, and remove it afterwards."""
    if call.as_json:
        return Reply({"story": list(tell())})
    return Reply({}, tell())
