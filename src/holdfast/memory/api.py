"""Past sessions for programs: `workspace.find("why did we drop the retry")`."""

from __future__ import annotations

from holdfast.memory.find import Finding, FindRequest
from holdfast.memory.find import find as find_sessions
from holdfast.memory.why import Reasons, split_place
from holdfast.memory.why import why as find_writers
from holdfast.offers import Offers


def find(opened: Offers, question: str, *, file: str = "", limit: int = 10) -> Finding:
    """Return the past sessions of this repository that a question is about, best first."""
    request = FindRequest(question, opened.place.root, file=file, is_here=True, limit=limit)
    return find_sessions(request)


def why(opened: Offers, place: str) -> Reasons:
    """Return the sessions that wrote a file, or a line of it: `PATH`, or `PATH:LINE`."""
    return find_writers(split_place(place, opened.place.root))
