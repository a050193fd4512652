"""A program's output: redacted, in a file of its owner alone, its beginning and its end kept."""

from __future__ import annotations

import os
from collections import deque

from holdfast.kernel.plain_file import write_all
from holdfast.kernel.redact import Redactor

LONGEST_LINE = 64 * 1024
# So much of the beginning, and so much of the end, of whatever a program says.
HEAD_BYTES = 1_000_000
TAIL_BYTES = 1_000_000
# A private key is redacted as a whole, so its lines are held back until its end.
_KEY_BEGIN, _KEY_END, _KEY_LINES = b"-----BEGIN", b"-----END", 200
LONGEST_LAST = 500


class Log:
    """The output of one program."""

    def __init__(
        self, path: str, redactor: Redactor, *, head: int = HEAD_BYTES, tail: int = TAIL_BYTES
    ) -> None:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(path, flags, 0o600)
        self._redactor = redactor
        self._pending = b""
        self._room = head
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._tail_most = tail
        self._left_out = 0
        self._last = b""

    @property
    def last_line(self) -> str:
        """What was said last, on one line."""
        text = self._redactor.text(self._last.decode("utf-8", "replace")).strip()
        return text.splitlines()[-1][:LONGEST_LAST] if text else ""

    def take(self, chunk: bytes) -> None:
        if self._room <= 0 and len(chunk) > LONGEST_LINE // 2:
            self._keep(self._pending + chunk)  # a flood: only its end will be looked at
            self._pending = b""
            return
        self._pending += chunk
        while True:
            end = self._end_of_block()
            if end < 0:
                return
            block, self._pending = self._pending[:end], self._pending[end:]
            self._put(block)

    def _end_of_block(self) -> int:
        """Where the next block ends: a line, a whole private key, or what no line should be."""
        end = self._pending.find(b"\n") + 1
        if end and _KEY_BEGIN in self._pending[:end]:
            close = self._pending.find(_KEY_END)
            if close >= 0:
                return self._pending.find(b"\n", close) + 1 or -1
            return -1 if self._pending.count(b"\n") < _KEY_LINES else end
        return end or (LONGEST_LINE if len(self._pending) > LONGEST_LINE else -1)

    def _put(self, block: bytes) -> None:
        if block.strip():
            self._last = block
        if self._room <= 0:
            self._keep(block)
            return
        content = self._clean(block)
        self._room -= len(content)
        self._write(content)

    def _keep(self, block: bytes) -> None:
        """Behind the beginning: held as it is, and redacted when it turns out to be the end."""
        if block.strip():
            self._last = block[-LONGEST_LINE:]
        self._tail.append(block)
        self._tail_size += len(block)
        while self._tail_size - len(self._tail[0]) >= self._tail_most:
            gone = self._tail.popleft()
            self._tail_size -= len(gone)
            self._left_out += len(gone)

    def _clean(self, block: bytes) -> bytes:
        return self._redactor.text(block.decode("utf-8", "replace")).encode()

    def _write(self, content: bytes) -> None:
        try:
            write_all(self._descriptor, content)
        except OSError:
            pass  # a full disk must not end the work; the record that follows will say so

    def close(self) -> None:
        if self._pending:
            self._put(self._pending)
            self._pending = b""
        if self._tail:
            end = b"".join(self._tail)
            start = _whole(end, max(0, len(end) - self._tail_most)) if self._left_out else 0
            left_out = self._left_out + start
            if left_out:
                self._write(f"\n[{left_out} bytes of output are left out here]\n".encode())
            self._write(self._clean(end[start:]))
            self._tail.clear()
        os.close(self._descriptor)


def _whole(end: bytes, cut: int) -> int:
    """Where the kept end begins: with a line, and not inside a private key. Half a secret would not be
    known for one."""
    start = end.find(b"\n", cut) + 1 or cut
    close = end.find(_KEY_END, start)
    if close >= 0 and _KEY_BEGIN not in end[start:close]:
        start = end.find(b"\n", close) + 1 or len(end)
    return start
