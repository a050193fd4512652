"""Secrets are taken out once, at the writer, before anything is hashed or stored.

Six layers: exact values of environment variables with secret names, vendors' shapes (`vendor_rules.py`,
from a maintained list), structures (PEM, JWT, URLs, headers, commands, files such as `.netrc`),
`name = value`, what is hidden by percent signs, base64 or a line break, and the user's own rules. There is no
entropy rule: it destroys commit hashes and misses plain passwords. It is best effort.

Clean text never reaches a regular expression: every rule names literals, one of which must occur
in the text before the rule (and `re` itself) is even loaded. That test runs on every record, so
it is built for speed: looking for 54 literals one by one took 65 microseconds for 2 KB.

Every rule is bounded: it starts where its literal stands, and looks at a bounded number of letters or at
each letter once.
"""

from __future__ import annotations

import os

from holdfast.kernel import canonical_json
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.vendor_rules import VENDOR_RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    Rule = tuple[str, tuple[str, ...], str]
    # Where a secret begins and ends, and which rule found it.
    Span = tuple[int, int, str]

# Raise it when the rules find more: `holdfast doctor` then looks again at what is stored.
RULES_VERSION = 2

_KEYS = tuple(
    f"{what}{sign}key"
    for what in ("api", "access", "private", "account", "preshared", "encryption", "signing")
    for sign in ("", "_", "-")
)
_NAMES_OF_SECRETS = (
    *("secret", "token", "passw", "passphrase", "passcode", "pwd", "credential", "mnemonic"),
    *_KEYS,
)
# Names that say less: their values must look random.
_WEAK_NAMES = ("key", "pass", "auth", "psk", "pw")

# In front of a key: no letter or digit, unless it belongs to an escape such as `\n`.
_EDGE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
# A mark, a variable or a template: no secret.
_FREE = r"(?!\[redacted:|\$[({A-Za-z_]|<|\{)"
_QUOTE = r"(?:\\{0,3}[\"'`]|&quot;|&#3[49];)?"
_NAME = (
    r"(?i:secret|token|passwd|password|passwort|passphrase|passcode|pwd|credential|mnemonic"
    r"|(?:api|access|private|account|preshared|encryption|signing)[_-]?key)"
    r"(?i:s|[_-]?(?:key|value|id|base|prod|production|dev|test|staging|live|b64|base64|raw|[0-9]{1,2})){0,2}"
)
# A value in quotes ends with them; a bare one at a blank, a bracket or the next parameter.
_VALUE = (
    r"(?:(?<=[\"'`])(?P<quoted>[^\s\"'`\\]{5,2000}+)"
    r"|(?P<value>(?:(?!&[A-Za-z_]{1,30}=|\\[nrt\"']|&quot;)[^\s\"'`,;<>(){}\[\]]){5,2000}+)(?![(\[]))"
)
_WORD = r"(?P<value>[^\s\"'`<>|;]{4,2000})"

# Prefixes that vendors put before keys: lists of shapes grow old, prefixes do not. What follows must look random.
_PREFIXES = (
    *("akab-", "dnkey-", "HRKU-", "CLOJARS_", "CCIPAT_", "dckr_", "SWMTKN-", "SWMKEY-", "gsk_"),
    *("xai-", "pplx-", "tvly-", "figd_", "ntn_", "sntrys_", "sntryu_", "nyk_", "waka_", "RGAPI-"),
    *("sgp_", "rubygems_", "PMAK-", "PMAT-", "tskey-", "CFPAT-", "xkeysib-", "tgp_", "llx-", "sqa_"),
    *("sqp_", "squ_", "glsa_", "glc_", "glagent-", "glsoat-", "gloas-", "glptt-", "glcbt-", "glimt-"),
    *("gldt-", "glft-", "glrt-", "glrtr-", "glwt-", "shpat_", "shpca_", "shppa_", "shpss_", "shptka_"),
    *("dop_", "doo_", "dor_", "dos_", "pscale_", "NRAK-", "NRII-", "NRJS-", "cfat_", "cfut_", "hvs."),
    *("hvb.", "hvr.", "ops_", "vcp_", "vck_", "nfp_", "phx_", "phc_", "phs_", "tfp_", "BBDC-", "r8_"),
    *("fw_", "jina_", "lsv2_", "e2b_", "fo1_", "fm2_", "bkua_", "rnd_", "whsec_", "sq0atp-", "sq0csp-"),
    *("rzp_", "FLWSECK-", "FLWSECK_", "secret_", "re_", "napi_", "apify_", "pat-", "duffel_", "mlsn."),
    *("pnu_", "aio_", "xoxc-", "xoxd-", "lin_", "csk-", "pcsk_", "key_", "hcaik_", "hcalk_", "sk_"),
    *("live_", "access-", "github_", "glpat-", "npm_", "hf_", "sb_", "sbp_", "dapi", "AKID"),
    *("LTAI", "ATBB", "ATATT3", "ATCTT3", "AKCp", "EAAA", "IGQV", "EZAK", "ABSK"),
)

