"""Rules of redaction for the places where a secret has no name of its own: calls, markup, commands, prose.

The shape is that of `redact_rules.py`: name, literals of which one must occur, pattern. The quick test looks for
the literals of a group only where its gate occurs.
"""

from __future__ import annotations

from holdfast.kernel.text import split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    Rule = tuple[str, tuple[str, ...], str]

_NAMES = ("password", "passwd", "pass", "pwd", "secret", "token", "key")
_ANY_NAME = r"(?i:password|passwd|pass|pwd|secret|token|key)"
_QUOTE = r"\\{0,3}[\"'`]"
_TEXT = _QUOTE + r"[^\"'`\n]{0,200}?" + _QUOTE
_VALUE = r"(?P<value>[^\s\"'`\\<>]{6,400})(?=\\{0,3}[\"'`])"

_CALLS = split_words(
    "login auth= basicauth connect connection mysqli pdo credentials client"
    " .fill .type send_keys sendkeys btoa b64encode @tcp"
)
_SAID = ("login as ", "login with ", "log in ", "credentials", "creds")

# What must occur, and the literals that are looked for then.
CONTEXT_GATES: dict[str, tuple[str, ...]] = {
    "<": ("<input",),
    "log": (" login ", "login as ", "login with ", "log in "),
    "pw ": ("pw ",),
}
# What ends with `|`, and what holds `pass`: the quick test looks at these signs anyway.
BESIDE_BARS, WITH_PASS = ("|| '", '|| "'), ("random_password",)
# A sign, and the literals that end with it, without it.
CONTEXT_ENDS: dict[str, tuple[str, ...]] = {"(": _CALLS, "',": _NAMES, '",': _NAMES}
CONTEXT_TAGS: dict[str, tuple[str, ...]] = {'">': _NAMES, "</key>": _NAMES}
# The same of a name before `:` or `=`, and the literal.
CONTEXT_NAMES = {
    **{name: f"{name}:" for name in ("login", "admin", "root", "postgres", "scrypt", "pbkdf2")},
    " /p": " /p:",
    " -p": " -p:",
    "?code": "?code=",
    "&code": "&code=",
    "credentials": "credentials",
    "creds": "creds",
    "digest username": "digest username",
}
LONGEST_END = 15
CONTEXT_LITERALS = frozenset(
    [
        *(literal for literals in CONTEXT_GATES.values() for literal in literals),
        *(*BESIDE_BARS, *WITH_PASS),
        *(end + sign for sign, ends in CONTEXT_ENDS.items() for end in ends),
        *(end + sign for sign, ends in CONTEXT_TAGS.items() for end in ends),
        *CONTEXT_NAMES.values(),
    ]
)

