"""How this copy of holdfast was installed: the command that adds an extra to it.

The distribution is `holdfast-agents`. On PyPI the name `holdfast` belongs to another project, whose
package has the same import name.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import distributions
from urllib.parse import unquote, urlsplit

from holdfast.kernel.text import quote

NAME = "holdfast-agents"
FOREIGN = "holdfast"
# What installed the environment, by a file in it, and its command.
_TOOLS = {
    "pipx_metadata.json": "pipx install --force",
    "uv-receipt.toml": "uv tool install --force",
}


def install_command(extra: str, *, prefix: str = "", path: list[str] | None = None) -> str:
    """The command that installs an extra beside this copy, by the tool and from the place that the copy
    was installed with."""
    prefix = prefix or sys.prefix
    wanted = _requirement(extra, sys.path if path is None else path)
    for file, command in _TOOLS.items():
        if os.path.exists(os.path.join(prefix, file)):
            return f"{command} {wanted}"
    if f"{os.sep}archive-v0{os.sep}" in prefix + os.sep:  # where `uvx` keeps its environments
        return f"uvx --from {wanted} holdfast"
    checkout = _checkout()
    if checkout:
        return f"pip install -e {quote(f'{checkout}[{extra}]')}"
    return f"{'uv pip' if _is_of_uv(prefix) else 'pip'} install {wanted}"


def _requirement(extra: str, path: list[str]) -> str:
    """What to install, quoted for a shell: a folder, a file or a repository when the copy came from one,
    because no index may have the package."""
    for found in distributions(name=NAME, path=path):
        try:
            origin = json.loads(found.read_text("direct_url.json") or "{}")
            url = urlsplit(str(origin["url"]))
        except (ValueError, KeyError, TypeError):
            continue
        place = unquote(url.path)
        if "vcs_info" in origin:
            return f"'{NAME}[{extra}] @ {origin['vcs_info']['vcs']}+{origin['url']}'"
        is_editable = origin.get("dir_info", {}).get("editable", False)
        if url.scheme == "file" and not is_editable and os.path.exists(place):
            return f"'{place}[{extra}]'"
    return f"'{NAME}[{extra}]'"


def _is_of_uv(prefix: str) -> bool:
    """Whether uv made the environment; then there is often no pip in it."""
    try:
        with open(os.path.join(prefix, "pyvenv.cfg"), encoding="utf-8") as file:
            return any(line.partition("=")[0].strip() == "uv" for line in file)
    except OSError:
        return False


def _checkout() -> str:
    """The folder of the source that this copy runs from; empty when it was installed."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    source, top = os.path.dirname(package), os.path.dirname(os.path.dirname(package))
    is_source = os.path.basename(source) == "src"
    return top if is_source and os.path.isfile(os.path.join(top, "pyproject.toml")) else ""


def find_foreign_package(path: list[str] | None = None) -> str:
    """The version and folder of another project's package `holdfast` in this environment; empty when
    there is none."""
    for found in distributions(name=FOREIGN, path=sys.path if path is None else path):
        if str(found.metadata["Name"]).lower() != FOREIGN:
            continue
        # A copy of ours from before the name was changed has our own command.
        if not any(entry.value == "holdfast.cli:main" for entry in found.entry_points):
            return f"{found.version} in {found.locate_file('')}"
    return ""
