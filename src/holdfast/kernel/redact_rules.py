"""The rules of redaction: names, literals of which one must occur, and patterns. `redact.py` says how they are used.

Every rule is bounded: it begins where its literal stands, and looks at a bounded number of letters or at
each letter once.
"""

from __future__ import annotations

from holdfast.kernel.text import split_words
from holdfast.kernel.vendor_rules import VENDOR_RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    Rule = tuple[str, tuple[str, ...], str]

# Raise it when the rules find more: `holdfast doctor` then looks again at what is stored.
RULES_VERSION = 5

KEYS = tuple(
    f"{what}{sign}key"
    for what in (
        "api",
        "access",
        "private",
        "account",
        "preshared",
        "encryption",
        "signing",
        "auth",
        "unseal",
    )
    for sign in ("", "_", "-", " ")
)
NAMES_OF_SECRETS = (
    *split_words("secret token passw passphrase passcode pwd credential mnemonic"),
    *KEYS,
)
# Names that say less: their values must look random.
WEAK_NAMES = ("key", "pass", "auth", "psk", "pw")

# In front of a key: no letter or digit, unless it belongs to an escape such as `\n`.
EDGE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
# A mark, a variable or a template: no secret.
_FREE = r"(?!\[redacted:|\$[({A-Za-z_]|<|\{)"
_QUOTE = r"(?:\\{0,3}[\"'`]|&quot;|&#3[49];)?"
_NAME = (
    r"(?i:secret|token|passwd|password|passwort|passphrase|passcode|pwd|credential|mnemonic"
    r"|(?:api|access|private|account|preshared|encryption|signing|auth|unseal)[_ -]?key)"
    r"(?i:s|[_ -]?(?:key|value|id|base|prod|production|dev|test|staging|live|b64|base64|raw|[0-9]{1,2})){0,2}"
)
# A value in quotes ends with them; a bare one at a blank, a bracket or the next parameter.
_VALUE = (
    r"(?:(?<=[\"'`])(?P<quoted>[^\s\"'`\\]{5,300}+)"
    r"|(?P<value>(?:(?!&[A-Za-z_]{1,30}=|\\[nrt\"']|&quot;)[^\s\"'`,;<>(){}\[\]\x1b]){5,300}+)(?![(\[]))"
)
_FLAGS = r"(?:-[A-Za-z0-9]{1,10}[ \t]{1,3}(?:[0-9]{1,3}[ \t]{1,3})?){1,4}"
_ARGUMENT = r"(?:[^\s-]\S{0,200}[ \t]{1,3})"
_WORD = r"(?P<value>[^\s\"'`<>|;]{4,2000})"

# Prefixes that vendors put before keys: lists of shapes grow old, prefixes do not. What follows must look random.
_PREFIX_LINES = """
akab- dnkey- HRKU- CLOJARS_ CCIPAT_ dckr_ SWMTKN- SWMKEY- gsk_ xai- pplx- tvly- figd_ ntn_ sntrys_
sntryu_ nyk_ waka_ RGAPI- sgp_ rubygems_ PMAK- PMAT- tskey- CFPAT- xkeysib- tgp_ llx- sqa_ sqp_
squ_ glsa_ glc_ glagent- glsoat- gloas- glptt- glcbt- glimt- gldt- glft- glrt- glrtr- glwt- shpat_
shpca_ shppa_ shpss_ shptka_ dop_ doo_ dor_ dos_ pscale_ NRAK- NRII- NRJS- cfat_ cfut_ hvs. hvb.
hvr. ops_ vcp_ vck_ nfp_ phx_ phc_ phs_ tfp_ BBDC- r8_ fw_ jina_ lsv2_ e2b_ fo1_ fm2_ bkua_ rnd_
whsec_ sq0atp- sq0csp- rzp_ FLWSECK- FLWSECK_ secret_ re_ napi_ apify_ pat- duffel_ mlsn. pnu_ pa-
aio_ xoxc- xoxd- lin_ csk- pcsk_ key_ hcaik_ hcalk_ sk_ live_ access- github_ glpat- npm_ hf_ sb_
sbp_ dapi AKID LTAI ATBB ATATT3 ATCTT3 AKCp EAAA IGQV EZAK ABSK
"""
_PREFIXES = tuple(_PREFIX_LINES.split())