# name, literals of which one must occur, pattern. A literal in lower case is looked for in any case, unless it
# ends in `_`, `-` or `.`. Where a pattern has a group named `keep`, that part stays in front of the mark;
# where it has one named `value` or `quoted`, that part goes if `_JUDGES` says so.
OWN_RULES: tuple[Rule, ...] = (
    (
        "private-key",
        ("-----begin", "---- begin"),
        r"-----? ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-----?"
        r".*?(?:-----? ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-----?|\Z)",
    ),
    (
        "putty-key",
        ("private-lines:",),
        r"(?P<keep>(?i:private-lines): ?\d{1,3}\s+)[A-Za-z0-9+/=\s]{16,9000}",
    ),
    ("aws-key", ("AKIA", "ASIA"), _EDGE + r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    (
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_"),
        _EDGE + r"(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255})",
    ),
    ("gitlab-token", ("glpat-",), _EDGE + r"glpat-[A-Za-z0-9_.-]{16,300}"),
    ("anthropic-key", ("sk-",), _EDGE + r"sk-ant-[A-Za-z0-9_-]{16,300}"),
    (
        "openai-key",
        ("sk-",),
        _EDGE + r"sk-(?!ant-)(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,300}",
    ),
    ("google-key", ("AIza",), _EDGE + r"AIza[A-Za-z0-9_-]{35}"),
    (
        "google-oauth",
        ("ya29.", "GOCSPX-", "1//0"),
        _EDGE
        + r"(?:ya29\.[A-Za-z0-9_-]{20,2000}|GOCSPX-[A-Za-z0-9_-]{20,200}|1//0[A-Za-z0-9_-]{24,500})",
    ),
    ("linear-key", ("lin_",), _EDGE + r"lin_(?:api|oauth)_[A-Za-z0-9]{16,300}"),
    (
        "slack-token",
        ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-"),
        _EDGE + r"(?:xox[abprse](?:\.xox[bp])?|xapp)-[A-Za-z0-9-]{10,300}",
    ),
    (
        "webhook",
        (
            *("hooks.slack.com/", "webhook.office.com/", "logic.azure.com", "hooks.zapier.com/"),
            *("chat.googleapis.com/", "discord.com/api/", "discordapp.com/api/"),
        ),
        r"https://(?:hooks\.slack\.com|[a-z0-9.-]{0,60}webhook\.office\.com|[a-z0-9.-]{1,60}logic\.azure\.com(?::\d{1,5})?"
        r"|hooks\.zapier\.com|chat\.googleapis\.com|discord(?:app)?\.com/api)/"
        r"(?:services|workflows|webhookb2|hooks|webhooks|v1/spaces)/[^\s\"'<>\[\])]{20,600}",
    ),
    (
        "stripe-key",
        ("sk_", "rk_", "whsec_"),
        _EDGE + r"(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,300}|whsec_[A-Za-z0-9]{16,300})",
    ),
    ("npm-token", ("npm_",), _EDGE + r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    ("pypi-token", ("pypi-",), _EDGE + r"pypi-[A-Za-z0-9_-]{32,300}"),
    ("huggingface-token", ("hf_",), _EDGE + r"hf_[A-Za-z0-9]{30,300}"),
    (
        "supabase-key",
        ("sb_", "sbp_"),
        _EDGE + r"(?:sb_secret_[A-Za-z0-9_-]{16,300}|sbp_[a-f0-9]{40})",
    ),
    ("sendgrid-key", ("SG.",), _EDGE + r"SG\.[A-Za-z0-9_-]{16,100}\.[A-Za-z0-9_-]{16,100}"),
    (
        "jwt",
        ("eyJ",),
        _EDGE
        + r"eyJ[A-Za-z0-9_-]{8,4000}+\.(?:eyJ[A-Za-z0-9_-]{8,8000}+\.[A-Za-z0-9_-]{0,2000}"
        + r"|[A-Za-z0-9_-]{0,1000}+(?:\.[A-Za-z0-9_-]{8,8000}+){3})",
    ),
    (
        "vendor-key",
        _PREFIXES,
        _EDGE
        + r"(?P<keep>)(?P<value>[A-Za-z][A-Za-z0-9]{1,9}[_.-]?(?:[A-Za-z0-9_~+/=-]|\.(?=[A-Za-z0-9])){12,500}+)",
    ),
    ("twitch-token", ("oauth:",), _EDGE + r"oauth:[a-z0-9]{30}(?![A-Za-z0-9])"),
    (
        "password-hash",
        ("$2a$", "$2b$", "$2y$", "$1$", "$5$", "$6$", "$y$", "$apr1$", "$argon2", "$pbkdf2"),
        r"\$(?:2[aby]|1|5|6|y|apr1|argon2(?:id|i|d)|pbkdf2[a-z0-9-]{0,10})\$[A-Za-z0-9./,=+$-]{20,300}",
    ),
    (
        "url-password",
        ("://", "%3a%2f%2f"),
        r"(?P<keep>://[^\s/:@\"'<>\[]{0,128}:)(?!\[redacted:|\$|<|\{)(?P<value>[^\s/\"'<>]{1,300})(?=@)",
    ),
    # Of a password that holds a slash or a quotation mark, up to the last `@` of the word.
    (
        "url-password",
        ("://", "%3a%2f%2f"),
        r"(?P<keep>://[^\s/:@\"'<>\[]{0,128}:)(?![0-9]{1,5}(?:[/?#\"'\s]|\Z)|\[redacted:|\$|<|\{)"
        r"(?P<value>[^\s@\[\]{}()<>,]{1,100})(?=@[A-Za-z0-9.-]{1,200}(?:[:/?\s\"']|\Z))",
    ),
    (
        "url-token",
        ("://", "%3a%2f%2f"),
        r"(?P<keep>://)(?P<value>[A-Za-z0-9_-]{20,300})(?=:?@[A-Za-z0-9.-])",
    ),
    (
        "authorization",
        ("authorization", "bearer ", "bearer%20", "basic "),
        r"(?P<keep>(?i:authorization)" + _QUOTE + r"\s{0,3}[:=,]\s{0,3}" + _QUOTE + r"(?:[A-Za-z][A-Za-z0-9-]{2,20}\s{1,3})?"
        r"|(?i:bearer|basic)\s{1,3})" + _FREE + r"(?P<value>[A-Za-z0-9_.~+/=:-]{8,8000}+)(?!\s{1,3}\[redacted:)",
    ),
    (
        "signature",
        ("signature", "sig"),
        r"(?P<keep>(?i:signature|(?<=[?&;])sig)[=:]\s?)(?P<value>[A-Za-z0-9%+/=_-]{32,600})",
    ),
    (
        "cookie",
        ("cookie",),
        r"(?P<keep>(?i:cookie2?)" + _QUOTE + r"\s{0,3}[:=\s,]\s{0,3}" + _QUOTE + r"[A-Za-z0-9_.$-]{1,80}=)"
        + _FREE + r"(?P<value>[^\s\"';,<>]{6,4096}(?:;\s?(?!(?i:path|domain|expires|max-age|secure|httponly|samesite))[A-Za-z0-9_.$-]{1,80}=[^\s\"';,\[]{1,4096}){0,60})",
    ),
    (
        "named-secret",
        _NAMES_OF_SECRETS,
        # Without the front of the name: looking for where it begins would cost ten times as much.
        r"(?P<keep>" + _NAME + _QUOTE + r"(?:\s{0,3},?\s{0,12}" + _QUOTE + r"(?i:value)" + _QUOTE + r")?"
        r"(?:\]|\.?)?(?P<before>\s{0,3})(?P<sign>:=|=>|==?|:|%3[adAD])(?:\s{0,3}[|>]-?)?(?P<after>\s{0,12})(?:[@urbf]?" + _QUOTE + r"))"
        + _FREE + r"(?!%[a-z({]|(?i:true|false|null|none|nil|undefined)\b)" + _VALUE,
    ),
    (
        "named-phrase",
        ("passphrase", "passphrase ", "seed phrase", "seed_phrase", "recovery phrase"),
        r"(?P<keep>(?i:passphrase|mnemonic|(?:seed|recovery)[_ ]phrase)" + _QUOTE + r"\s{0,3}(?:[:=]|is|\s)\s{0,3}[\"'`]?)"
        r"(?P<value>(?:[A-Za-z0-9]{2,12}[ -]){3,23}[A-Za-z0-9]{2,12})(?=[\"'`\r\n]|\Z)",
    ),
    (
        "named-key",
        _WEAK_NAMES,
        r"(?P<keep>(?P<name>(?i:key|pass|auth|psk|pw)(?i:s|[_-]?(?:data|b64|base64|[0-9]{1,2}))?)" + _QUOTE
        + r"(?:\s{0,3},?\s{0,12}" + _QUOTE + r"(?i:value)" + _QUOTE + r")?"
        r"\s{0,3}(?P<sign>:=|=>|=|:|%3[adAD])(?P<after>\s{0,3})" + _QUOTE + r")" + _FREE
        + r"(?P<value>[A-Za-z0-9+/_=.~:!@#^*-]{6,4000})(?![(\[])",
    ),
    (
        "option",
        (
            *("-password", "-passwd", "-passphrase", "-pass ", "-token", "-secret", "-apikey", "-key "),
            *("-auth ", "-user ", "-pwd ", "-credential", "-oauth2-bearer "),
        ),
        r"(?P<keep>-(?:password|passwd|passphrase|pass|token|secret|apikey|auth|credentials?|pwd|user|key|oauth2-bearer)"
        r"(?:\s{1,3}|=|[\"'],\s{0,3})[\"']?)(?!-)" + _FREE + _WORD,
    ),
    (
        "short-option",
        (" -u", " -p", " -a", " -w", " -P", " -U", " -b"),
        r"(?P<keep>\s-(?P<name>[upawPUb])(?P<after>\s{0,3})[\"']?)(?!-)" + _FREE + _WORD,
    ),
    (
        "piped-password",
        ("echo ", "printf "),
        r"(?P<keep>(?i:echo|printf)\s{1,3}(?:-n\s{1,3})?(?:['\"]%s(?:\\n)?['\"]\s{1,3})?[\"']?(?:[A-Za-z0-9_-]{1,32}:)?)" + _FREE
        + r"(?P<value>[^\s\"'|]{4,200})(?=[\"']?\s{0,3}\|\s{0,3}(?:sudo\s|passwd|chpasswd|[a-z.-]{2,20}(?:\s[^\n|]{1,200}?)?--?[a-z-]{0,20}stdin))",
    ),
    (
        "spaced-secret",
        (
            *("password ", "passwd ", "passphrase ", "password\t", "password(", "password',", 'password",'),
            *("_token ", "_secret ", "_key ", "requirepass ", "identified by", "-passin", "-passout"),
            "-securestring",
        ),
        r"(?P<keep>(?i:password|passwd|passphrase|secret|token|(?:api|access|secret|private)_?key|requirepass|identified(?:\s{1,3}with\s{1,3}\S{1,40})?\s{1,3}by|_key"
        r"|-pass(?:in|out)|-securestring(?:\s{1,3}-(?:string|asplaintext|force)){0,3})"
        r"(?:\s{1,3}(?:is|was|as|to|for\s{1,3}[^\s]{1,40}\s{1,3}is)\b:?)?(?:[\"'],)?[\s(]{1,4}(?:pass:)?(?P<quote>[\"'`]{0,1}))"
        + _FREE + r"(?P<value>[^\s\"'`<>|]{4,500})",
    ),
    (
        "netrc",
        ("login", "machine "),
        r"(?P<keep>(?i:machine\s{1,4}\S{1,200}\s{1,8}|(?=login))(?i:login|account)\s{1,8}\S{1,200}\s{1,8}(?:account\s{1,8}\S{1,200}\s{1,8})?(?i:password)\s{1,8})"
        + _FREE + r"(?P<value>\S{1,300})",
    ),
    (
        "netrc",
        ("machine ",),
        r"(?P<keep>(?i:machine)\s{1,4}\S{1,200}\s{1,8}(?i:password)\s{1,8})" + _FREE + r"(?P<value>\S{1,300})",
    ),
    (
        "pgpass",
        (":5432:", ":6432:", ":*:"),
        r"(?P<keep>:(?:5432|6432|\*):[^\s:]{1,64}:[^\s:]{1,64}:)" + _FREE + r"(?P<value>[^\s:]{4,200})(?=\s|\Z)",
    ),
    (
        "tagged-secret",
        ("password>", "passwd>", "passphrase>", "token>", "secret>", "key>", "pwd>"),
        r"(?P<keep>(?i:password|passwd|passphrase|token|secret|key|pwd)>\s{0,20})" + _FREE
        + r"(?P<value>[^<\s]{4,4000})(?=\s{0,20}</)",
    ),
)
RULES: tuple[Rule, ...] = (*OWN_RULES, *VENDOR_RULES)

# The beginnings of secrets in base64, each at its three places among the letters.
_BASE64_STEMS = (
    *("LS0tLS1CRUdJT", "0tLS0tQkVHSU", "tLS0tLUJFR0lO", "QUtJQ", "FLSU", "BS0lB", "Z2hwX"),
    *("docF", "naHBf", "Z2l0aHViX3BhdF", "dpdGh1Yl9wYXRf", "naXRodWJfcGF0X", "Z2xwYXQt"),
    *("dscGF0L", "nbHBhdC", "c2stYW50L", "NrLWFudC", "zay1hbnQt", "c2stcHJvai", "NrLXByb2ot"),
    *("zay1wcm9qL", "c2tfbGl2ZV", "NrX2xpdmVf", "za19saXZlX", "eG94Yi", "hveGIt", "4b3hiL"),
    *("eG94cC", "hveHAt", "4b3hwL", "QUl6Y", "FJem", "BSXph", "bnBtX", "5wbV", "ucG1f", "cHlwaS"),
    *("B5cGkt", "weXBpL", "ZXlKaGJHY2", "V5SmhiR2Np", "leUpoYkdja", "cGFzc3dvcm", "Bhc3N3b3Jk"),
    *("wYXNzd29yZ", "UEFTU1dPUk", "BBU1NXT1JE", "QQVNTV09SR", "c2VjcmV0", "NlY3Jld", "zZWNyZX"),
    *("U0VDUkVU", "NFQ1JFV", "TRUNSRV", "dG9rZW", "Rva2Vu", "0b2tlb", "VE9LRU", "RPS0VO"),
    *("UT0tFT", "YXBpX2tle", "FwaV9rZX", "hcGlfa2V5", "QVBJX0tFW", "FQSV9LRV", "BUElfS0VZ"),
    *("cG9zdGdyZXM6", "Bvc3RncmVzO", "wb3N0Z3Jlcz", "bXlzcWw6", "15c3FsO", "teXNxbD"),
    *("bW9uZ29kY", "1vbmdvZG", "tb25nb2Ri", "cmVkaXM6", "JlZGlzO", "yZWRpcz"),
)

# Rules that are looked for everywhere: their literal does not stand at their beginning.
ANYWHERE = frozenset(
    ["webhook", *(name for name, _, pattern in VENDOR_RULES if not pattern.startswith(_EDGE))]
)
_ALL_NAMES = frozenset(name for name, _, _ in RULES)
# Where the rules of each literal stand in the list.
_PLACES: dict[str, list[int]] = {}
for _place, (_, _literals, _) in enumerate(RULES):
    for _literal in _literals:
        _PLACES.setdefault(_literal, []).append(_place)
SECRET_NAMES = (
    "SECRET",
    "TOKEN",
    "PASSW",
    "CREDENTIAL",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
)
SHORTEST_SECRET = 8
LONGEST_FIELD = 24
LONGEST_WORD = 12  # a shorter value of lower-case letters is a word such as "disabled"

# The literals again, as the quick test wants them; to look for a word in 2 KB takes a microsecond, for a letter
# a twentieth of it. Names are looked for before each `=` and `:`: a name, its ending, a quote and three
# blanks, which JSON spells in six letters each, take no more than that. Options are looked for behind each `-`,
# and keys where a long word with a digit is. The others stand behind a sign or a word that most texts lack.
BEFORE_SIGN = 40
BEFORE_RUN = 20
# What must occur, and the literals that are looked for then.
_GATES: dict[str, tuple[str, ...]] = {
    "@": ("://",),
    "$": ("$1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$y$", "$apr1$", "$argon2", "$pbkdf2"),
    "%": ("%3a%2f%2f", "bearer%20"),
    "*": (":*:",),
    ">": ("password>", "passwd>", "passphrase>", "token>", "secret>", "key>", "pwd>"),
    "|": ("echo ", "printf "),
    "passw": ("password ", "password\t", "password(", "password',", 'password",', "passwd ", "login", "machine "),
    "passp": ("passphrase ", "passphrase"),
    "requirepass": ("requirepass ",),
    "identified": ("identified by",),
}
_PERCENT = {"%3a%2f%2f": "://", "bearer%20": "bearer "}
_NAMED: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in ("secret", "token", "pwd", "credential", "mnemonic")},
    "pass": ("passw", "passphrase", "passcode"),
    "key": _KEYS,
    "cookie": ("cookie",),
    "authorization": ("authorization",),
    "sig": ("signature", "sig"),
    "phrase": ("seed phrase", "seed_phrase", "recovery phrase"),
    "432": (":5432:", ":6432:"),
}
_PROGRAMS = (
    *("curl", "wget", "http", "sshpass", "mysql", "mariadb", " login", "redis-cli", "ldap", "7z"),
    *("zip ", "mongo", "sqlcmd", "bcp ", "smbclient", "security ", "cqlsh", "influx"),
)
_SHORT_OPTIONS = (" -u", " -p", " -a", " -w", " -P", " -U", " -b")
_PRIVATE_KEY = ("-----begin", "---- begin")
_BEFORE_LONG_WORDS = (
    *("bearer ", "basic ", "oauth:", "private-lines:", "_key ", "_secret ", "_token ", "://"),
)
_HOSTS = (
    *("hooks.slack.com/", "webhook.office.com/", "logic.azure.com", "hooks.zapier.com/"),
    *("chat.googleapis.com/", "discord.com/api/", "discordapp.com/api/"),
)
_OPTIONS: dict[str, list[str]] = {}
_PREFIX_TAILS: dict[str, dict[str, list[str]]] = {sign: {} for sign in "_-."}
_IN_LONG_WORDS: list[str] = []
for _literal in sorted(
    set(_PLACES).difference(
        *_GATES.values(), *_NAMED.values(), _WEAK_NAMES, _SHORT_OPTIONS, _PRIVATE_KEY, _BEFORE_LONG_WORDS, _HOSTS
    )
):
    if _literal[-1] in "_-." and not any(_sign in _literal[:-1] for _sign in "_-."):
        _PREFIX_TAILS[_literal[-1]].setdefault(_literal[-3:-1], []).append(_literal[:-1])
    elif _literal.startswith("-") and _literal != "-us":
        _OPTIONS.setdefault(_literal[1:4], []).append(_literal)
    else:
        _IN_LONG_WORDS.append(_literal)