CONTEXT_RULES: tuple[Rule, ...] = (
    (
        "paired-secret",
        tuple(name + sign for name in _NAMES for sign in ("',", '",')),
        r"(?P<keep>"
        + _ANY_NAME
        + _QUOTE
        + r",\s{0,16}[brufBRUF]?"
        + _QUOTE
        + r")(?P<value>[^\"'`\n\\]{6,300})(?=\\{0,3}[\"'`])",
    ),
    (
        "default-secret",
        BESIDE_BARS,
        r"(?P<keep>\|\| " + _QUOTE + r")" + _VALUE,
    ),
    (
        "marked-secret",
        tuple(name + sign for name in _NAMES for sign in ('">', "</key>")),
        r"(?P<keep>"
        + _ANY_NAME
        + r"(?:\\{0,3}\">|</key>\s{0,20}<string>)\s{0,20})(?P<value>[^<\s]{6,400})(?=\s{0,20}</)",
    ),
    (
        "form-secret",
        ("<input",),
        r"(?P<keep><input(?=[^<>]{0,400}type="
        + _QUOTE
        + r"password)[^<>]{1,400}?\bvalue="
        + _QUOTE
        + r")(?P<value>[^\"'<>\s\\]{4,200})",
    ),
    (
        "digest-response",
        ("digest username",),
        r"(?P<keep>(?i:digest) username[^\n]{0,500}?\bresponse=(?:\\{0,3}\")?)(?P<value>[0-9a-f]{32,128})",
    ),
    (
        "called-secret",
        ("login(", "auth=(", "basicauth("),
        r"(?P<keep>(?i:login|auth=|basicauth)\(\s{0,12}[brf]?" + _TEXT + r"\s{0,3},\s{0,12}[brf]?"
        r"" + _QUOTE + r")" + _VALUE,
    ),
    (
        "called-secret",
        ("connect(", "connection(", "mysqli(", "pdo("),
        r"(?P<keep>(?i:connect|connection|mysqli|pdo)\(\s{0,12}"
        + _TEXT
        + r"\s{0,3},\s{0,12}"
        + _TEXT
        + r"\s{0,3},\s{0,12}"
        + _QUOTE
        + r")"
        + _VALUE,
    ),
    (
        "called-secret",
        ("btoa(", "b64encode("),
        r"(?P<keep>(?i:btoa|b64encode)\(\s{0,3}[brf]?"
        + _QUOTE
        + r"[^\s\"'`:]{1,64}:)"
        + _VALUE.replace("{6,", "{4,"),
    ),
    (
        "called-key",
        ("client(", "credentials("),
        r"(?P<keep>(?i:client|credentials)\(\s{0,12}(?:"
        + _TEXT
        + r"\s{0,3},\s{0,12})?"
        + _QUOTE
        + r")"
        + _VALUE,
    ),
    (
        "filled-secret",
        (".fill(", ".type(", "send_keys(", "sendkeys("),
        r"(?P<keep>(?i:\.fill|\.type|send_?keys)\(\s{0,12}(?:" + _TEXT + r"\s{0,3},\s{0,12})?"
        r"" + _QUOTE + r")" + _VALUE,
    ),
    (
        "slash-option",
        (" /p:", " -p:"),
        r"(?P<keep> [/-]p:[\"']?)(?P<value>[^\s\"'<>|/]{6,200})",
    ),
    (
        "said-password",
        ("pw ",),
        r"(?P<keep>(?<![A-Za-z0-9])(?i:pw)(?:\s{1,3}(?:for|of|on|to|at)(?:\s{1,3}[A-Za-z0-9._-]{1,40}){1,4}?)?\s{1,3}(?:is|was|->|=>|=|:)\s{1,3}[\"'`]?)"
        r"(?P<value>[^\s\"'`<>|]{5,200})",
    ),
    (
        "user-password",
        ("admin:", "root:", "postgres:"),
        r"(?P<keep>(?<![A-Za-z0-9/.@_:-])(?i:admin|root|postgres):)(?P<value>[^\s\"'`<>|:/,)]{8,128})(?=[\s\"'`,)]|\Z)",
    ),
    (
        "typed-key",
        (" login ",),
        r"(?P<keep>(?i: login)(?:\s{1,3}(?:-{0,2}[^\s-]\S{0,120})){0,3}?\s{1,3}[\"']?)"
        r"(?P<value>[A-Za-z0-9+/=_.-]{20,300})(?=[\s\"'`]|\Z)",
    ),
    (
        "said-login",
        ("login:", *_SAID),
        r"(?P<keep>(?i:log ?in|sign in|credentials|creds)(?:\s(?i:as|with|is|are|using|use))?(?:\*\*)?:?\s{1,3}[\"'`]?"
        r"[A-Za-z0-9._@+-]{2,64}[\"'`]?(?:\s{1,2}/\s{1,2}|:|\s{1,2}and\s{1,2}|/)[\"'`]?)(?P<value>[^\s\"'`<>|]{6,128})",
    ),
    (
        "oauth-code",
        ("?code=", "&code="),
        r"(?P<keep>[?&]code=)(?P<value>[A-Za-z0-9%/_.-]{20,1000})",
    ),
    (
        "password-hash",
        ("scrypt:", "pbkdf2:"),
        r"(?:scrypt:\d{3,7}:\d{1,3}:\d{1,3}|pbkdf2:[a-z0-9]{3,10}:\d{3,8})\$[A-Za-z0-9./+=]{4,64}\$[A-Za-z0-9./+=]{16,300}",
    ),
    (
        "generated-password",
        ("random_password",),
        r"(?P<keep>random_password[^\x00]{0,800}?\\{0,3}\"result\\{0,3}\"\s{0,3}:\s{0,3}\\{0,3}\")(?P<value>[^\"\\\s]{6,200})",
    ),
    (
        "database-password",
        ("@tcp(",),
        r"(?P<keep>[\s\"'`=][A-Za-z0-9_.-]{1,64}:)(?P<value>[^\s\"'`@<>]{1,100})(?=@tcp\()",
    ),
)