# name, literals of which one must occur, pattern. A literal in lower case is looked for in any case, unless it
# ends in `_`, `-` or `.`. Where a pattern has a group named `keep`, that part stays in front of the mark;
# where it has one named `value` or `quoted`, that part goes if `JUDGES` says so.
OWN_RULES: tuple[Rule, ...] = (
    (
        "private-key",
        ("-----begin", "---- begin"),
        r"-----? ?BEGIN [A-Z0-9 ]{0,40}(?:PRIVATE KEY(?: BLOCK)?|SEED|(?i:static key V1)) ?-----?"
        r".*?(?:------? ?END [A-Z0-9 ]{0,40}(?:PRIVATE KEY(?: BLOCK)?|SEED|(?i:static key V1)) ?-----?|\Z)",
    ),
    (
        "putty-key",
        ("private-lines:",),
        r"(?P<keep>(?i:private-lines): ?\d{1,3}\s+)[A-Za-z0-9+/=\s]{16,9000}",
    ),
    ("aws-key", ("AKIA", "ASIA"), EDGE + r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    (
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_"),
        EDGE + r"(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255})",
    ),
    ("gitlab-token", ("glpat-",), EDGE + r"glpat-[A-Za-z0-9_.-]{16,300}"),
    ("anthropic-key", ("sk-",), EDGE + r"sk-ant-[A-Za-z0-9_-]{16,300}"),
    (
        "openai-key",
        ("sk-",),
        EDGE + r"sk-(?!ant-)(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,300}",
    ),
    ("google-key", ("AIza",), EDGE + r"AIza[A-Za-z0-9_-]{35}"),
    (
        "google-oauth",
        ("ya29.", "GOCSPX-", "1//0"),
        EDGE
        + r"(?:ya29\.[A-Za-z0-9_-]{20,2000}|GOCSPX-[A-Za-z0-9_-]{20,200}|1//0[A-Za-z0-9_-]{24,500})",
    ),
    ("linear-key", ("lin_",), EDGE + r"lin_(?:api|oauth)_[A-Za-z0-9]{16,300}"),
    (
        "slack-token",
        ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-"),
        EDGE + r"(?:xox[abprse](?:\.xox[bp])?|xapp)-[A-Za-z0-9-]{10,300}",
    ),
    (
        "webhook",
        split_words(
            "hooks.slack.com/ webhook.office.com/ logic.azure.com hooks.zapier.com/ "
            "chat.googleapis.com/ discord.com/api/ discordapp.com/api/"
        ),
        r"https://(?:hooks\.slack\.com|[a-z0-9.-]{0,60}webhook\.office\.com|[a-z0-9.-]{1,60}logic\.azure\.com(?::\d{1,5})?"
        r"|hooks\.zapier\.com|chat\.googleapis\.com|discord(?:app)?\.com/api)/"
        r"(?:services|workflows|webhookb2|hooks|webhooks|v1/spaces)/[^\s\"'<>\[\])]{20,600}",
    ),
    (
        "webhook-path",
        ("hooks/", "hook/"),
        r"(?P<keep>hooks?/(?:[A-Za-z0-9_.-]{1,40}/){0,3})(?P<value>[A-Za-z0-9_-]{20,300})(?=[\s\"'`<>)\]?]|\Z)",
    ),
    (
        "stripe-key",
        ("sk_", "rk_", "whsec_"),
        EDGE + r"(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,300}|whsec_[A-Za-z0-9]{16,300})",
    ),
    ("npm-token", ("npm_",), EDGE + r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    ("pypi-token", ("pypi-",), EDGE + r"pypi-[A-Za-z0-9_-]{32,300}"),
    ("huggingface-token", ("hf_",), EDGE + r"hf_[A-Za-z0-9]{30,300}"),
    (
        "supabase-key",
        ("sb_", "sbp_"),
        EDGE + r"(?:sb_secret_[A-Za-z0-9_-]{16,300}|sbp_[a-f0-9]{40})",
    ),
    ("sendgrid-key", ("SG.",), EDGE + r"SG\.[A-Za-z0-9_-]{16,100}\.[A-Za-z0-9_-]{16,100}"),
    (
        "jwt",
        ("eyJ",),
        EDGE
        + r"eyJ[A-Za-z0-9_-]{8,4000}+\.(?:eyJ[A-Za-z0-9_-]{8,8000}+\.[A-Za-z0-9_-]{0,2000}"
        + r"|[A-Za-z0-9_-]{0,1000}+(?:\.[A-Za-z0-9_-]{8,8000}+){3})",
    ),
    ("mapbox-token", ("eyJ",), r"(?<=\bsk\.)eyJ[A-Za-z0-9_-]{20,400}+\.[A-Za-z0-9_-]{20,64}"),
    ("twilio-key", ("SK",), EDGE + r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    (
        "twitter-token",
        ("AAAAAAAAAAAAAAAAAAAAA",),
        EDGE
        + r"(?P<keep>)(?P<value>A{20,24}(?:[A-Za-z0-9]|%[0-9A-F]{2}){60,120}+)(?![A-Za-z0-9+/=])",
    ),
    (
        "dotted-token",
        (".",),
        r"(?<![A-Za-z0-9_.-])(?:[MNO][A-Za-z0-9_-]{23,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"
        r"|pat[A-Za-z0-9]{14}\.[0-9a-f]{64})(?![A-Za-z0-9_-])",
    ),
    (
        "vendor-key",
        _PREFIXES,
        EDGE
        + r"(?P<keep>)(?P<value>[A-Za-z][A-Za-z0-9]{1,9}[_.-]?(?:[A-Za-z0-9_~+/=-]|\.(?=[A-Za-z0-9])){12,500}+)",
    ),
    ("crates-token", ("cio",), r"(?<![A-Za-z0-9+/_-])cio[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    ("twitch-token", ("oauth:",), EDGE + r"oauth:[a-z0-9]{30}(?![A-Za-z0-9])"),
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
        r"(?P<keep>://)(?P<value>[A-Za-z0-9_-]{20,300})(?=(?::[^\s/:@\"'<>]{0,64})?@[A-Za-z0-9.-])",
    ),
    (
        "authorization",
        ("authorization", "bearer ", "bearer%20", "basic "),
        r"(?P<keep>(?i:authorization)"
        + _QUOTE
        + r"\s{0,3}[:=,]\s{0,3}"
        + _QUOTE
        + r"(?:[A-Za-z][A-Za-z0-9-]{2,20}\s{1,3})?"
        r"|(?i:bearer|basic)\s{1,3})"
        + _FREE
        + r"(?P<value>[A-Za-z0-9_.~+/=:-]{8,8000}+)(?!\s{1,3}\[redacted:)",
    ),
    (
        "signature",
        ("signature", "sig"),
        r"(?P<keep>(?i:signature|(?<=[?&;])sig)[=:]\s?)(?P<value>[A-Za-z0-9%+/=_~-]{32,600})",
    ),
    (
        "cookie",
        ("cookie",),
        r"(?P<keep>(?i:cookie2?)"
        + _QUOTE
        + r"\s{0,3}[:=\s,]\s{0,3}"
        + _QUOTE
        + r"[A-Za-z0-9_.$-]{1,80}=)"
        + _FREE
        + r"(?P<value>[^\s\"';,<>]{1,4096}(?:;\s?(?!(?i:path|domain|expires|max-age|secure|httponly|samesite))[A-Za-z0-9_.$-]{1,80}=[^\s\"';,\[]{1,4096}){0,60})",
    ),
    (
        "named-secret",
        NAMES_OF_SECRETS,
        # Without the front of the name: looking for where it begins would cost ten times as much.
        r"(?P<keep>"
        + _NAME
        + _QUOTE
        + r"(?:\s{0,3},?\s{0,12}"
        + _QUOTE
        + r"(?i:value)"
        + _QUOTE
        + r")?"
        r"(?:\]|\.|\*\*| \[[^\]\n]{0,40}\])?\s{0,3}"
        # With its type in between, only before a quote.
        r"(?:(?::|\b(?:[Aa]s)?)\s{0,3}&?[A-Za-z][A-Za-z0-9_.<>?|]{0,40}\s{0,3}=(?=\s{0,3}[\"'`])|:=|=>|==?|:|%3[adAD])"
        r"(?:\*\*|\s{0,3}[|>]-?|\s{1,3}[&!][A-Za-z_]{1,20}(?=\s))?(?P<after>\s{0,12})(?:\x1b\[[0-9;]{0,12}m)?(?:[@urbf]?"
        + _QUOTE
        + r"))"
        + _FREE
        + r"(?!%[a-z({]|(?i:true|false|null|none|nil|undefined)\b)"
        + _VALUE,
    ),
    (
        "quoted-words",
        NAMES_OF_SECRETS,
        r"(?P<keep>(?:SECRET|TOKEN|PASSW(?:OR)?D|PASSPHRASE|(?:API|ACCESS)_KEY)=[\"'])"
        + _FREE
        + r"(?P<value>[^\s\"'`\\]{1,200}(?: [^\s\"'`\\]{1,1000}){1,12})(?=[\"'])",
    ),
    (
        "app-password",
        ("passw", "password "),
        r"(?P<keep>(?i:password)"
        + _QUOTE
        + r"\s{0,3}(?:[:=]|is)\s{0,3}[\"'`]?)(?P<value>[a-z]{4}(?:[ -][a-z]{4}){3})(?![a-z])",
    ),
    (
        "named-phrase",
        ("passphrase", "passphrase ", "mnemonic", "seed phrase", "seed_phrase", "recovery phrase"),
        r"(?P<keep>(?i:passphrase|mnemonic|(?:seed|recovery)[_ ]phrase)"
        + _QUOTE
        + r"\s{0,3}(?:[:=]|is|\s)\s{0,3}[\"'`]?)"
        r"(?P<value>(?:[a-z]{3,8} ){11,23}[a-z]{3,8}(?![A-Za-z0-9])|(?:[A-Za-z0-9]{2,12}[ -]){3,23}[A-Za-z0-9]{2,12}(?=[\"'`\r\n]|\Z))",
    ),
    (
        "named-key",
        WEAK_NAMES,
        r"(?P<keep>(?P<name>(?i:key|pass|auth|psk|pw)(?i:s|[_-]?(?:data|b64|base64|[0-9]{1,2}))?)"
        + _QUOTE
        + r"(?:\s{0,3},?\s{0,12}"
        + _QUOTE
        + r"(?i:value)"
        + _QUOTE
        + r")?"
        r"\s{0,3}(?P<sign>:=|=>|=|:|%3[adAD])(?P<after>\s{0,3})"
        + _QUOTE
        + r")"
        + _FREE
        + r"(?P<value>[A-Za-z0-9+/_=.~:!@#^*-]{6,4000})(?![(\[])",
    ),
    (
        "option",
        (
            "-password",
            "-passwd",
            "-passphrase",
            "-pass ",
            "-token",
            "-secret",
            "-apikey",
            "-key ",
            "-body ",
            "-value ",
            "-auth ",
            "-user ",
            "-creds ",
            "-pwd ",
            "-credential",
            "-oauth2-bearer ",
            "-storepass ",
            "-keypass ",
        ),
        r"(?P<keep>-(?:password|passwd|passphrase|pass|token|secret|apikey|auth|credentials?|creds|pwd|user|key|oauth2-bearer|storepass|keypass|secret-string|body|value)"
        r"(?:\s{1,3}|=|[\"'],\s{0,3})[\"']?)(?!-)" + _FREE + _WORD,
    ),
    (
        "short-option",
        (" -u", " -p", " -a", " -w", " -P", " -U", " -b", " -k", " -A"),
        r"(?P<keep>\s-(?P<name>[upawPUbkA])(?P<after>\s{0,3}|=)[\"']?)(?!-)" + _FREE + _WORD,
    ),
    (
        "piped-password",
        ("echo ", "printf "),
        r"(?P<keep>(?i:echo|printf)\s{1,3}(?:-n\s{1,3})?(?:['\"]%s(?:\\n)?['\"]\s{1,3})?[\"']?(?:[A-Za-z0-9_-]{1,32}:)?)"
        + _FREE
        + r"(?P<value>[^\s\"'|]{4,200})(?=[\"']?\s{0,3}\|\s{0,3}(?:sudo\s|passwd|chpasswd|cryptsetup|[a-z.-]{2,20}(?:\s[^\n|]{1,200}?)?(?:--?[a-z-]{0,20}stdin|\s(?:secrets?|env|login)\s)))",
    ),
    (
        "spaced-secret",
        (
            "password ",
            "passwd ",
            "passwort ",
            "passphrase ",
            "password\t",
            "password(",
            "password',",
            'password",',
            "token ",
            "secret ",
            "key ",
            "requirepass ",
            "identified by",
            "-passin",
            "-passout",
            "-securestring",
        ),
        r"(?P<keep>(?i:password|passwd|passwort|passphrase|secret|token|key|requirepass|identified(?:\s{1,3}with\s{1,3}\S{1,40})?\s{1,3}by"
        r"|-pass(?:in|out)|-securestring(?:\s{1,3}-(?:string|asplaintext|force)){0,3})"
        r"(?:\s{1,3}(?:is|was|as|to|ist|lautet|(?:for|of|on)(?:\s{1,3}[^\s]{1,40}){1,5}?\s{1,3}(?:is|was|to))\b:?|\s{1,3}(?:->|=>|\|))?(?:[\"'],)?(?:[\s(]{1,4}|[ \t]{5,24})(?:pass:)?(?P<quote>[\"'`]{0,1}))"
        + _FREE
        + r"(?P<value>[^\s\"'`<>|]{4,500})",
    ),
    (
        "oracle-password",
        ("sqlplus ", "thin:"),
        r"(?P<keep>(?i:sqlplus\s{1,3}(?:-\S{1,20}\s{1,3}){0,3}|thin:)[A-Za-z0-9_$#]{1,64}/)"
        + _FREE
        + r"(?P<value>[^\s/@\"']{3,128})(?=@)",
    ),
    (
        "htpasswd",
        ("htpasswd ",),
        r"(?P<keep>(?i:htpasswd)[ \t]{1,3}(?=[^\n]{0,40}?-[A-Za-z]{0,6}b)"
        r"(?:(?=[^\n]{0,40}?-[A-Za-z]{0,6}n)"
        + _FLAGS
        + _ARGUMENT
        + r"|"
        + _FLAGS
        + _ARGUMENT
        + _ARGUMENT
        + r")[\"']?)"
        + _FREE
        + _WORD,
    ),
    (
        "netrc",
        ("login", "machine "),
        r"(?P<keep>(?i:machine\s{1,4}\S{1,200}\s{1,8}|(?=login))(?i:login|account)\s{1,8}\S{1,200}\s{1,8}(?:account\s{1,8}\S{1,200}\s{1,8})?(?i:password)\s{1,8})"
        + _FREE
        + r"(?P<value>\S{1,300})",
    ),
    (
        "netrc",
        ("machine ",),
        r"(?P<keep>(?i:machine)\s{1,4}\S{1,200}\s{1,8}(?i:password)\s{1,8})"
        + _FREE
        + r"(?P<value>\S{1,300})",
    ),
    (
        "pgpass",
        (":5432:", ":6432:", ":*:"),
        r"(?P<keep>:(?:5432|6432|\*):[^\s:]{1,64}:[^\s:]{1,64}:)"
        + _FREE
        + r"(?P<value>[^\s:]{4,200})(?=\s|\Z)",
    ),
    (
        "tagged-secret",
        ("password>", "passwd>", "passphrase>", "token>", "secret>", "key>", "pwd>"),
        r"(?P<keep>(?i:password|passwd|passphrase|token|secret|key|pwd)>\s{0,20})"
        + _FREE
        + r"(?P<value>[^<\s]{4,4000})(?=\s{0,20}</)",
    ),
)

# Places where a secret has no name of its own: calls, markup, prose. The quick test looks for the literals of a
# group only where its gate occurs.
_NAMES = ("password", "passwd", "pass", "pwd", "secret", "token", "key")
_ANY_NAME = r"(?i:password|passwd|pass|pwd|secret|token|key)"
_QUOTES = r"\\{0,3}[\"'`]"
_TEXT = _QUOTES + r"[^\"'`\n]{0,200}?" + _QUOTES
_IN_QUOTES = r"(?P<value>[^\s\"'`\\<>]{6,400})(?=\\{0,3}[\"'`])"

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
        + _QUOTES
        + r",\s{0,16}[brufBRUF]?"
        + _QUOTES
        + r")(?P<value>[^\"'`\n\\]{6,300})(?=\\{0,3}[\"'`])",
    ),
    (
        "default-secret",
        BESIDE_BARS,
        r"(?P<keep>\|\| " + _QUOTES + r")" + _IN_QUOTES,
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
        + _QUOTES
        + r"password)[^<>]{1,400}?\bvalue="
        + _QUOTES
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
        r"" + _QUOTES + r")" + _IN_QUOTES,
    ),
    (
        "called-secret",
        ("connect(", "connection(", "mysqli(", "pdo("),
        r"(?P<keep>(?i:connect|connection|mysqli|pdo)\(\s{0,12}"
        + _TEXT
        + r"\s{0,3},\s{0,12}"
        + _TEXT
        + r"\s{0,3},\s{0,12}"
        + _QUOTES
        + r")"
        + _IN_QUOTES,
    ),
    (
        "called-secret",
        ("btoa(", "b64encode("),
        r"(?P<keep>(?i:btoa|b64encode)\(\s{0,3}[brf]?"
        + _QUOTES
        + r"[^\s\"'`:]{1,64}:)"
        + _IN_QUOTES.replace("{6,", "{4,"),
    ),
    (
        "called-key",
        ("client(", "credentials("),
        r"(?P<keep>(?i:client|credentials)\(\s{0,12}(?:"
        + _TEXT
        + r"\s{0,3},\s{0,12})?"
        + _QUOTES
        + r")"
        + _IN_QUOTES,
    ),
    (
        "filled-secret",
        (".fill(", ".type(", "send_keys(", "sendkeys("),
        r"(?P<keep>(?i:\.fill|\.type|send_?keys)\(\s{0,12}(?:" + _TEXT + r"\s{0,3},\s{0,12})?"
        r"" + _QUOTES + r")" + _IN_QUOTES,
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

RULES: tuple[Rule, ...] = (*OWN_RULES, *CONTEXT_RULES, *VENDOR_RULES)