_LOWER_IN_LONG_WORDS = [_literal for _literal in _IN_LONG_WORDS if _literal == _literal.lower()]
# Where a key or a text in base64 may be: so many letters, digits, `_` and `-` in a row.
_RUN = "a" * 16
_RUNS = {code: "a" if chr(code).isalnum() or chr(code) in "_-" else " " for code in range(128)}
_WEAK_ENDS = frozenset(
    ending for name in _WEAK_NAMES for ending in (name[-2:], *(name[-1] + one for one in " \t\n\"'`\\s"))
) | frozenset(f"{one}{other}" for one in "\\ \"'ntr" for other in " \"'`ntr")
_AROUND_NAMES = " \t\n\r\"'`\\"
BASE64 = "base64"

# Seconds that a rule of the user's may take on one text.
LONGEST_SECONDS = 0.5
# How far before an option its program may stand.
LONGEST_COMMAND = 400
# Over how many line breaks a secret may go on.
MOST_BREAKS = 8

_compiled: dict[str, re.Pattern[str]] = {}


class Redactor:
    """Takes secrets out of text and of JSON values, and counts what it took by rule."""

    __slots__ = ("_exact", "_own", "_spellings", "counts")

    def __init__(
        self, environment: Mapping[str, str] | None = None, rules: Mapping[str, str] | None = None
    ) -> None:
        self._exact = tuple(_secret_values(os.environ if environment is None else environment))
        # As they stand inside a JSON text, if they stand otherwise there.
        escaped = (canonical_json.dumps(secret)[1:-1] for secret in self._exact)
        self._spellings = tuple(dict.fromkeys((*self._exact, *escaped)))
        self._own: tuple[Rule, ...] = tuple(
            (name, ("",), rule) for name, rule in (rules or {}).items()
        )
        self.counts: dict[str, int] = {}

    def value(self, body: Any, serialised: str) -> Any:
        """The JSON value without secrets: itself, untouched, when there are none."""
        found = _literals_in(serialised)
        if not found and not self._own and not self._spellings:
            return body
        rules = _suspects(found)
        if not self._holds_exact(serialised):
            if not rules and not self._own:
                return body
            if not self._own and not _find_spans(_flat(body), rules):
                return body
        walked = self._walk(body, rules)
        return body if walked == body else walked

    def text(self, text: str) -> str:
        return self._clean(text, _suspects(_literals_in(text)))

    def list_secrets(self, body: Any) -> set[str]:
        """Return what the rules take out of a JSON value."""
        text = _flat(body)
        return {text[start:end] for start, end, _ in _find_spans(text, _suspects(_literals_in(text)))}

    def _clean(self, text: str, rules: Sequence[Rule]) -> str:
        for secret in self._exact:
            if secret in text:
                self._count("environment", text.count(secret))
                text = text.replace(secret, "[redacted:environment]")
        if rules:
            text = self._replace(text, _find_spans(text, rules))
        for name, _, pattern in self._own:
            with TimeLimit(name):
                text = self._apply(name, pattern, text)
        return text

    def _replace(self, text: str, spans: list[Span]) -> str:
        if not spans:
            return text
        parts, end = [], 0
        for start, stop, name in spans:
            parts += [text[end:start], f"[redacted:{name}]"]
            end = stop
            self._count(name, 1)
        return "".join(parts) + text[end:]

    def _holds_exact(self, serialised: str) -> bool:
        for spelling in self._spellings:  # noqa: SIM110  # for each record, and most have none
            if spelling in serialised:
                return True
        return False

    def _apply(self, name: str, pattern: str, text: str) -> str:
        """Apply a rule of the user's."""

        def mark(match: re.Match[str]) -> str:
            self._count(name, 1)
            return f"{match.groupdict().get('keep') or ''}[redacted:{name}]"

        return _compile(pattern).sub(mark, text)

    def _walk(self, value: Any, rules: Sequence[Rule]) -> Any:
        if isinstance(value, str):
            return self._clean(value, rules)
        if isinstance(value, dict):
            shown: dict[str, Any] = {}
            named = _named_value(value)
            for key, item in value.items():
                # A short plain name is a field of ours or of an agent's, not a secret.
                is_field = key.isidentifier() and len(key) < LONGEST_FIELD
                name = clean = key if is_field else self._clean(key, rules)
                while name in shown:  # two secrets as keys must not become one member
                    name = f"{clean}#{len(shown)}"
                shown[name] = self._member(named if named and key == "value" else key, item, rules)
            return shown
        if isinstance(value, list):
            return [self._walk(item, rules) for item in value]
        return value

    def _member(self, key: str, item: Any, rules: Sequence[Rule]) -> Any:
        """`{"password": "hunter22"}` says in its key what the text alone does not."""
        walked = self._walk(item, rules)
        if isinstance(walked, str) and (self._own or _literals_in(f"{key}=")):
            named = self._clean(f"{key}={walked}", rules)
            if named.startswith(f"{key}=") and named != f"{key}={walked}":
                return named[len(key) + 1 :]
        return walked

    def _count(self, name: str, times: int) -> None:
        self.counts[name] = self.counts.get(name, 0) + times


