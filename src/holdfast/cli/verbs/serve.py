"""holdfast serve"""

from __future__ import annotations

import sys

import click

from holdfast.cli.frame import Call, Reply, print_json, warn
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.text import command as command_line
from holdfast.kernel.text import plural
from holdfast.kernel.workspace import Workspace, discover
from holdfast.maintenance import known_roots
from holdfast.people import person
from holdfast.processes.distribution import install_command
from holdfast.remote.forwarder import run_forwarders
from holdfast.web.service import (
    LINK_SECONDS,
    forget,
    leave_link,
    refuse_second,
    require_service,
    take_link,
    write_down,
)
from holdfast.web.urls import Address

PURPOSE = "sign in to the page"
TAILNET = "https://THIS-MACHINE.TAILNET.ts.net"


@click.command()
@click.option(
    "--workspace",
    "folders",
    multiple=True,
    metavar="DIR",
    help="A workspace; repeatable.  [default: this one, and every one where `init` was run]",
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
@click.option("--link", is_flag=True, help="Show a sign-in link for the page of --service.")
@click.option(
    "--service", is_flag=True, help="Serve without a terminal, for systemd, launchd and containers."
)
@click.option("--share", is_flag=True, help="Say how to reach the page from a phone, safely.")
@verb
def command(
    call: Call,
    folders: tuple[str, ...],
    port: int | None,
    host: str,
    tls_certificate: str,
    tls_key: str,
    proxy: str,
    link: bool,
    service: bool,
    share: bool,
) -> Reply:
    """Serve the page: what needs you, what runs, what it costs, and where you answer. Ctrl+C ends it.

    The sign-in link appears on your terminal alone and works once. A program that reads your terminal can take it.
    """
    if link + service + share > 1:
        raise Usage("--link, --service and --share exclude each other.")
    if link:
        return _show_link(call)
    try:
        from holdfast.web.app import PageServer
        from holdfast.web.server import PORT, ServeOptions, listen, refuse_open, run, show_link
        from holdfast.web.workspaces import Site
    except ImportError as error:
        raise HoldfastError(
            f"The page needs a package that is not installed: {error.name}.",
            hint=install_command("web"),
            kind="not_installed",
        ) from None
    wish = ServeOptions(host, port, tls_certificate, tls_key, proxy)
    if share:
        refuse_open(wish)
        return _explain_sharing(port or PORT)
    workspaces = _workspaces(call, folders)
    terminal = ""
    if service:
        refuse_second()
    else:
        terminal = person.require_seat(workspaces[0], PURPOSE, now=call.now)
    listening, address = listen(wish)
    site = Site([one.root for one in workspaces])
    for one in workspaces:
        one.close()
    names = [place.key for place in site]
    if call.as_json:
        print_json({**_where(address), "workspaces": names})
        sys.stdout.flush()  # a program that reads a pipe waits for this line
    shown = f"The page of {plural(len(names), 'workspace')}: {safe(', '.join(names))}"
    server = PageServer(site, address, take_link=take_link if service else None)

    def ready() -> None:
        if service:
            write_down(address, listening[0].getsockname()[1], names)
        else:
            person.tell([shown])
            show_link(server, terminal)

    with run_forwarders([one.root for one in workspaces]):
        try:
            run(server, listening, wish, terminal, ready)
        finally:
            if service:
                forget()
    return Reply({**_where(address), "workspaces": names}, ["The page has ended."])


def _explain_sharing(port: int) -> Reply:
    """Name the ways that open no port. Each device signs in with a link of its own."""
    ways = {
        "An SSH tunnel; then open the link of `holdfast serve` on that device": [
            f"ssh -N -L {port}:localhost:{port} YOU@THIS-MACHINE"
        ],
        "Tailscale, for the devices of your own tailnet, encrypted": [
            f"tailscale serve --bg {port}",
            command_line("serve", "--port", str(port), "--behind-proxy", TAILNET),
        ],
    }
    lines = ["The page listens on this machine alone. To reach it from a phone or a laptop:"]
    for title, commands in ways.items():
        lines += ["", f"{title}:", *(f"  {one}" for one in commands)]
    lines += [
        "",
        "HOLDFAST_NOTIFY_PAGE names that address for notifications. Nobody comes in without a sign-in link, which your",
        "terminal shows (`holdfast serve --link` for a service) and which works once. Do not publish the page:",
        "no `tailscale funnel`, no forwarded port. An unencrypted --host is refused.",
    ]
    return Reply({"ways": ways}, lines)


def _show_link(call: Call) -> Reply:
    """On the terminal itself: no pipe and no log gets the link."""
    found = require_service()
    terminal = person.require_seat(_workspaces(call, ())[0], PURPOSE, now=call.now)
    said = f"It works once, within {int(LINK_SECONDS // 60)} minutes."
    person.tell(["", f"  {leave_link(found, terminal)}", "", said, ""])
    # Without the random name of the page: programs read this.
    return Reply({"process": found.process, "port": found.port, "workspaces": found.workspaces}, [])


def _where(address: Address) -> dict[str, str | int]:
    """The address for programs. The random name is for the person's terminal alone."""
    host = "localhost" if address.has_random_name else address.host
    return {"address": address._replace(host=host).origin, "port": address.port}


def _workspaces(call: Call, folders: tuple[str, ...]) -> list[Workspace]:
    if folders:
        return [discover(folder) for folder in folders]
    found, left_out = known_roots.workspaces(call.workspace_if_any)
    warn(*left_out)
    return found
