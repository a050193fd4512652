"""Clusters for tests: real schedulers and workers, on this machine's loopback."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.plans.executors import Certificates
from tests.contrib.cluster.world import Cluster, ClusterWorld, Nursery
from tests.journal.postgres import conftest as postgres
from tests.journal.postgres.test_tls import authority, issue
from tests.plans import conftest as plans

holdfast = plans.holdfast
url = postgres.url
workspace_name = postgres.workspace_name
on_server = postgres.on_server


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short: below it are sockets and work trees."""
    with tempfile.TemporaryDirectory(prefix="holdfast-cluster-", ignore_cleanup_errors=True) as one:
        yield Path(one)


@pytest.fixture
def cluster(nursery: Nursery, folder: Path) -> Iterator[Cluster]:
    """A scheduler without workers."""
    made = Cluster(nursery, folder)
    yield made
    made.close()


@pytest.fixture
def world(repository: Path, cluster: Cluster) -> Iterator[ClusterWorld]:
    """A repository, and a cluster with two workers that see its disk."""
    for name in ("one", "two"):
        cluster.start_worker(name)
    made = ClusterWorld(repository, cluster)
    made.wait_for_workers(2)
    yield made
    made.close()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Certificates]:
    """Who is signed by an authority of that name; made once."""
    if shutil.which("openssl") is None:
        pytest.skip("There is no openssl: a cluster over TLS was NOT tried.")
    folder = tmp_path_factory.mktemp("tls")
    for signer in ("ours", "theirs"):
        authority(folder, signer)
        issue(folder, f"{signer}-node", signer, "IP:127.0.0.1")

    def signed_by(signer: str) -> Certificates:
        files = (f"{signer}.crt", f"{signer}-node.crt", f"{signer}-node.key")
        return Certificates(*(str(folder / name) for name in files))

    return signed_by
