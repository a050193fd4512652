"""Which file systems can keep a journal. WAL needs shared memory between all who use the file."""

from __future__ import annotations

import os
import sys
from typing import Literal

from holdfast.kernel.errors import HoldfastError

Safety = Literal["safe", "doubtful", "unsafe"]

# Shared between machines: two kernels would each have their own index of one WAL.
UNSAFE = frozenset(
    [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "smb2",
        "afpfs",
        "webdav",
        "9p",
        "drvfs",
        "ceph",
        "glusterfs",
        "lustre",
        "beegfs",
    ]
) | {"fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.glusterfs", "ncpfs", "afs"}
# Shared with a host or a virtual machine: safe while only one side uses it.
DOUBTFUL = frozenset(
    ["virtiofs", "vboxsf", "prl_fs", "fakeowner", "osxfs", "grpcfuse", "fuse.grpcfuse", "vmhgfs"]
) | {"fuse.vmhgfs-fuse"}


def kind_of(folder: str, mountinfo: str | None = None) -> str:
    """The type of the file system that a folder is on, `unknown` where the system does not say."""
    if mountinfo is None:
        if not sys.platform.startswith("linux"):
            return _from_mount_command(folder)
        try:
            with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
                mountinfo = file.read()
        except OSError:
            return "unknown"
    real = os.path.realpath(folder)
    best, kind = "", "unknown"
    for line in mountinfo.splitlines():
        before, separator, after = line.partition(" - ")
        fields = before.split()
        if not separator or len(fields) < 5:
            continue
        point = fields[4].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        # Of two mounts on one point the later one is on top.
        if inside and len(point) >= len(best):
            best, kind = point, after.split()[0]
    return kind


def _from_mount_command(folder: str) -> str:
    import re
    import subprocess

    listing = subprocess.run(["mount"], capture_output=True, text=True, check=False).stdout
    best, kind = "", "unknown"
    for point, what in re.findall(r" on (.+?) \((\w+)", listing):
        real = os.path.realpath(folder)
        if (real == point or real.startswith(point.rstrip("/") + "/")) and len(point) >= len(best):
            best, kind = point, what
    return kind


def safety(kind: str) -> Safety:
    if kind in UNSAFE:
        return "unsafe"
    return "doubtful" if kind in DOUBTFUL else "safe"


def refuse_unsafe(folder: str, mountinfo: str | None = None) -> None:
    kind = kind_of(folder, mountinfo)
    if safety(kind) == "unsafe":
        raise HoldfastError(
            f"{folder} is on a file system shared between machines ({kind}); "
            "a journal there would lose records.",
            hint="Set HOLDFAST_HOME to a folder on a local disk.",
            kind="unsafe_filesystem",
        )
