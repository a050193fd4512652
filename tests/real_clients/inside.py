"""Runs one client in a network of its own: `unshare --net python -m tests.real_clients.inside`.

A job comes in as JSON (what to run, where, what the model says, what a person types) and what
happened goes out as JSON. There is only a loopback interface, so the client can reach the stub and
nobody else.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
from typing import Any

from tests.real_clients.stub import Stub

IFF_UP, SIOCSIFFLAGS = 1, 0x8914
ROWS, COLUMNS = 50, 160
# How long a client may need to write down what it was told. It is killed as soon as it did.
WRITTEN_DOWN = 50.0
# How long a person waits until a key is pressed once more.
PRESSED_AGAIN = 5.0
# What comes in one burst is taken for a paste: a person's keys come after each other, and after the
# screen has shown the one before and stands still. A spinner never does.
BETWEEN_KEYS = 0.3
SHOWN_WITHIN = 5.0
STILL_WITHIN = 2.0
LARGEST_TRANSCRIPT = 20_000_000
ESCAPES = re.compile(r"\x1b(\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][A-Z0-9]|.)")


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def headless(job: dict[str, Any], stub: Stub | None) -> dict[str, Any]:
    """As a script runs it: nothing to read, no person there. With `killed_at`, the client is killed after
    the model was asked so often, and each text of `written` stands in a file of the client's home."""
    process = subprocess.Popen(
        job["command"],
        cwd=job["folder"],
        env=job["environment"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    if "killed_at" in job and stub is not None:
        ends = time.monotonic() + job["patience"]
        while stub.asked() < job["killed_at"] and time.monotonic() < ends:
            time.sleep(0.05)
        ends = time.monotonic() + WRITTEN_DOWN
        home, missing = job["environment"]["HOME"], list(job["written"])
        while missing and time.monotonic() < ends:
            missing = [text for text in missing if not _is_written(home, text.encode())]
            time.sleep(0.2)
        os.killpg(process.pid, signal.SIGKILL)
    try:
        out, err = process.communicate(timeout=job["patience"])
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        err += f"\nkilled after {job['patience']} s"
    return {"code": process.returncode, "out": out, "err": err}


def _is_written(folder: str, text: bytes) -> bool:
    """Whether a file in the folder holds the text: a transcript, or a client's database. Ours do not count."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if "holdfast" not in name]
        for name in names:
            path = os.path.join(place, name)
            try:
                if os.path.getsize(path) < LARGEST_TRANSCRIPT and not os.path.islink(path):
                    with open(path, "rb") as file:
                        if text in file.read():
                            return True
            except OSError:  # it went away meanwhile
                continue
    return False


def interactive(job: dict[str, Any], stub: Stub) -> dict[str, Any]:
    """As a person runs it: each step waits for words on the screen, or for the model to have been
    asked so often, or runs something beside it, and then types. Words count that came since something was
    typed; with `anew`, since the step before has come. A step's `again` is typed every few
    seconds until it has come: a key pressed while the client draws its prompt is lost. So is the last
    key of a step that typed, until the next has come."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    process = subprocess.Popen(
        ["setsid", "--ctty", *job["command"]],
        cwd=job["folder"],
        env=job["environment"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    ends = time.monotonic() + job["patience"]
    shown, failed, since, last_key = "", "", 0, ""
    times: list[dict[str, float]] = []
    for step in job["steps"]:
        if step.get("anew"):
            since = len(shown)
        if "run" in step:
            shown += _beside(step["run"], job, master)
        pressed = time.monotonic()
        again = step.get("again", last_key)
        while not _has_come(step, shown[since:], stub):
            shown += _read(master)
            if again and time.monotonic() > pressed + PRESSED_AGAIN:
                os.write(master, again.encode())
                pressed = time.monotonic()
            if time.monotonic() > ends or process.poll() is not None:
                failed = f"never saw {step}"
                break
        if failed:
            break
        times.append({"seen": time.monotonic()})
        for words in step["type"]:
            shown += _read_until_still(master)
            time.sleep(BETWEEN_KEYS)
            since = len(shown)  # what stood there before is no answer to what is typed
            os.write(master, words.encode())
            shown += _read_until_shown(master, words)
        last_key = _last_key(step["type"]) if step["type"] else last_key
        times[-1]["typed"] = time.monotonic()
    pressed = time.monotonic()
    while not failed and process.poll() is None and time.monotonic() < ends:
        shown += _read(master)
        if last_key and time.monotonic() > pressed + PRESSED_AGAIN:
            os.write(master, last_key.encode())
            pressed = time.monotonic()
    if process.poll() is None:
        failed = failed or "it did not end"
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    os.close(master)
    return {"code": process.returncode, "out": shown, "err": failed, "times": times}


def serving(job: dict[str, Any], stub: Stub) -> dict[str, Any]:
    """A client that is a server: it runs for as long as somebody talks with it."""
    server = subprocess.Popen(
        job["command"],
        cwd=job["folder"],
        env=job["environment"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        talk = {**job, "command": job["talk"]}
        return headless(talk, stub)
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        try:
            server.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.communicate()


def _beside(aside: dict[str, Any], job: dict[str, Any], master: int) -> str:
    """Run a command, and read the screen meanwhile: a client whose screen is not read stands still."""
    shown = ""
    with tempfile.TemporaryFile("w+") as given:
        given.write(aside.get("input", ""))
        given.seek(0)
        process = subprocess.Popen(
            aside["command"],
            cwd=job["folder"],
            env=job["environment"],
            stdin=given,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while process.poll() is None:
            shown += _read(master)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, aside["command"])
    return shown


def _has_come(step: dict[str, Any], shown: str, stub: Stub) -> bool:
    if "asked" in step:
        return stub.asked() >= int(step["asked"])
    if "sees" not in step:
        return True
    # An interface that moves its cursor shows words without the blanks between them.
    return str(step["sees"]).replace(" ", "") in shown.replace(" ", "")


def _last_key(typed: list[str]) -> str:
    """The key that is pressed again when nothing happens: what ends a line, or an interrupt. An answer to a
    prompt is not: `again` says where it may be given twice."""
    return typed[-1] if typed[-1] == "\x03" or (typed[-1] == "\r" and len(typed) > 1) else ""


def _read_until_still(master: int) -> str:
    """What the client still draws."""
    shown = ""
    ends = time.monotonic() + STILL_WITHIN
    while time.monotonic() < ends and (more := _read(master)):
        shown += more
    return shown


def _read_until_shown(master: int, words: str) -> str:
    """What the client draws until the words that were typed stand on the screen; keys show nothing."""
    shown = ""
    ends = time.monotonic() + SHOWN_WITHIN
    while words.isprintable() and len(words) > 1 and time.monotonic() < ends:
        shown += _read(master)
        if words.replace(" ", "")[-4:] in shown.replace(" ", ""):
            break
    return shown


def _read(master: int) -> str:
    ready, _, _ = select.select([master], [], [], 0.1)
    if not ready:
        return ""
    try:
        return ESCAPES.sub("", os.read(master, 1 << 16).decode(errors="replace"))
    except OSError:  # nobody holds the other end any more
        return ""


def spoil(folder: str, how: str) -> None:
    """Let nobody write into a folder, for as long as this network lives; its content stays."""
    if how == "read-only":
        _mount("--bind", folder, folder)
        _mount("-o", "remount,bind,ro", folder)
        return
    with tempfile.TemporaryDirectory() as aside:
        shutil.copytree(folder, aside, dirs_exist_ok=True)
        _mount("-t", "tmpfs", "-o", "size=64k", "none", folder)
        shutil.copytree(aside, folder, dirs_exist_ok=True)
    try:
        with open(os.path.join(folder, "full"), "wb", buffering=0) as file:
            while True:
                file.write(b"x" * 512)
    except OSError:
        return


def manage(settings: Any) -> None:
    """Let Claude Code find these settings of an organization, in this network's own view of /etc."""
    aside = tempfile.mkdtemp()
    shutil.copytree("/etc", aside, symlinks=True, dirs_exist_ok=True, ignore=_unreadable)
    os.makedirs(os.path.join(aside, "claude-code"), exist_ok=True)
    with open(os.path.join(aside, "claude-code", "managed-settings.json"), "w") as file:
        json.dump(settings, file)
    _mount("--bind", aside, "/etc")


def _unreadable(folder: str, names: list[str]) -> list[str]:
    paths = {name: os.path.join(folder, name) for name in names}
    return [
        n for n, path in paths.items() if not (os.path.islink(path) or os.access(path, os.R_OK))
    ]


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def main() -> None:
    job = json.load(sys.stdin)
    raise_loopback()
    if "spoiled" in job:
        spoil(**job["spoiled"])
    if "managed" in job:
        manage(job["managed"])
    with Stub(job["script"]) as stub:
        stub.start()
        if "steps" in job:
            done = interactive(job, stub)
        else:
            done = serving(job, stub) if "talk" in job else headless(job, stub)
        print(json.dumps({**done, "requests": stub.requests}))


if __name__ == "__main__":
    main()
