"""Which calls reach beyond the work tree, or change its history, and the command that tells whether they
did. Pure.

A probe is made of our own words and of plain names from the call: a reader may run it.
"""

from __future__ import annotations

from holdfast.kernel.patterns import compile_later
from holdfast.kernel.text import one_line, split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

# Where a step of a command line begins.
_START = (
    r"(?:^|(?<=[;&|(\n]))\s*(?:\w+=\S*\s+|sudo\s+|time\s+|timeout\s+\S+\s+|npx\s+)*(?:[\w./-]*/)?"
)
_GIT = r"git (?:(?:-[cC] \S+|--?[\w-]+) )*"
_UPLOADS = r"twine upload|(?:uv|poetry|hatch|flit|cargo) publish|gem push|mvn (?:\S+ )*deploy"
_CLOUDS = r"(?:vercel|netlify|fly|flyctl|wrangler|firebase|heroku|gcloud|serverless|cdk)"
_SENDS = r"(?:(?:-X|--request)[ =]?(?:POST|PUT|PATCH|DELETE)|\s(?:-d|--data\S*|-F|--form|-T)\s)"
# Steps that reach out, and their probes; without one where no command is known. `{0}` and `{1}` are the plain
# words behind the step.
_PROBES = {
    rf"{_GIT}push": "git ls-remote {0|origin} {1}",
    rf"{_GIT}commit": "git log -1 --stat",
    rf"{_GIT}(?:merge|rebase|cherry-pick|revert|am|pull|reset)": "git status",
    rf"{_GIT}tag": "git tag --list {0}",
    r"gh pr create": "gh pr view",
    r"gh pr (?:comment|review|merge|close|edit|ready|reopen)": "gh pr view {0}",
    r"gh issue create": "gh issue list --author @me --limit 5",
    r"gh issue (?:comment|close|edit|reopen|delete)": "gh issue view {0}",
    r"gh release (?:create|edit|upload|delete)": "gh release view {0}",
    r"gh workflow run": "gh run list --limit 5",
    r"gh repo (?:create|delete|edit|rename)": "gh repo view {0}",
    r"gh api(?=.*\s(?:-X|--method|-f|-F|--field|--input)\b)": "",
    r"glab mr (?:create|merge|close|note|update)": "glab mr list",
    r"(?:npm|pnpm|yarn(?: npm)?) publish": "npm view . versions",
    rf"(?:{_UPLOADS})": "",
    r"(?:docker|podman) push": "docker manifest inspect {0}",
    r"kubectl (?:apply|create|delete|patch|scale|rollout|replace)": "kubectl get all",
    r"helm (?:install|upgrade|uninstall|rollback)": "helm status {0}",
    r"(?:terraform|tofu) (?:apply|destroy)": "terraform plan",
    r"pulumi (?:up|destroy)": "pulumi preview",
    r"alembic (?:upgrade|downgrade)": "alembic current",
    r"(?:python[\d.]* )?(?:\./)?manage\.py migrate": "python manage.py showmigrations",
    r"(?:rails|rake) db:(?:migrate|rollback)": "rails db:migrate:status",
    r"prisma (?:migrate|db push)": "npx prisma migrate status",
    r"knex migrate:\w+": "npx knex migrate:status",
    r"(?:goose|dbmate)(?=.* (?:up|down)\b)": "goose status",
    r"flyway migrate": "flyway info",
    rf"{_CLOUDS}(?=.*\b(?:deploy|publish|release|create|delete))": "",
    r"aws \w+ (?:create|put|delete|update|run|start|stop|cp|sync|mv|rm|publish|send)[\w-]*": "",
    rf"curl(?=.*{_SENDS})": "",
    r"(?:ssh|scp|rsync|sendmail|mail)(?= )": "",
}
_REACHES = [
    (compile_later(f"{_START}(?P<step>{step})\\b"), probe) for step, probe in _PROBES.items()
]
_SEPARATOR = compile_later(r"[;&|\n]|\s[0-9]?>")
_QUOTED = compile_later(r"\"(?:\\.|[^\"\\])*\"|'[^']*'")
_PLAIN = compile_later(r"[A-Za-z0-9][\w./:-]{0,80}")
_PLACE = compile_later(r" ?\{(\d)(?:\|(\w+))?\}")
# The tool of a server that writes there, by the verb in its name. Clients' own tools have other names.
_WRITES = compile_later(
    r"(?i)[a-z](?=\S*(?:mcp_|__|-|\w_\w+_\w))[\w-]*(?:create|update|delete|remove|send|post|write|publish|"
    r"merge|comment|close|push|upload|insert|assign|reply|move|archive|add|edit|execute|apply|deploy)[\w-]*$"
)
_OF_CLIENTS = split_words("write_stdin update_plan tracker_create_task tracker_update_task")


def reaches_of(call: str) -> list[tuple[str, str]]:
    """The parts of a call that reach out, in order, each with how to look whether it did; empty where that is
    not known."""
    # A quoted text runs nothing, and its words are no names for a probe.
    bare = _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), call)
    found: list[tuple[int, int, str]] = []
    for pattern, probe in _REACHES:
        for step in pattern.finditer(bare):
            found.append((step.start("step"), step.end("step"), probe))
    parts = []
    for start, end, probe in sorted(found):
        stop = _SEPARATOR.search(bare, end)
        last = stop.start() if stop else len(call)
        parts.append((one_line(call[start:last]), _fill(probe, bare[end:last])))
    tool = call.split(None, 1)[0] if call.strip() else ""
    if not parts and _WRITES.match(tool) and tool not in _OF_CLIENTS:
        parts.append((one_line(call), ""))
    return parts


def _fill(probe: str, rest: str) -> str:
    """The probe with the plain words of a step; what is missing is left out."""
    words = [word.rpartition(":")[2] for word in rest.split() if _PLAIN.fullmatch(word)]

    def word_at(place: Match[str]) -> str:
        number = int(place[1])
        word = words[number] if number < len(words) else place[2] or ""
        return f" {word}" if word else ""

    return _PLACE.sub(word_at, probe)
