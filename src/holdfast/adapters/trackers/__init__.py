"""Issue trackers behind one port: `tracker_for(issue, ...)` chooses, `upsert` does the rest."""

from __future__ import annotations

from holdfast.adapters.trackers.choose import check_issue, tracker_for
from holdfast.adapters.trackers.port import TrackerError

__all__ = ["TrackerError", "check_issue", "tracker_for"]