class TimeLimit:
    """Ends a rule of the user's that takes too long, by the timer's signal: `re` looks for signals
    while it searches. Only the main thread gets signals; in others, the form of the rules that the
    settings accept is the bound."""

    __slots__ = ("_before", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._before: Any = None

    def __enter__(self) -> None:
        import signal

        try:
            if signal.getitimer(signal.ITIMER_REAL)[0]:
                return  # the timer is in use
            self._before = signal.signal(signal.SIGALRM, self._end)
        except ValueError:
            return  # not the main thread
        signal.setitimer(signal.ITIMER_REAL, LONGEST_SECONDS)

    def _end(self, *_: object) -> None:
        raise HoldfastError(
            f"The rule redact.rules.{self._name} took longer than {LONGEST_SECONDS:g} s on one text. "
            "Nothing was written.",
            hint="Make the rule simpler, or take it out of the settings.",
            kind="slow_rule",
        )

    def __exit__(self, *_: object) -> None:
        if self._before is None:
            return
        import signal

        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)


def _compile(pattern: str) -> re.Pattern[str]:
    compiled = _compiled.get(pattern)
    if compiled is None:
        import re

        compiled = _compiled[pattern] = re.compile(pattern, re.DOTALL)
    return compiled


def _flat(value: Any) -> str:
    """Every text of a value, that of a member behind `key=`, with a NUL between two of them.

    No rule begins or ends at a place where it would not in the texts themselves: to a pattern, a NUL
    or a `=` is as little part of a word as the end of a text. So a rule that finds nothing here finds nothing
    in the value.
    """
    texts: list[str] = []
    _collect(value, texts)
    return "\0".join(texts)


