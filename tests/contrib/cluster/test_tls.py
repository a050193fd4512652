"""TLS with real certificates: the right ones are accepted, every other is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.plans.executors import Certificates
from tests.cli.conftest import Holdfast
from tests.contrib.cluster.world import Cluster, Nursery
from tests.plans.world import World, auto

SignedBy = Callable[[str], Certificates]


def flags(certificates: Certificates) -> list[str]:
    names = ("--tls-ca", "--tls-cert", "--tls-key")
    return [word for pair in zip(names, certificates, strict=True) for word in pair]


def test_a_run_over_tls_and_what_is_refused(
    nursery: Nursery, folder: Path, repository: Path, certificates: SignedBy, holdfast: Holdfast
) -> None:
    ours, theirs = certificates("ours"), certificates("theirs")
    cluster = Cluster(nursery, folder, ours)
    cluster.start_worker("one")
    world = World(repository)
    world.plan("1/01", auto(world.note("done")))
    try:
        done = holdfast("plan", "run", "plans", "--on", cluster.address, *flags(ours), "--quiet")
        assert done.code == 0, done.err
        assert world.noted() == ["done"]
        run = ("plan", "run", "plans", "--again", "--json", "--on")
        for stranger in (theirs, Certificates(ours.ca, theirs.cert, theirs.key)):
            refused = holdfast(*run, cluster.address, *flags(stranger))
            assert refused.code == 4, refused.out
        plain = holdfast(*run, cluster.address.replace("tls", "tcp"))
        assert plain.code == 75
        assert world.noted() == ["done"]
    finally:
        world.close()
        cluster.close()


def test_the_settings_of_dask_do_as_well(
    certificates: SignedBy, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dask

    from holdfast.contrib.cluster.link import Link

    ours = certificates("ours")
    settings = {
        "distributed.comm.tls.ca-file": ours.ca,
        "distributed.comm.tls.client.cert": ours.cert,
        "distributed.comm.tls.client.key": ours.key,
    }
    with dask.config.set(settings):
        link = Link("tls://127.0.0.1:9", Certificates())
    assert link._security.tls_client_cert == ours.cert
    assert link._security.require_encryption
    link.close()
