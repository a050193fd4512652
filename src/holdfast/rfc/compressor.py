"""The command that may say the same in fewer lines. What it answers is checked like any answer."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import time

from holdfast.kernel.errors import HoldfastError
from holdfast.rfc.rules.answers import LARGEST_ANSWERS
from holdfast.rfc.rules.words import heading_of, sections_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.rfc.rules.words import Section

# How often we look whether it is done, or says too much.
LOOK_SECONDS = 0.02
LONGEST_COMPLAINT = 300


def question(key: str, sections: Sequence[Section]) -> str:
    """A group as the compressor reads it: each section with its range."""
    lines = [f"## {heading_of(key)}", ""]
    bounds = sections_of(key)
    for section in sections:
        fewest, most = bounds.get(section["title"], (0, None))
        wanted = f"at most {most} bullets" if most is not None else "as few bullets as can be"
        wanted = f"{fewest}-{most} bullets" if fewest and most is not None else wanted
        lines += [f"### {section['title']}", f"<!-- {wanted}, one line each -->"]
        lines += [f"- {bullet}" for bullet in section["bullets"]]
        lines.append("")
    return "\n".join(lines)


def compress(command: str, text: str, *, folder: str, seconds: float) -> str:
    """What the command makes of a text; refused when it fails, hangs or says too much."""
    # Files, not pipes: neither side can wait for the other, and how much it says can be looked at.
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
        given.write(text.encode())
        given.seek(0)
        with tempfile.TemporaryFile() as complaint:
            try:
                process = subprocess.Popen(
                    shlex.split(command),
                    cwd=folder,
                    stdin=given,
                    stdout=said,
                    stderr=complaint,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                raise _failure(f"cannot be run: {error}") from None
            try:
                _await(process, said.fileno(), seconds)
            finally:
                _end(process)
            if process.returncode != 0:
                complaint.seek(0)
                why = " ".join(
                    complaint.read(LONGEST_COMPLAINT * 4).decode(errors="replace").split()
                )
                why = f": {why[:LONGEST_COMPLAINT]}" if why else ""
                raise _failure(f"ended with {process.returncode}{why}")
        said.seek(0)
        try:
            return said.read().decode()
        except UnicodeDecodeError as error:
            raise _failure(f"answered something that is not UTF-8 at byte {error.start}") from None


def _await(process: subprocess.Popen[bytes], output: int, seconds: float) -> None:
    end = time.monotonic() + seconds
    while process.poll() is None:
        if os.fstat(output).st_size > LARGEST_ANSWERS:
            raise _failure(f"answered more than {LARGEST_ANSWERS} bytes")
        if time.monotonic() > end:
            raise _failure(f"took longer than {seconds:.0f} s")
        time.sleep(LOOK_SECONDS)
    if os.fstat(output).st_size > LARGEST_ANSWERS:
        raise _failure(f"answered more than {LARGEST_ANSWERS} bytes")


def _end(process: subprocess.Popen[bytes]) -> None:
    """It and its children, which are in a group of their own."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _failure(what: str) -> HoldfastError:
    return HoldfastError(
        f"The command in rfc.compressor {what}.",
        hint="Nothing was written. Say it in fewer bullets yourself, or correct the setting.",
        kind="compressor",
    )
