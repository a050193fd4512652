"""Secrets for the tests, put together at run time so that no scanner trips over this source."""

from __future__ import annotations

LETTERS = "Zx9Qw7Lm3Kp5Rt1Vb8Nc2Hd6Jf4Gs0YaUeIoTzXrWqPlMkNj"
HEX = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"

# rule: one text each that it must take out.
PLANTED: dict[str, str] = {
    "aws": "AKIA" + "Q7XJ4ZP2M9KD5RTW",
    "aws temporary": "ASIA" + "Q7XJ4ZP2M9KD5RTW",
    "github": "ghp" + "_" + LETTERS[:36],
    "github app": "ghs" + "_" + LETTERS[:36],
    "github fine-grained": "github" + "_pat_" + LETTERS[:22] + "_" + LETTERS[:40],
    "gitlab": "glpat" + "-" + LETTERS[:20],
    "anthropic": "sk" + "-ant-api03-" + LETTERS[:40],
    "openai": "sk" + "-" + LETTERS[:44],
    "openai project": "sk" + "-proj-" + LETTERS[:44],
    "google": "AI" + "za" + LETTERS[:35],
    "google oauth": "ya29" + "." + LETTERS[:40],
    "google client": "GOCSPX" + "-" + LETTERS[:28],
    "linear": "lin" + "_api_" + LETTERS[:40],
    "slack": "xoxb" + "-123456789012-" + LETTERS[:24],
    "slack app": "xapp" + "-1-A0123456789-" + LETTERS[:24],
    "slack webhook": "https://hooks.slack" + ".com/services/T0123456/B0123456/" + LETTERS[:24],
    "stripe": "sk" + "_live_" + LETTERS[:24],
    "stripe restricted": "rk" + "_test_" + LETTERS[:24],
    "stripe webhook": "whsec" + "_" + LETTERS[:32],
    "npm": "npm" + "_" + LETTERS[:36],
    "pypi": "pypi" + "-" + "AgEIcHlwaS5vcmc" + LETTERS[:40],
    "hugging face": "hf" + "_" + LETTERS[:34],
    "supabase": "sb" + "_secret_" + LETTERS[:22],
    "supabase access": "sbp" + "_" + HEX,
    "sendgrid": "SG" + "." + LETTERS[:22] + "." + LETTERS[:43],
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0" + "." + LETTERS[:43],
    "private key": "-----BEGIN RSA PRIVATE"
    + " KEY-----\n"
    + LETTERS
    + "\n-----END RSA PRIVATE KEY-----",
    "pgp key": "-----BEGIN PGP PRIVATE" + " KEY BLOCK-----\n" + LETTERS,
}

# What stands around the secret stays; what is secret comes second.
NAMED: dict[str, tuple[str, str]] = {
    "assignment": ("password=", "correcthorse"),
    "yaml": ("db_password: ", "Tr0ub4dor&3"),
    "environment": ("export SERVICE_TOKEN=", "q8fjw0a9sdf"),
    "quoted": ('client_secret = "', "a-long-secret-value"),
    "json": ('"api_key": "', "0123456789abcdef"),
    "camel": ("apiKey: '", "0123456789abcdef"),
    "upper case": ("ACCESS_KEY=", "0123456789abcdef"),
    "dashed": ("private-key=", "0123456789abcdef"),
    "url": ("postgres://ada:", "s3cr3t-words"),
    "bearer": ("Authorization: Bearer ", "abcdef.123456.ghijkl"),
    "basic": ("authorization: basic ", "YWRhOmxvdmVsYWNl"),
    "bare bearer": ("curl -H bearer ", "abcdef123456ghijkl"),
}

PROSE = (
    "token: required",
    "The password: optional, see below.",
    "secret = os.environ['X']",
    "password=$PASSWORD",
    "api_key: <your key>",
    "token={{ token }}",
    "credentials: ~/.aws/credentials",
    "private_key: /etc/ssl/key.pem",
    "token: null",
    "a tokenizer: something",
    "Bearer tokens are short-lived.",
    "see https://example.org/path and ada@example.org",
    "the risk-based approach of desk-research",
    "commit 8f14e45fceea167a5a36dedd4bea2543ab12cd34",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "base64 aGVsbG8gd29ybGQsIGhvdyBhcmUgeW91",
    "src/holdfast/journal/sqlite_rows.py:120",
)