def _collect(value: Any, texts: list[str]) -> None:
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, dict):
        named = _named_value(value)
        if named:
            texts.append(f"{named}={value['value']}")
        for key, item in value.items():
            if isinstance(item, str):
                texts.append(f"{key}={item}")
                texts.append(item)
            else:
                texts.append(key)
                _collect(item, texts)
    elif isinstance(value, list):
        for item in value:
            _collect(item, texts)


def _named_value(value: dict[str, Any]) -> str:
    """Return the name in `{"name": "DB_PASSWORD", "value": ...}`, as files for containers have it."""
    name = value.get("name") or value.get("key")
    return name if isinstance(name, str) and isinstance(value.get("value"), str) else ""


def _secret_values(environment: Mapping[str, str]) -> Iterable[str]:
    """Longest first, so that a value that contains another is replaced whole."""
    marks = "".join(f"[redacted:{name}]" for name, _, _ in RULES) + "[redacted:environment]"
    # A value of the environment is decoded whenever it is read.
    named = [environment[name] for name in environment if _names_secret(name.upper())]
    values = {
        value
        for value in named
        if len(value) >= SHORTEST_SECRET
        and not value.startswith("/")
        and not (_is_plain_word(value) and len(value) < LONGEST_WORD)
        and value not in marks  # or every pass would find it in the mark of the last
    }
    return sorted(values, key=lambda value: (-len(value), value))


def _names_secret(name: str) -> bool:
    for word in SECRET_NAMES:  # noqa: SIM110  # many times faster than `any`, in each process
        if word in name:
            return True
    return False


# The quick test


def _literals_in(text: str) -> set[str]:
    """Every literal of the rules that occurs in a text, or in the JSON spelling of one."""
    if "\\" in text and ("\\\n" in text or "\\\\\\n" in text):  # a line that goes on, also as JSON spells it
        text = text.replace("\\\\\\n", "").replace("\\\n", "")
    lowered = text.lower()
    found: set[str] = set()
    for gate, literals in _GATES.items():
        if gate in lowered:
            found.update([literal for literal in literals if literal in lowered])
            if gate == "%":
                found.update([_PERCENT[literal] for literal in _PERCENT if literal in found])
    signs = lowered.replace("=", ":") if "=" in lowered else lowered
    if "%" in lowered and "%3" in lowered:
        signs = signs.replace("%3d", ":").replace("%3a", ":")
    pieces = signs.split(":")
    pieces.pop()
    names = "\0".join([piece[-BEFORE_SIGN:] for piece in pieces])
    for name, literals in _NAMED.items():
        if name in names:
            found.update([literal for literal in literals if literal in names or literal[0] == ":"])
    for piece in pieces:
        if piece[-2:] in _WEAK_ENDS and piece[-8:].rstrip(_AROUND_NAMES).endswith(_WEAK_NAMES):
            found.update([weak for weak in _WEAK_NAMES if weak in piece[-8:]])
    _find_options(text, lowered, found)
    runs = text.translate(_RUNS)
    if _RUN in runs:
        _find_keys(text, lowered, runs, found)
    return found


