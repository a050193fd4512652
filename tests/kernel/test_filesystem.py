"""Which file systems can keep a journal, by the kernel's own list of mounts."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.filesystem import kind_of, refuse_unsafe, safety

MOUNTS = r"""
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
30 22 0:25 / /home rw,relatime shared:2 - btrfs /dev/vdb1 rw
41 22 0:40 / /srv/team rw,relatime shared:9 - nfs4 server:/team rw,vers=4.2
42 41 254:2 / /srv/team/scratch rw - ext4 /dev/vdc1 rw
50 22 0:50 / /mnt/c rw,noatime - 9p C:\134 rw,aname=drvfs
51 22 0:51 / /mnt/share rw - cifs //server/share rw
52 22 0:52 / /workspaces rw - virtiofs shared rw
53 22 0:53 / /media/My\040Disk\134old rw - exfat /dev/sdb1 rw
54 22 0:54 / /remote rw - fuse.sshfs ada@host:/ rw
60 22 0:60 / /over rw - nfs4 server:/old rw
61 22 0:61 / /over rw - tmpfs tmpfs rw
a line that is no mount
"""


@pytest.mark.parametrize(
    ("folder", "kind", "verdict"),
    [
        ("/", "ext4", "safe"),
        ("/etc/project", "ext4", "safe"),
        ("/home", "btrfs", "safe"),
        ("/home/ada/project", "btrfs", "safe"),
        ("/homes/ada", "ext4", "safe"),
        ("/srv/team/project", "nfs4", "unsafe"),
        ("/srv/team/scratch/project", "ext4", "safe"),
        ("/mnt/c/Users/ada", "9p", "unsafe"),
        ("/mnt/share", "cifs", "unsafe"),
        ("/workspaces/project", "virtiofs", "doubtful"),
        ("/media/My Disk\\old/project", "exfat", "safe"),
        ("/remote/project", "fuse.sshfs", "unsafe"),
        ("/over/project", "tmpfs", "safe"),
    ],
)
def test_the_nearest_mount_decides(folder: str, kind: str, verdict: str) -> None:
    assert kind_of(folder, MOUNTS) == kind
    assert safety(kind) == verdict


def test_without_a_list_the_kind_is_unknown_and_taken_for_safe() -> None:
    assert kind_of("/home", "") == "unknown"
    assert safety("unknown") == "safe"


def test_a_folder_shared_between_machines_is_refused_with_a_way_out() -> None:
    with pytest.raises(HoldfastError, match="nfs4") as refused:
        refuse_unsafe("/srv/team/project", MOUNTS)

    assert refused.value.kind == "unsafe_filesystem"
    assert "HOLDFAST_HOME" in refused.value.hint


def test_a_local_or_doubtful_folder_is_not_refused() -> None:
    refuse_unsafe("/home/ada", MOUNTS)
    refuse_unsafe("/workspaces/project", MOUNTS)


def test_a_link_is_followed_to_where_the_folder_is(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / "link").symlink_to(target)
    mounts = f"1 0 0:1 / / rw - ext4 a rw\n2 1 0:2 / {target.resolve()} rw - nfs b rw"

    assert kind_of(str(tmp_path / "link"), mounts) == "nfs"


def test_this_machines_own_list_is_read(tmp_path: Path) -> None:
    assert kind_of(str(tmp_path)) != ""
