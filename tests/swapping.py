"""A program that swaps a folder of a work tree for a link again and again, as an attacker would."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

_HERE, _EXCHANGE = -100, 2


class Swapper:
    """`with Swapper(folder, aim)`: meanwhile the folder is itself or a link to `aim`, by turns. It begins once
    `when` says so."""

    def __init__(
        self, folder: Path, aim: Path, link: Path | None = None, when: Callable[[], bool] = bool
    ) -> None:
        self._folder = folder
        self._link = link or folder.with_name(f"{folder.name}-link")
        self._link.symlink_to(aim)
        self._when = when
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._swap)
        self._call = ctypes.CDLL(None, use_errno=True).renameat2
        self.swaps = 0

    def _swap(self) -> None:
        names = str(self._folder).encode(), str(self._link).encode()
        while not self._over.is_set():
            if self._when is not bool and not self.swaps and not self._when():
                continue
            if self._call(_HERE, names[0], _HERE, names[1], _EXCHANGE) == 0:
                self.swaps += 1

    def __enter__(self) -> Swapper:
        self._thread.start()
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        for path in (self._folder, self._link):
            if path.is_symlink():
                path.unlink()