def _find_options(text: str, lowered: str, found: set[str]) -> None:
    """Find the literals that begin with a dash."""
    has_dashes = has_options = False
    before = ""
    for piece in lowered.split("-"):
        start = piece[:3]
        if start in _OPTIONS:
            found.update([literal for literal in _OPTIONS[start] if f"-{piece[:16]} ".startswith(literal)])
        if not piece:
            has_dashes = True
        elif start[0] in "upawb" and before[-1:] == " ":
            has_options = True
        before = piece
    if has_dashes:
        found.update([literal for literal in _PRIVATE_KEY if literal in lowered])
    if has_options and any(program in lowered for program in _PROGRAMS):
        found.update([option for option in _SHORT_OPTIONS if option in text])


def _find_keys(text: str, lowered: str, runs: str, found: set[str]) -> None:
    """Find the literals of keys in the long words, and what may be base64."""
    words = set()
    start = runs.find(_RUN)
    while start >= 0:
        end = runs.find(" ", start)
        word = text[start:end] if end >= 0 else text[start:]
        if not word.replace("-", "").replace("_", "").isalpha():
            words.add(text[max(0, start - BEFORE_RUN) : start] + word)
        start = runs.find(_RUN, end) if end >= 0 else -1
    if not words:
        return
    joined = "\0".join(words)
    small = joined.lower()
    found.update([literal for literal in _BEFORE_LONG_WORDS if literal in small])
    if "://" in lowered:
        found.update([literal for literal in _HOSTS if literal in lowered])
    for sign, tails in _PREFIX_TAILS.items():
        for piece in joined.split(sign):
            if piece[-2:] in tails:
                prefixes = tails[piece[-2:]]
                found.update([prefix + sign for prefix in prefixes if _ends_in(piece, prefix)])
    if joined == small:
        found.update([literal for literal in _LOWER_IN_LONG_WORDS if literal in joined])
        return
    found.update([literal for literal in _IN_LONG_WORDS if literal in joined])
    for stem in _BASE64_STEMS:
        if stem in joined:
            found.add(BASE64)
            break


def _ends_in(text: str, word: str) -> bool:
    """Whether it ends in the word, and not merely in the end of a longer one.

    In JSON, the letter before it may be the end of an escape, such as the n of a line break.
    """
    if not text.endswith(word):
        return False
    before = text[: -len(word)]
    return (
        not before[-1:].isalnum()
        or before[-2:-1] == "\\"
        or before[-6:-4] == "\\u"
        or before[-3:-2] == "%"
    )


def _suspects(found: set[str]) -> list[Rule]:
    """The rules of which a literal was found, each with those that were."""
    suspects: list[Rule] = []
    places = {place for literal in found if literal != BASE64 for place in _PLACES[literal]}
    for place in sorted(places):
        name, literals, pattern = RULES[place]
        suspects.append((name, tuple([each for each in literals if each in found]), pattern))
    if BASE64 in found:
        suspects.append((BASE64, (), ""))
    return suspects


# The search


def _find_spans(text: str, rules: Sequence[Rule]) -> list[Span]:
    """Where the secrets stand, in order; two that overlap are one, named by the first rule of the two."""
    spans = _match_rules(text, rules)
    spans += _follow_lines(text, rules, spans)
    if "%" in text:
        spans += _decode_percent(text, rules)
    if any(name == BASE64 for name, _, _ in rules):
        spans += _decode_base64(text)
    return _merge(spans)


def _merge(spans: list[Span]) -> list[Span]:
    if len(spans) < 2:  # noqa: PLR2004
        return spans
    ranked = sorted(
        (start, end, rank, name) for rank, (start, end, name) in enumerate(spans) if end > start
    )
    merged: list[tuple[int, int, int, str]] = []
    for start, end, rank, name in ranked:
        if merged and start < merged[-1][1]:
            first = merged[-1]
            rank, name = min((first[2], first[3]), (rank, name))
            merged[-1] = (first[0], max(first[1], end), rank, name)
        else:
            merged.append((start, end, rank, name))
    return [(start, end, name) for start, end, _, name in merged]


def _match_rules(text: str, rules: Sequence[Rule]) -> list[Span]:
    lowered = text.lower()
    is_aligned = len(lowered) == len(text)
    spans: list[Span] = []
    for name, literals, pattern in rules:
        if not pattern:
            continue
        compiled = _compile(pattern)
        if name in ANYWHERE or not is_aligned:
            matches: Iterator[re.Match[str]] = compiled.finditer(text)
        else:
            # Only where a literal stands: a search over all of the text costs five times as much.
            matches = _match_at(compiled, text, _positions(text, lowered, literals))
        judge = _JUDGES.get(name)
        for match in matches:
            start, end = _secret_in(match)
            if start < end and (judge is None or judge(match, text, text[start:end])):
                spans.append((start, end, name))
    return spans


def _match_at(
    compiled: re.Pattern[str], text: str, positions: list[int]
) -> Iterator[re.Match[str]]:
    end = 0
    for start in positions:
        match = compiled.match(text, start) if start >= end else None
        if match is not None:
            yield match
            # A name inside of what was taken for a name may be one of its own.
            groups = match.groupdict()
            end = match.end() if groups.get("keep") is None else max(end, match.end("keep"))


def _secret_in(match: re.Match[str]) -> tuple[int, int]:
    """The part of a match that goes."""
    groups = match.groupdict()
    for name in ("quoted", "value"):
        if groups.get(name) is not None:
            return match.span(name)
    return (match.end("keep") if groups.get("keep") is not None else match.start()), match.end()


def _positions(text: str, lowered: str, literals: Sequence[str]) -> list[int]:
    """Where the literals stand, in order."""
    found = set()
    for literal in literals:
        where = lowered if literal == literal.lower() else text
        start = where.find(literal)
        while start >= 0:
            found.add(start)
            start = where.find(literal, start + 1)
    return sorted(found)


# What is hidden


