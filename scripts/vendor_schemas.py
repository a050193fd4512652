"""The vendors' schemas, cut to the operations we use: `python -m scripts.vendor_schemas [--check]`.

Linear publishes no SDL, but its npm package `@linear/sdk` holds the generated types of the whole
schema, and SDL can be written back from them. GitHub's OpenAPI document is in `@octokit/openapi`.
Both are MIT. With `--check` nothing is written, and the exit code is 1 when the newest packages
say something else than the files that are here: the alarm for a contract that changed.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCHEMAS = Path(__file__).parent.parent / "tests" / "trackers" / "schemas"

# The types of Linear's schema that our operations touch, and the fields of each; empty means all.
LINEAR_TYPES: dict[str, set[str]] = {
    "Query": {"comment", "issue"},
    "Mutation": {"commentCreate", "commentUpdate"},
    "Node": set(),
    "Issue": {"id", "identifier", "parent", "title", "url"},
    "Comment": {"body", "createdAt", "editedAt", "id", "issue", "issueId", "updatedAt", "url"},
    "CommentPayload": set(),
    "CommentCreateInput": set(),
    "CommentUpdateInput": set(),
}
GITHUB_PATHS = (
    "/repos/{owner}/{repo}/issues/{issue_number}/comments",
    "/repos/{owner}/{repo}/issues/comments/{comment_id}",
    "/repos/{owner}/{repo}/issues/{issue_number}/parent",
)
# A whole issue refers to a third of GitHub's schema; of a parent we read only where it is.
GITHUB_FIELDS = {
    "issue": {"html_url", "id", "node_id", "number", "repository_url", "state", "title", "url"}
}
DROPPED = {
    "description",
    "example",
    "examples",
    "externalDocs",
    "summary",
    "tags",
    "x-github",
    "x-octokit",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--linear", default="@linear/sdk", help="package, with @version if wanted")
    parser.add_argument("--github", default="@octokit/openapi", help="likewise")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        slices = {
            "linear.graphql": linear_slice(fetch(given.linear, Path(folder, "linear"))),
            "github.json": github_slice(fetch(given.github, Path(folder, "github"))),
        }
    changed = False
    for name, text in slices.items():
        path = SCHEMAS / name
        same = path.exists() and _without_version(path.read_text("utf-8")) == _without_version(text)
        changed = changed or not same
        print(f"{name}: {len(text)} characters, {'as before' if same else 'CHANGED'}")
        if not given.check:
            path.write_text(text, encoding="utf-8")
    return 1 if given.check and changed else 0


def fetch(package: str, folder: Path) -> Path:
    """The package's files, from the registry that npm is set up for."""
    folder.mkdir()
    command = ["npm", "pack", "--silent", "--pack-destination", str(folder), package]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    [archive] = folder.glob("*.tgz")
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    return folder / "package"


def source_of(package: Path) -> tuple[str, str]:
    """Name with version, and licence."""
    manifest = json.loads((package / "package.json").read_text("utf-8"))
    if manifest["license"] != "MIT":
        raise SystemExit(f"{manifest['name']} is now under {manifest['license']}: look before use.")
    return f"{manifest['name']} {manifest['version']}", manifest["license"]


def _without_version(text: str) -> str:
    return re.sub(r"(@(?:linear/sdk|octokit/openapi)) [0-9.]+", r"\1", text)


def linear_slice(package: Path) -> str:
    """SDL of the listed types, written back from the TypeScript that was generated from it."""
    source, licence = source_of(package)
    [path] = (package / "dist").glob("index-*.d.mts")
    declarations = dict(_declarations(path.read_text("utf-8")))
    scalars: set[str] = set()
    parts = [_linear_type(name, declarations, scalars) for name in LINEAR_TYPES]
    scalars -= {"ID", "String", "Boolean", "Int", "Float"}
    header = (
        f"# The part of Linear's schema that holdfast uses, from {source} on npm.\n"
        f"# Licence: {licence}, Copyright (c) 2019 Linear.\n"
        "# Written by scripts/vendor_schemas.py; do not edit.\n"
    )
    return "\n".join([header, *parts, *(f"scalar {name}\n" for name in sorted(scalars))])


