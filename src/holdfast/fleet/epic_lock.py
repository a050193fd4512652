"""The lock of an epic's shared file, which scripts take as well: a JSON file with an expiry."""

from __future__ import annotations

import os
import time

from holdfast.fleet.rules.model import LOCK_EXPIRES
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import StoreAway
from holdfast.kernel.plain_file import write_synced
from holdfast.kernel.views.exchange import place_new
from holdfast.kernel.views.files import Unreadable, identity_of, read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# After so many seconds the lock is read again: a shell may have written over it.
SETTLE_SECONDS = 0.1


class EpicLock:
    """A context manager. The file names its holder for the other agents."""

    def __init__(
        self,
        folder: str,
        name: str,
        holder: str,
        session: str,
        operation: str,
        now: int,
        patience: float,
    ) -> None:
        self._folder = folder
        self._name = name
        self._path = os.path.join(folder, name)
        self._now = now
        self._patience = patience
        fields = {
            "holder": holder,
            "holder_id": session,
            "acquired_at": clock.stamp(now),
            "operation": operation,
            "expires_at": clock.stamp(now + LOCK_EXPIRES),
            "auto_release": True,
        }
        lines = [f'  "{name}": {canonical_json.dumps(value)}' for name, value in fields.items()]
        self._content = ("{\n" + ",\n".join(lines) + "\n}\n").encode()
        self._identity = ""

    def __enter__(self) -> None:
        os.makedirs(self._folder, exist_ok=True)
        deadline = time.monotonic() + self._patience
        while not self._try():
            held = self._look()
            if held is None:
                continue
            if time.monotonic() >= deadline:
                raise self._refusal(held)
            time.sleep(SETTLE_SECONDS)

    def __exit__(self, *_: object) -> None:
        self._remove(self._identity)

    def _try(self) -> bool:
        """Whether it is ours now. The file is never seen without its content."""
        unborn = f"{self._path}.{new_id()[:8]}"
        write_synced(unborn, self._content, 0o644)
        identity = identity_of(unborn) or ""
        try:
            place_new(unborn, self._path)
        except FileExistsError:
            os.unlink(unborn)
            return False
        time.sleep(SETTLE_SECONDS)
        if self._read() != (identity, self._content):
            return False
        self._identity = identity
        return True

    def _look(self) -> dict[str, Any] | None:
        """The fields of a lock that is held; None when it is free, has expired, or is not readable. An
        unreadable lock is read twice, because a shell empties a file before it writes."""
        for _ in range(2):
            found = self._read()
            if found is None:
                return None
            identity, content = found
            held = _fields_of(content)
            if held is not None:
                if clock.parse(held["expires_at"]) >= self._now:
                    return held
                break
            time.sleep(SETTLE_SECONDS)
        self._remove(identity)
        return None

    def _read(self) -> tuple[str, bytes] | None:
        try:
            return read_file(self._path)
        except FileNotFoundError:
            return None
        except Unreadable:
            return identity_of(self._path) or "", b""

    def _remove(self, identity: str) -> None:
        """Remove the lock that was read, and not another one that replaced it meanwhile."""
        moved = f"{self._path}.{new_id()[:8]}"
        try:
            os.rename(self._path, moved)
        except FileNotFoundError:
            return
        if identity_of(moved) != identity:
            try:
                place_new(moved, self._path)
            except FileExistsError:
                os.unlink(moved)
            return
        os.unlink(moved)

    def _refusal(self, held: dict[str, Any]) -> StoreAway:
        seconds = (clock.parse(held["expires_at"]) - self._now) // 1000
        since = held.get("acquired_at", "")
        operation = f" ({held['operation']})" if held.get("operation") else ""
        return StoreAway(
            f"{self._name.removesuffix('.lock')} is locked by {held.get('holder') or 'another process'}"
            f"{operation} since {since or 'an unknown time'}; the lock expires in {seconds} s.",
            hint=f"Wait, or remove {self._path} when its holder is gone.",
            kind="epic_locked",
        )


def _fields_of(content: bytes) -> dict[str, Any] | None:
    try:
        fields = dict(canonical_json.loads(content.decode()))
        fields["expires_at"] = fields["expires_at"].replace("+00:00", "Z")
        clock.parse(fields["expires_at"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return fields
