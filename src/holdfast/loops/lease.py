"""One run a track: the kernel's lock, which no crash leaves behind."""

from __future__ import annotations

import fcntl
import os

from holdfast.adapters.processes import own
from holdfast.kernel.errors import Conflict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.loops.track import Track


class Lease:
    """Held for as long as a run lasts; a second run is refused."""

    def __init__(self, track: Track) -> None:
        self._track = track.place.track
        self._path = os.path.join(track.place.own, "run")
        self._descriptor = -1

    def __enter__(self) -> None:
        os.makedirs(os.path.dirname(self._path), 0o700, exist_ok=True)
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            text = os.pread(self._descriptor, 200, 0).decode("ascii", "replace")
            os.close(self._descriptor)
            raise Conflict(
                f"The track {self._track} is being run already, by process {text.strip() or '?'}.",
                hint="`holdfast loop show` shows how far it is.",
                kind="running",
            ) from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, str(own()[0]).encode(), 0)

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