def _declarations(text: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Name, what it extends, and the lines of every object type."""
    pattern = r"^type (\w+) = ((?:\w+ & )*)\{\n(.*?)^\};"
    for found in re.finditer(pattern, text, re.MULTILINE | re.DOTALL):
        yield found[1], (found[2].replace(" & ", "").strip(), found[3])


def _fields(lines: str) -> Iterator[tuple[str, str, str]]:
    """Name, TypeScript type and documentation of each field."""
    pattern = r"(?:/\*\*(?P<doc>.*?)\*/\s*)?^  (?P<name>\w+)\??: (?P<type>[^\n]+);$"
    for found in re.finditer(pattern, lines, re.MULTILINE | re.DOTALL):
        if found["name"] != "__typename":
            words = (found["doc"] or "").replace("\n", " ").replace(" * ", " ").split()
            yield found["name"], found["type"], " ".join(words)


def _linear_type(name: str, declarations: dict[str, tuple[str, str]], scalars: set[str]) -> str:
    extends, lines = declarations[name]
    kept = LINEAR_TYPES[name]
    is_input, is_interface = name.endswith("Input"), name == "Node"
    word = "input" if is_input else "interface" if is_interface else "type"
    text = f"{word} {name}{f' implements {extends}' if extends else ''} {{\n"
    for field, kind, documentation in _fields(lines):
        if kept and field not in kept:
            continue
        if documentation:
            text += f"  {json.dumps(documentation, ensure_ascii=False)}\n"
        arguments = ""
        given = declarations.get(f"{name}{field[0].upper()}{field[1:]}Args")
        if given and name in ("Query", "Mutation"):
            pairs = [f"{one}: {_sdl(kind, scalars)}" for one, kind, _ in _fields(given[1])]
            arguments = f"({', '.join(pairs)})"
        text += f"  {field}{arguments}: {_sdl(kind, scalars)}\n"
    return text + "}\n"


def _sdl(kind: str, scalars: set[str]) -> str:
    """`Maybe<Array<Scalars["String"]>>` is `[String!]`."""
    if found := re.fullmatch(r"(?:Input)?Maybe<(.+)>", kind):
        return _sdl(found[1], scalars).removesuffix("!")
    if found := re.fullmatch(r"Array<(.+)>", kind):
        return f"[{_sdl(found[1], scalars)}]!"
    if found := re.fullmatch(r'Scalars\["(\w+)"\]', kind):
        scalars.add(found[1])
        return f"{found[1]}!"
    if kind not in LINEAR_TYPES:
        raise SystemExit(f"LINEAR_TYPES does not say what to keep of {kind}.")
    return f"{kind}!"


def github_slice(package: Path) -> str:
    """The paths we use, with everything they refer to, without prose and examples."""
    source, licence = source_of(package)
    whole = json.loads((package / "generated" / "api.github.com.json").read_text("utf-8"))
    for name, fields in GITHUB_FIELDS.items():
        schema = whole["components"]["schemas"][name]
        schema["properties"] = {key: schema["properties"][key] for key in sorted(fields)}
        schema["required"] = [key for key in schema["required"] if key in fields]
    paths = {path: _lean(whole["paths"][path]) for path in GITHUB_PATHS}
    components: dict[str, dict[str, Any]] = {}
    waiting = list(_references(paths))
    while waiting:
        _, _, section, name = waiting.pop().split("/")
        if name in components.setdefault(section, {}):
            continue
        components[section][name] = found = _lean(whole["components"][section][name])
        waiting += _references(found)
    document = {
        "openapi": whole["openapi"],
        "info": {
            "title": f"The part of GitHub's interface that holdfast uses, from {source} on npm",
            "description": "Written by scripts/vendor_schemas.py; do not edit.",
            "license": {"name": f"{licence}, Copyright (c) 2020 Octokit contributors"},
            "version": "1",
        },
        "paths": paths,
        "components": {
            section: dict(sorted(named.items())) for section, named in sorted(components.items())
        },
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _lean(value: Any, *, names: bool = False) -> Any:
    """Without prose and examples; `names` where the keys are a schema's own fields."""
    if isinstance(value, dict):
        return {
            key: _lean(item, names=key == "properties" and not names)
            for key, item in value.items()
            if names or (key not in DROPPED and not key.startswith("x-"))
        }
    return [_lean(item) for item in value] if isinstance(value, list) else value


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "$ref" and isinstance(item, str):
                yield item
            else:
                yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


if __name__ == "__main__":
    sys.exit(main())