def _follow_lines(text: str, rules: Sequence[Rule], spans: list[Span]) -> list[Span]:
    """Secrets that go on after the end of a line: at a backslash, or where a terminal broke it."""
    if "\n" not in text:
        return []
    found: list[Span] = []
    if "\\\n" in text or "\\\r\n" in text:
        found += _search_joined(text, r"\\\r?\n[ \t]{0,40}", rules)
    for start, end, name in spans:
        further = _end_of_continued(text, end, 8 if name.startswith("named") else 4)
        if further > end:
            found.append((start, further, name))
    shapes = [rule for rule in rules if rule[0] in _SHAPES]
    if shapes:
        starts = {start for start, _, _ in spans}
        between = r"(?<=[A-Za-z0-9_+/=.-])\r?\n[ \t]{0,8}(?=[A-Za-z0-9_+/=.-])"
        for start, end, name in _search_joined(text, between, shapes):
            rest = text[start:end].split("\n")[1:]
            if start not in starts and rest and all(_is_continued(part.strip(), 2) for part in rest):
                found.append((start, end, name))
    return found


def _search_joined(text: str, between: str, rules: Sequence[Rule]) -> list[Span]:
    """Search a text without what a pattern finds between its lines; give places in the text as it is."""
    parts, removed, end = [], [], 0
    length = 0
    for match in _compile(between).finditer(text):
        length += match.start() - end
        parts.append(text[end : match.start()])
        removed.append((length, match.end() - match.start()))
        end = match.end()
    if not removed:
        return []
    joined = "".join(parts) + text[end:]
    found = []
    for start, stop, name in _match_rules(joined, rules):
        before = sum(width for place, width in removed if place <= start)
        inside = sum(width for place, width in removed if start < place < stop)
        if inside:
            found.append((start + before, stop + before + inside, name))
    return found


def _end_of_continued(text: str, end: int, shortest: int) -> int:
    """Where a secret that reaches the end of its line ends, if the next lines begin with more of it."""
    for _ in range(MOST_BREAKS):
        match = _compile(r"\r?\n[ \t]{0,8}([A-Za-z0-9_+/=-]{2,500}+)(?=[\s\"'`\\),;]|\Z)").match(text, end)
        if match is None or not _is_continued(match[1], shortest):
            return end
        end = match.end()
    return end


def _is_continued(part: str, shortest: int) -> bool:
    """Whether the beginning of a line looks like the rest of a key, not like a word."""
    core = part.rstrip("=")
    has_digit = any(letter.isdigit() for letter in core)
    has_letter = any(letter.isalpha() for letter in core)
    if len(core) < shortest or not core.isascii() or core.count("-") + core.count("_") > 2:  # noqa: PLR2004
        return False
    return (has_digit and has_letter) or _is_mixed(core)


def _is_mixed(text: str) -> bool:
    """Whether capitals stand among small letters as they do by chance, not as in a name."""
    changes = sum(a.islower() != b.islower() for a, b in zip(text, text[1:], strict=False))
    return len(text) >= 8 and changes * 3 >= len(text)  # noqa: PLR2004


def _decode_percent(text: str, rules: Sequence[Rule]) -> list[Span]:
    """Secrets in words with percent signs, as in the parameters of a URL."""
    found = []
    for word in _compile(r"[^\s\"'<>`]+").finditer(text):
        if "%" not in word[0]:
            continue
        letters: list[str] = []
        places: list[int] = []
        for one in _compile(r"%([0-9A-Fa-f]{2})|(.)").finditer(text, *word.span()):
            letters.append(one[2] or chr(int(one[1], 16)))
            places.append(one.start())
        decoded = "".join(letters)
        if len(decoded) == len(word[0]):
            continue
        places.append(word.end())
        for start, end, name in _match_rules(decoded, rules):
            if "[redacted:" not in decoded[start:end]:
                found.append((places[start], places[end], name))
    return found


def _decode_base64(text: str) -> list[Span]:
    """Runs of base64 whose text holds a secret."""
    found = []
    runs = r"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/]{60,80}\r?\n)*[A-Za-z0-9+/_-]{16,100000}+={0,2}"
    for run in _compile(runs).finditer(text):
        decoded = _decode(run[0])
        if decoded and _find_spans(decoded, _suspects(_literals_in(decoded) - {BASE64})):
            found.append((*run.span(), BASE64))
    return found


def _decode(run: str) -> str:
    """The text of a run of base64, or nothing where it holds none."""
    import binascii

    letters = "".join(run.split()).rstrip("=").replace("-", "+").replace("_", "/")
    letters += "=" * (-len(letters) % 4)
    try:
        text = binascii.a2b_base64(letters).decode("ascii")
    except ValueError:
        return ""
    return text if all(letter.isprintable() or letter in "\r\n\t" for letter in text) else ""


# Judges: whether what a rule found is a secret


_PLACEHOLDERS = (
    *("/", "./", "../", "~", "http://", "https://", "os.", "env.", "process.", "...", "***", "=", "|"),
    *("xxx", "XXX", "your", "YOUR", "secrets.", "vars.", "self.", "this.", "file:", "env:", "op://"),
    *("arn:", "projects/", "\\", "*", "%(", "%s", "&", "$"),
)
_LETTERS_OF_OPTIONS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
_SECRET_WORDS = ("passw", "token", "secret", "key", "cred", "auth", "pwd", "pass")


def _is_free(value: str) -> bool:
    """Whether a value can be a secret at all: no path, variable, template or mark."""
    return not value.startswith(_PLACEHOLDERS) and "[redacted:" not in value and "${" not in value


def _is_plain_word(value: str) -> bool:
    return value.isalpha() and value.islower()


def _is_code(value: str) -> bool:
    """Whether a value is a name from a program, such as `raw.BearerToken` or `api_key`."""
    parts = value.rstrip(".").split(".")
    if not all(part.isidentifier() for part in parts) or any(one.isdigit() for one in value):
        return False
    last = parts[-1]
    return len(parts) > 1 or (last[0].islower() and last.lower().endswith(_SECRET_WORDS))


def _has_digit_and_letter(value: str) -> bool:
    return any(one.isdigit() for one in value) and any(one.isalpha() for one in value)


def _longest_run(value: str) -> str:
    for sign in "_-./+~=:":
        value = value.replace(sign, " ")
    return max(value.split(), key=len, default="")


def _is_random(value: str, shortest: int) -> bool:
    """Whether a value holds a long enough run of letters and digits among each other."""
    run = _longest_run(value)
    digits = sum(one.isdigit() for one in run)
    return len(run) >= shortest and (2 <= digits <= len(run) - 2 or _is_mixed(run))  # noqa: PLR2004


