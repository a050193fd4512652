"""holdfast serve"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply, print_json, warn
from holdfast.cli.parser import verb
from holdfast.cli.terminal import plural, safe
from holdfast.kernel.errors import HoldfastError, NotFound
from holdfast.kernel.workspace import discover
from holdfast.maintenance import registry
from holdfast.processes.distribution import install_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace
    from holdfast.web.urls import Address


@click.command()
@click.option(
    "--workspace",
    "folders",
    multiple=True,
    metavar="DIR",
    help="A workspace; repeatable. Without it: this one, and every one where `init` was run.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port.  [default: 4653, or the next free one]"
)
@click.option(
    "--host",
    default="",
    help="Name or address that people type.  [default: a random name under .localhost]",
)
@click.option(
    "--tls-certificate",
    default="",
    metavar="FILE",
    help="Certificate; needed for a --host that is not this machine.",
)
@click.option("--tls-key", default="", metavar="FILE", help="The certificate's private key.")
@click.option(
    "--behind-proxy",
    "proxy",
    default="",
    metavar="URL",
    help="Address that people type, when a proxy encrypts.",
)
@verb
def command(
    call: Call,
    folders: tuple[str, ...],
    port: int | None,
    host: str,
    tls_certificate: str,
    tls_key: str,
    proxy: str,
) -> Reply:
    """Serve the page: what needs you, what runs, what it costs, and where you answer. Ctrl+C ends it.

    The sign-in link appears on your terminal and works once. No agent can read it.
    """
    try:
        from holdfast.web.app import PageServer
        from holdfast.web.server import ServeOptions, listen, run
        from holdfast.web.workspaces import Site
    except ImportError as error:
        raise HoldfastError(
            f"The page needs a package that is not installed: {error.name}.",
            hint=install_command("web"),
            kind="not_installed",
        ) from None
    from holdfast.gates import person
    from holdfast.remote.thread import run_forwarders

    workspaces = _workspaces(call, folders)
    terminal = person.seated(workspaces[0], "sign in to the page", now=call.now)
    wish = ServeOptions(host, port, tls_certificate, tls_key, proxy)
    listening, address = listen(wish)
    site = Site([one.root for one in workspaces])
    for one in workspaces:
        one.close()
    names = [place.key for place in site]
    if call.as_json:
        print_json({**_where(address), "workspaces": names})
    shown = f"The page of {plural(len(names), 'workspace')}: {safe(', '.join(names))}"
    with run_forwarders([one.root for one in workspaces]):
        run(PageServer(site, address), listening, wish, terminal, [shown])
    return Reply({**_where(address), "workspaces": names}, ["The page has ended."])


def _where(address: Address) -> dict[str, str | int]:
    """The address for programs. The random name is for the person's terminal alone."""
    host = "localhost" if address.has_random_name else address.host
    return {"address": address._replace(host=host).origin, "port": address.port}


def _workspaces(call: Call, folders: tuple[str, ...]) -> list[Workspace]:
    if folders:
        return [discover(folder) for folder in folders]
    here = None
    try:
        here = call.workspace
    except NotFound as error:
        if error.kind != "no_workspace":
            raise
    found, left_out = registry.workspaces(here)
    for problem in left_out:
        warn(problem)
    return found
