"""The phrases by which a text asks a person for what a machine can do, as patterns."""

from __future__ import annotations

# A program that a text names when it asks for a command.
_PROGRAM = (
    r"(?:(?:npm|npx|yarn|pnpm|bun|node|deno|pip3?|uv|poetry|python3?|pytest|ruby|rails|rake|bundle|php|"
    r"composer|artisan|java|mvn|gradle|cargo|go|make|cmake|docker(?:-compose)?|kubectl|helm|terraform|"
    r"ansible|git|gh|curl|wget|ssh|scp|psql|mysql|sqlite3|createdb|redis-cli|brew|apt(?:-get)?|sudo|bash|"
    r"sh|systemctl|aws|gcloud|az|vercel|netlify|supabase|prisma|alembic)\b)"
)
_DATABASE = r"(?:\b(?:\w+ ){0,4}?(?:database|databases|db|schema|migrations?)\b)"
_FILE = r"(?:\b(?:\w+ ){0,3}?files?\b|[\w./-]+\.(?:\w{1,5})\b)"
# A command that is named bare, as in "git push". `go` and `make` are English words, too.
_BARE_COMMAND = (
    r"(?:(?:npm|npx|yarn|pnpm|bun|deno|pip3?|uv|poetry|pytest|rake|bundle|composer|artisan|mvn|gradle|"
    r"cargo|cmake|docker(?:-compose)?|kubectl|helm|terraform|ansible|git|gh|curl|wget|ssh|scp|psql|mysql|"
    r"sqlite3|redis-cli|brew|apt(?:-get)?|sudo|systemctl|aws|gcloud|vercel|netlify|supabase|prisma|"
    r"alembic) +(?!is\b|was\b|has\b|and\b)[\w./@:-]+|"
    r"go (?:run|build|test|get|install|mod|generate)\b|make (?:build|test|install|deploy|run|all|clean|dev)\b)"
)
# A file or a place that holds configuration.
_CONFIGURED = (
    r"(?:[\w./-]*\.(?:ya?ml|json|toml|ini|env|cfg|conf|properties|xml)\b|\.env\b|config(?:uration)?\b|"
    r"environment variables?\b|env vars?\b|feature flags?\b)"
)
_MADE_UP = r"(?:\b(?:\w+ ){0,2}?(?:test|sample|dummy|fake|seed|demo) (?:\w+ )?(?:data|users?|accounts?|records?|rows?|entries))"

_RUN = "Run it yourself, then show what came of it: holdfast gate verify --built ... --url ..."
_WRITE = "Write the file yourself; that needs no gate."
# What is asked, the clause, its name, and what to do instead. The first that fits a line counts.
STEPS: tuple[tuple[str, str, str, str], ...] = (
    (
        rf"(?:create|set ?up|make|prepare|initiali[sz]e|migrate|seed|run) {_DATABASE}",
        "PILOT-29",
        "asks a person to set up a database",
        "Use its command line: createdb, psql, your migrations; that needs no gate.",
    ),
    (
        rf"(?:create|add|insert|prepare|generate|enter|make) {_MADE_UP}",
        "PILOT-08",
        "asks a person to create test data",
        "Create the data yourself, and let the person only look.",
    ),
    (
        r"(?:start|restart|launch|boot|spin up|stop|bring up) (?:\w+ ){0,3}?(?:server|servers|service|"
        r"services|app|container|containers|backend|frontend)\b",
        "PILOT-08",
        "asks a person to start or stop a server",
        "Start it yourself and give its address with --url.",
    ),
    (
        rf"(?:run|execute|invoke|launch|type|enter|paste|use|install)\b:? +(?:\w+:? ){{0,3}}?`?{_PROGRAM}|"
        r"(?:run|execute|invoke|launch)\b:? +(?:\w+:? ){0,3}?(?:`|\./\S)|\$ \S",
        "PILOT-27",
        "asks a person to run a command",
        _RUN,
    ),
    (
        r"(?:run|execute|invoke) (?:\w+ ){0,4}?(?:commands?|scripts?|tests?|migrations?|build|linter|"
        r"install(?:er)?)\b|please run\b|(?:in|open) (?:your|a|the) (?:terminal|shell|command line|console)\b",
        "PILOT-27",
        "asks a person to run a command",
        _RUN,
    ),
    (_BARE_COMMAND, "PILOT-27", "asks a person to run a command", _RUN),
    (
        r"(?:deploy|redeploy)\b|roll (?:it |this )?(?:out|back)\b|"
        r"push (?:\w+ ){0,4}?(?:branch|commits?|tags?|code|changes|image|to (?:origin|main|master|production|"
        r"staging|github|gitlab|the registry))\b|"
        r"merge (?:\w+ ){0,4}?(?:branch|pull request|merge request|PR|MR)\b|"
        r"publish (?:\w+ ){0,4}?(?:package|crate|image|library|to (?:npm|pypi))\b",
        "PILOT-21",
        "asks a person to deploy or publish",
        "Use its command line or its API; that needs no gate.",
    ),
    (
        rf"(?:create|add|write|save|touch|make) (?:\w+ ){{0,3}}?(?:files?\b|{_FILE})",
        "PILOT-28",
        "asks a person to create a file",
        _WRITE,
    ),
    (
        rf"(?:edit|change|modify|update|open and (?:edit|change)|copy|rename|delete) {_FILE}|"
        r"(?:set|export|configure|define|add) (?:\w+ ){0,4}?(?:environment variables?|env vars?|config"
        r"(?:uration)?|settings?|\.env)\b|"
        rf"(?:set|put|add|change|edit|modify|update|adjust|replace|remove|delete|copy) (?:\S+ ){{0,6}}?{_CONFIGURED}",
        "PILOT-21",
        "asks a person to change configuration",
        "Edit the file yourself; that needs no gate.",
    ),
)
ACCOUNT = (
    r"(?:create|register|open|set ?up|sign up for) (?:\w+ ){0,4}?account\b|sign up (?:for|at|on)\b"
)
CHOICE = (
    r"\bshould (?:I|we) (?:use|choose|pick|go with|take)\b|\b(?:do|would) you (?:prefer|rather|want me to "
    r"use)\b|\bwhich (?:\w+ ){0,4}(?:should (?:I|we)|do you prefer|would you)|\bplease (?:choose|pick|select)\b"
)
PUSHED = (
    r"\brecommend(?:ed|ation|s)?\b|\b(?:we|I|I'd|we'd|you should) (?:suggest|prefer|advise|pick|choose|go with)"
    r"\b|\bpreferred\b|\((?:default|preselected|suggested)\)|\bobvious(?:ly)? (?:the )?(?:best|right|choice)|"
    r"\b(?:the )?(?:correct|right|best) (?:choice|option|answer)\b|\bmy (?:pick|choice)\b"
)
SHELLS = ("bash", "sh", "shell", "zsh", "console")
# Who does not ask a person, though the words are the same.
OF_THE_AGENT = (
    r"\b(?:never|not|no need to|without having to|don't|doesn't|needn't|I|we|claude|agent)\b"
)
CAUSE_WORDS = {
    "captcha": r"captcha",
    "oauth": r"\boauth\b|\bconsent\b",
    "payment": r"3-?d ?secure|\b(?:mfa|2fa|otp|one-time (?:code|password))\b|\bbank(?:ing)? app\b",
    "email": r"\b(?:e-?mail|inbox)\b",
    "hardware": r"\b(?:hardware|device|usb|cable|plug|phone|sensor|board|printer|button on)\b",
}