def _judge_named(match: re.Match[str], text: str, value: str) -> bool:
    """`password=correcthorse` is a secret; "token: required" is a sentence, `Token: raw.Token` code."""
    if not _is_free(value):
        return False
    name = match["keep"].lower()
    is_password = "passw" in name or "pwd" in name or "passphrase" in name or "passcode" in name
    is_spaced = bool(match["after"])
    if len(value) < SHORTEST_SECRET and not (
        is_password and (_has_digit_and_letter(value) or not value.isalnum())
    ):
        return False
    if value.isdigit():
        return is_password and not is_spaced
    if match["quoted"] is not None:
        return is_password or not (_is_plain_word(value) and len(value) < LONGEST_WORD)
    if _is_code(value) or (is_spaced and (_is_plain_word(value) or _is_name(value))):
        return False
    return not value.startswith("-")


def _is_name(value: str) -> bool:
    """Whether a value is a plain name of a program: a type, a constant or a variable."""
    return value.isidentifier() and not any(one.isdigit() for one in value) and not _is_mixed(value)


def _judge_weak(match: re.Match[str], text: str, value: str) -> bool:
    name = match["name"].lower()
    if not _is_free(value):
        return False
    before = text[match.start() - 1 : match.start()]
    if name.startswith(("pass", "pw", "psk")):
        if match["name"].isupper() and match["after"]:
            return False  # "PASS: " of a test
        return not before.isalpha() and _has_digit_and_letter(value) and not _is_code(value)
    if name.startswith("auth"):
        return _holds_userinfo(value) or _is_random(value, 20)
    return bool(before) and before in "_-" and _is_random(value, 20)


def _holds_userinfo(value: str) -> bool:
    """Whether it is base64 of `user:password`."""
    return ":" in _decode(value) if len(value) >= SHORTEST_SECRET else False


def _judge_prefixed(match: re.Match[str], text: str, value: str) -> bool:
    if text[match.start() - 1 : match.start()] in ("+", "/"):
        return False  # in the middle of base64
    _, _, rest = value.replace("-", "_").replace(".", "_").partition("_")
    return _is_random(rest or value, 12)


def _judge_url(match: re.Match[str], text: str, value: str) -> bool:
    return _is_free(value) and value.lower() not in ("password", "pass", "pwd", "secret", "token")


def _judge_random(match: re.Match[str], text: str, value: str) -> bool:
    return _is_free(value) and _is_random(value, 12)


def _judge_authorization(match: re.Match[str], text: str, value: str) -> bool:
    if not _is_free(value):
        return False
    keep = match["keep"].lower()
    if keep.startswith("basic"):
        return _holds_userinfo(value)
    if keep.startswith("bearer") and len(value) < LONGEST_WORD:
        return False
    if value.isalpha():
        return _is_mixed(value) or _holds_userinfo(value)
    return not _is_code(value)


def _judge_option(match: re.Match[str], text: str, value: str) -> bool:
    if not _is_free(value):
        return False
    keep = match["keep"].lower()
    before = text[max(0, match.start() - BEFORE_SIGN) : match.start()]
    front = before[len(before.rstrip(_LETTERS_OF_OPTIONS)) :]
    if not (front or keep).startswith("-"):
        return False  # the end of a word such as "refresh-token"
    if "user" in keep:
        user, sign, password = value.partition(":")
        return bool(sign and password and user) and not value.replace(":", "").isdigit()
    if value.isupper() and value.isalpha():
        return False  # the name of a value, in a help text
    if "-key" in keep and not _is_random(value, 12):
        return False
    return not _is_plain_word(value) and not value.startswith(("id=", "-", ".")) and len(value) > 4  # noqa: PLR2004


def _judge_short_option(match: re.Match[str], text: str, value: str) -> bool:
    """By the program: `-p` is a password for some and a port for others."""
    line = text[max(0, match.start() - LONGEST_COMMAND) : match.start()].lower()
    line = line.replace("\\\r\n", " ").replace("\\\n", " ").rpartition("\n")[2]
    line = line[max(line.rfind("|"), line.rfind(";"), line.rfind("&&")) + 1 :]
    option, is_apart, line = match["name"], bool(match["after"]), f"{line} "
    if not _is_free(value) or value.isdigit():
        return False
    if option in "uUa" and any(one in line for one in ("curl", "wget", "http")):
        return ":" in value.strip(":") and "://" not in value
    if option == "b" and "curl" in line:
        return "=" in value and len(value) >= LONGEST_WORD
    if option == "U" and "smbclient" in line:
        return "%" in value
    if option == "p":
        if "mysql" in line or "maria" in line:
            return not is_apart
        return any(one in line for one in ("sshpass", " login", "mongo", "7z", "cqlsh", "influx"))
    if option == "a":
        return "redis-cli" in line
    if option == "w":
        return "ldap" in line or "security " in line
    return option == "P" and any(one in line for one in ("zip ", "sqlcmd", "bcp "))


def _judge_piped(match: re.Match[str], text: str, value: str) -> bool:
    return _is_free(value)


def _judge_spaced(match: re.Match[str], text: str, value: str) -> bool:
    value = value.rstrip(").,;:!?")
    if not _is_free(value) or value.startswith(("-", "(", "=")):
        return False
    keep = match["keep"].lower()
    if keep.startswith(("-pass", "-securestring", "requirepass")):
        return True
    if keep.startswith("identified"):
        return bool(match["quote"])
    if match["quote"]:
        return len(value) >= 6 and not value.isalpha()  # noqa: PLR2004
    return len(value) >= 6 and _has_digit_and_letter(value) and not _is_path(value)  # noqa: PLR2004


def _is_path(value: str) -> bool:
    return "/" in value or "." in value.strip(".") or "=" in value or "(" in value or ":" in value


def _judge_netrc(match: re.Match[str], text: str, value: str) -> bool:
    if not _is_free(value):
        return False
    return match["keep"].lower().startswith("machine") or not value.strip(".,;:").isalpha()


def _judge_free(match: re.Match[str], text: str, value: str) -> bool:
    return _is_free(value)


_JUDGES: dict[str, Any] = {
    "vendor-key": _judge_prefixed,
    "url-password": _judge_url,
    "url-token": _judge_random,
    "authorization": _judge_authorization,
    "signature": _judge_random,
    "cookie": _judge_free,
    "named-secret": _judge_named,
    "named-phrase": _judge_free,
    "named-key": _judge_weak,
    "option": _judge_option,
    "short-option": _judge_short_option,
    "piped-password": _judge_piped,
    "spaced-secret": _judge_spaced,
    "netrc": _judge_netrc,
    "pgpass": _judge_free,
    "tagged-secret": _judge_free,
}
# Rules that know a key by its own shape, whatever stands before it.
_SHAPES = _ALL_NAMES.difference(_JUDGES, ("private-key", "putty-key", "webhook", "password-hash"))
