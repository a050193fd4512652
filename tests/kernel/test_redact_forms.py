"""The forms in which secrets come along, in a note, in a prompt and in the output of a tool."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from holdfast.hooks.after_turn import after_turn
from holdfast.kernel import canonical_json
from holdfast.kernel.redact import Redactor
from tests.cli.conftest import Holdfast
from tests.clients.usage import conftest as usage
from tests.clients.usage.conftest import Home
from tests.kernel.secret_forms import AWS, FORMS, MIXED, PASSWORD, Form, encode, is_seen
from tests.session.test_observation_kept import call, result, said_by_person

home, holdfast = usage.home, usage.holdfast


def redact(text: str) -> str:
    return Redactor(environment={}).text(text)


def test_the_table_is_long_enough() -> None:
    assert len(FORMS) >= 121


@pytest.mark.parametrize("name", FORMS)
def test_a_secret_of_this_form_is_taken_out(name: str) -> None:
    form = FORMS[name]
    shown = redact(form.text)
    assert is_seen(form, form.text)
    assert not is_seen(form, shown)
    assert redact(shown) == shown, "redacting again changes nothing"
    value = {"before": ["some", "words"], "text": form.text, "then": "others"}
    clean = Redactor(environment={}).value(value, canonical_json.dumps(value))
    assert clean == {**value, "text": shown}, "the quick test alone missed it"


def list_seen(forms: dict[str, Form], shown: str) -> list[str]:
    """Return the forms of which a text shows a part; several have the same made-up letters."""
    return [name for name, form in forms.items() if is_seen(form, shown)]


def test_no_note_shows_a_secret_of_the_table(home: Home, holdfast: Holdfast) -> None:
    for form in FORMS.values():
        assert holdfast("note", "--", form.text).code == 0
    shown = Path(".notes/default.md").read_text()
    kept = canonical_json.dumps([record["body"] for record in home.workspace.journal.since(0)])
    assert shown.count("[redacted:") >= len(FORMS)
    assert list_seen(FORMS, shown + kept) == []


BATCH = 12


@pytest.mark.parametrize("place", ["prompt", "output", "failed output"])
def test_no_session_keeps_or_shows_a_secret_of_the_table(
    place: str, home: Home, holdfast: Holdfast
) -> None:
    names = list(FORMS)
    marks = last = 0
    for first in range(0, len(names), BATCH):
        session = f"s{first}"
        lines = []
        forms = {name: FORMS[name] for name in names[first : first + BATCH]}
        for number, form in enumerate(forms.values()):
            text = form.text
            lines.append(said_by_person(text if place == "prompt" else "Look at it.", number))
            lines.append(call("Bash", {"command": f"make test{number}"}, number))
            said = text if "output" in place else "ok"
            lines.append(result(said, number, failed=place == "failed output"))
        path = home.claude("".join(lines), session)
        after_turn(home.workspace, "claude", session, str(path), usage.NOW)
        shown = holdfast("resume", "--session", session, "--json").out
        records = home.workspace.journal.since(last)
        last = records[-1]["seq"]
        kept = canonical_json.dumps([one["body"] for one in records])
        assert list_seen(forms, shown + kept) == []
        marks += (shown + kept).count("[redacted:")
    # Of an output without a failure only the names in it are kept.
    assert marks or place == "output", "nothing of this place is kept: the test would say nothing"


# What the how-to says that passes. Once a rule finds one, it moves into the table.
PASSING = {
    "a word": "password: swordfish",
    "a bare secret key": f"it is {MIXED[:40]}",
    "cut early": f"use {AWS[:12]}\n{AWS[12:]} now",
    "three times": encode(encode(encode(f"DB_PASSWORD={PASSWORD}"))),
}


@pytest.mark.parametrize("name", PASSING)
def test_what_is_said_to_pass_does(name: str) -> None:
    assert redact(PASSING[name]) == PASSING[name]


READABLE = (
    "max_tokens=4096, total_tokens: 128000, token_count=17",
    "password_field = forms.CharField(widget=PasswordInput)",
    "def login(token: str, password: Optional[str] = None) -> None:",
    'api_key=os.environ["OPENAI_API_KEY"]',
    "api_key = os.getenv('API_KEY')",
    "SECRET_KEY: Final = load_secret()",
    "Token: raw.BearerToken, Password: sourceAuth.Password",
    "password=password, token=self.token, secret=config.secret",
    "password: ${DB_PASSWORD}",
    "password: {{ vault_password }}",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "the Bearer Authorization header has to be set",
    "--token TOKEN  the token to use",
    "use --password-stdin, or --password to be asked",
    "pass --token to the command",
    "mkdir -p src/holdfast && docker run -p 8080:80 -u 1000:1000 image",
    "git push -u origin main:main",
    "curl -u $USER:$PASS https://x.example",
    "--- PASS: TestEnsureAuthForService_405ProbeWithCreds (0.00s)",
    "the refresh-token handling and the target-token flag",
    "records identified by strategy in metadata",
    "https://github.com/a/b/commit/8f14e45fceea167a5a36dedd4bea2543ab12cd34",
    "https://localhost:8080/path@2x.png and git@github.com:a/b.git",
    "ssh://git@github.com/a/b.git",
    "docker pull r.example/image@sha256:" + "0a1b2c3d" * 8,
    'integrity="sha512-' + "Zx9Qw7Lm3Kp5Rt1Vb8Nc2Hd6Jf4Gs0Ya" * 2 + '=="',
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=",
    "session 3f9a1c7e-5b2d-4064-af17-c93be852d06f ended",
    "key: primary, cache_key=user:17, public_key=id_rsa.pub",
    "keys = sorted(mapping, key=lambda item: item[0])",
    "20261118T153010Z 14.02s 0x7f3a54183ce0",
    "tests/kernel/test_redact.py::test_a_vendors_secret_is_taken_out_wherever_it_stands",
    "ModuleNotFoundError: No module named 'holdfast.kernel.secret_forms_2'",
    "sk-learn, task-007, risk-based, npm_config_cache, hf_hub_download, github_actions_workflow_2",
    "re_compile_everything_2024, key_value_store_v2, secret_santa_2025, access-control-allow-origin",
    "cookie: required; the login and password fields",
    "password: required, secret: optional, token: null",
    "-----BEGIN CERTIFICATE-----",
    "INSERT INTO users (name, password) VALUES (?, ?), (:name, :password), ($1, $2)",
    "name,password,email\nada,required,optional\nbob,unknown,none\n",
    "Name, password, and email.\nThe last one, as I said, is optional.\n",
    "htpasswd -c /etc/nginx/htpasswd ada, or htpasswd -b FILE USER",
    "ABCD-EFGHI1-ABCDE-ABCDEFG and AbCdEf_1AbcA_2BbcA-3BbcAd",
    "echo done | tee log && echo 12 | sudo tee file",
    'setenv("TOKEN", "value"); headers.get("X-Token", "default-2")',
    'connect("localhost", "user1", "test"); Client("https://api.x.example/v1/users2")',
    'process.env.TOKEN || "dev-token"; page.fill("#user", "bob42")',
    '<label for="password">Password</label> <key>SMTPPassword</key><string></string>',
    "kind: Secret\nmetadata:\n  name: database-credentials\ntype: Opaque",
    "admin:x:0:0, user admin:editor, log in as admin / reader on staging, pw is required",
    "ssh -p 2222 -u ada, psql -U app -p 5432, pytest -p no:cacheprovider -u x, git log -p -u src2/file",
    "token budget: req_" + MIXED[:24] + " done, max_output_tokens: 1, call_" + MIXED[:24],
    "the token of TestOAuth2AccessTokenRefreshVersion2 and of src/hooks/use-token-2.ts",
    "pubKeyB64 := base64.StdEncoding.EncodeToString(raw)",
    "the base64 of a token's picture is data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
    "\x1b[32mpassword\x1b[0m: \x1b[33mrequired\x1b[0m, https://x.example/cb?code=abc",
)


@pytest.mark.parametrize("text", READABLE)
def test_code_and_prose_stay_readable(text: str) -> None:
    assert redact(text) == text


HOSTILE = {
    "letters": "a" * 200_000,
    "digits and letters": "a1" * 100_000,
    "dots": "a." * 100_000,
    "names": "password=" * 20_000,
    "names and quotes": 'password="' * 20_000,
    "names and blanks": "password  : " * 20_000,
    "colons": ":" * 200_000,
    "urls": "://a:" * 40_000,
    "urls and at": "://a:b" * 30_000 + "@",
    "at": "@://" * 50_000,
    "dashes": "-" * 200_000,
    "keys that begin": "-----BEGIN PRIVATE KEY-----" * 7_000,
    "options": "--password " * 18_000,
    "short options": "curl -u " * 25_000,
    "pipes": "echo a | " * 22_000 + "sudo -S",
    "echoes": "echo " * 40_000 + "| sudo -S passwd",
    "percent": "%41" * 66_000,
    "percent names": "password%3D%20" * 14_000,
    "base64": "cGFzc3dvcmQ9" * 16_000,
    "jwt": "eyJ" * 60_000 + "." + "eyJ" * 10_000,
    "jwts": "eyJabcdefghij.eyJ" * 12_000,
    "lines": "ghp_aaaaaaaaaa\n" * 13_000,
    "continued": "TOKEN=a1b2c3d4\\\n" * 12_000,
    "cookies": "cookie: a=bbbbbbbb; " * 10_000,
    "cookie": "cookie: " + "a=bbbbbbb; " * 18_000,
    "netrc": "machine a login " * 12_000 + "password",
    "phrases": "passphrase: " + "ab " * 60_000,
    "hashes": "$6$" * 60_000,
    "xml": "<password>" * 20_000,
    "bearer": "bearer " * 28_000,
    "authorization": "authorization: " * 13_000,
    "values": "password value " * 13_000,
    "prefixes": "sk-" * 60_000,
    "mailchimp": "a1" * 90_000 + "-us1",
    "pgpass": ":5432:a:b" * 20_000,
    "webhooks": "https://hooks.slack.com/services/" * 6_000,
    "columns": "a,password,b\n" + "1,2\n" * 50_000,
    "tables": "a,password\n" * 18_000,
    "rows": "INSERT INTO u (a, password) VALUES " + "('a', 'b')," * 16_000,
    "quotes": "INSERT INTO u (password) VALUES ('" + "''" * 90_000,
    "inserts": "INSERT INTO u (password" * 8_000,
    "htpasswd": "htpasswd -b " * 15_000,
    "escapes": '\\"' * 100_000 + "token",
    "machine words": "machine " * 25_000 + " password",
    "inputs": "<input type=password value=" * 7_000,
    "calls": "login('a', " * 18_000,
    "clients": 'client("' * 25_000,
    "generated": "random_password" * 13_000,
    "manifests": "kind: Secret\ndata:\n  a: b\n" * 7_000,
    "data": "kind: Secret\n" + "data:\n  a: abcdefgh\n" * 9_000,
    "coloured": "\x1b[0mpassword=" * 13_000,
    "near": "token " + "aB3" * 66_000,
    "near lines": "token Zx9Qw7Lm3Kp5Rt1Vb8Nc2Hd6\n" * 6_000,
    "logins": " login a" * 25_000,
    "logged in": "log in as a / " * 14_000,
    "pairs": "password', " * 18_000,
    "pieces": 'token = "' + 'a1b2c3d4" + "' * 15_000,
    "digests": "digest username" * 13_000,
    "routes": "root:" * 40_000,
    "sources": "'a:b@tcp(" * 22_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_takes_no_longer_than_its_length(name: str) -> None:
    text = HOSTILE[name]
    began = time.process_time()
    shown = redact(text)
    taken = time.process_time() - began
    # A tenth of it takes at least a tenth of the time, a square would take a hundredth.
    assert taken < 2, f"{taken:.1f} s for {len(text)} letters"
    assert len(shown) <= 4 * len(text)
