"""Forms in which secrets come along, with made-up values, put together at run time so that no scanner trips
over this source. Each form is a text and the part of it that nobody may see."""

from __future__ import annotations

import base64
from typing import NamedTuple
from urllib.parse import quote

MIXED = "Zx9Qw7Lm3Kp5Rt1Vb8Nc2Hd6Jf4Gs0YaUeIoTzXrWqPlMkNjBv5Cx8Dz1Fq4Hw7Jy0Kt3Lu6Mi9"
LOWER = "q7x4zp2m9kd5rtwh8c3vn6jb1sg0yfa5e2iu8oxlq4w7z"
UPPER = LOWER.upper()
HEX = "3f9a1c7e5b2d8064af17c93be852d06f4a7be1905c38d26f81e4a7b03d95c2f6"
DIGITS = "48210573960"
UUID = "3f9a1c7e-5b2d-4064-af17-c93be852d06f"
PASSWORD = "tR7!kw2Zq9"
WORD = "hunter2"
LONG = MIXED[:40]


class Form(NamedTuple):
    text: str
    secrets: tuple[str, ...]


def key(prefix: str, rest: str, frame: str = "use {} for it") -> Form:
    """Return a vendor's key inside a sentence; the whole of it is secret."""
    return Form(frame.format(prefix + rest), (rest,))


def named(frame: str, value: str) -> Form:
    return Form(frame.replace("{}", value), (value,))


def encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


PEM = "\n".join(LONG[start:] + MIXED[:24] for start in range(6))
BEGIN, END = "-----BEGIN {}PRIVATE " + "KEY-----", "-----END {}PRIVATE " + "KEY-----"
JWT_HEAD = "ey" + "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
JWT_BODY = "ey" + "JzdWIiOiI0ODIxMDU3MyIsIm5hbWUiOiJBZGEifQ"
JWT = f"{JWT_HEAD}.{JWT_BODY}.{MIXED[:43]}"
GITHUB = "gh" + "p_" + MIXED[:36]
AWS = "AK" + "IA" + UPPER[:16]
ANTHROPIC = "sk-" + "ant-api03-" + MIXED[:60]

VENDORS: dict[str, Form] = {
    # clouds
    "aws access key": key("AK" + "IA", UPPER[:16]),
    "aws temporary key": key("AS" + "IA", UPPER[:16]),
    "aws secret key": named("AWS_SECRET_ACCESS_KEY={}", MIXED[:40]),
    "aws session token": named("aws_session_token = {}", MIXED + MIXED),
    "google api key": key("AI" + "za", MIXED[:35]),
    "google oauth token": key("ya" + "29.", MIXED[:60]),
    "google client secret": key("GOC" + "SPX-", MIXED[:28]),
    "azure storage": named(
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};", encode(MIXED)
    ),
    "azure sas": named(
        "https://a.blob.core.windows.net/c?sv=2024&sig={}", quote(encode(LONG), safe="")
    ),
    "azure client secret": key("", f"{MIXED[:3]}8Q~{MIXED[:34]}"),
    "digitalocean": key("dop" + "_v1_", HEX),
    "alibaba": key("LT" + "AI", MIXED[:20]),
    "tencent": key("AK" + "ID", MIXED[:32]),
    "heroku": key("HR" + "KU-", UUID),
    "fly": key("fo1" + "_", MIXED[:43]),
    "render": key("rnd" + "_", MIXED[:28]),
    "vercel": key("vcp" + "_", MIXED[:56]),
    "netlify": key("nfp" + "_", MIXED[:36]),
    "supabase": key("sbp" + "_", HEX[:40]),
    "neon": key("napi" + "_", MIXED[:64]),
    "planetscale": key("pscale" + "_tkn_", MIXED[:43]),
    "cloudflare": named("CLOUDFLARE_API_TOKEN={}", MIXED[:40]),
    "databricks": key("da" + "pi", HEX[:32]),
    "terraform": key("", f"{MIXED[:14]}.atlas" + f"v1.{MIXED[:67]}"),
    "pulumi": key("pul" + "-", HEX[:40]),
    "vault": key("hv" + "s.", MIXED + MIXED[:20]),
    "doppler": key("dp" + ".pt.", MIXED[:43]),
    # repositories and CI
    "github": key("gh" + "p_", MIXED[:36]),
    "github server": key("gh" + "s_", MIXED[:36]),
    "github fine-grained": key("github" + "_pat_", MIXED[:22] + "_" + MIXED[:59]),
    "gitlab": key("gl" + "pat-", MIXED[:20]),
    "gitlab runner": key("gl" + "rt-", MIXED[:20]),
    "bitbucket": key("AT" + "BB", MIXED[:24] + HEX[:8].upper()),
    "atlassian": key("ATA" + "TT3xFfGF0", MIXED + MIXED[:40] + "=" + HEX[:8].upper()),
    "circleci": key("CCI" + "PAT_", MIXED[:22] + "_" + HEX[:40]),
    "buildkite": key("bk" + "ua_", HEX[:40]),
    "sonarqube": key("sq" + "p_", HEX[:40]),
    "sentry": key("sntr" + "yu_", HEX),
    "grafana": key("gl" + "sa_", MIXED[:32] + "_" + HEX[:8]),
    "new relic": key("NR" + "AK-", UPPER[:27]),
    "datadog": named("DD_API_KEY={}", HEX[:32]),
    "posthog": key("ph" + "x_", MIXED[:43]),
    # chat
    "slack bot": key("xox" + "b-", f"{DIGITS}-{DIGITS}-{MIXED[:24]}"),
    "slack app": key("xa" + "pp-1-", f"A0{DIGITS}-{DIGITS}-{HEX}"),
    "slack webhook": Form(
        "https://hooks.slack" + f".com/services/T0{DIGITS}/B0{DIGITS}/{MIXED[:24]}", (MIXED[:24],)
    ),
    "discord webhook": Form(
        "https://discord" + f".com/api/webhooks/{DIGITS}{DIGITS[:8]}/{MIXED[:68]}", (MIXED[:68],)
    ),
    "telegram": key("", f"{DIGITS[:10]}:AA{MIXED[:33]}"),
    "twitch": key("oauth" + ":", LOWER[:30]),
    # payment and shops
    "stripe": key("sk" + "_live_", MIXED[:24]),
    "stripe restricted": key("rk" + "_live_", MIXED[:24]),
    "stripe webhook": key("wh" + "sec_", MIXED[:32]),
    "square": key("sq0" + "csp-", MIXED[:43]),
    "shopify": key("shp" + "at_", HEX[:32]),
    "razorpay": key("rzp" + "_live_", MIXED[:14]),
    "plaid": key("access" + "-sandbox-", UUID),
    # packages
    "npm": key("np" + "m_", MIXED[:36]),
    "pypi": key("py" + "pi-", "AgEIcHlwaS5vcmc" + MIXED + MIXED),
    "rubygems": key("ruby" + "gems_", HEX[:48]),
    "nuget": key("oy" + "2", LOWER[:43]),
    "docker hub": key("dckr" + "_pat_", MIXED[:27]),
    "jfrog": key("AK" + "Cp", MIXED[:69]),
    "clojars": key("CLO" + "JARS_", HEX[:60]),
    # AI
    "anthropic": Form(f"use {ANTHROPIC} for it", (MIXED[:60],)),
    "openai": key("sk" + "-proj-", MIXED[:48]),
    "openrouter": key("sk" + "-or-v1-", HEX),
    "groq": key("gs" + "k_", MIXED[:52]),
    "hugging face": key("hf" + "_", MIXED[:34]),
    "replicate": key("r8" + "_", MIXED[:37]),
    "perplexity": key("pp" + "lx-", MIXED[:48]),
    "xai": key("xa" + "i-", MIXED + MIXED[:4]),
    "fireworks": key("fw" + "_", MIXED[:24]),
    "langsmith": key("ls" + "v2_pt_", HEX[:32] + "_" + HEX[:10]),
    "pinecone": key("pc" + "sk_", MIXED[:60]),
    "elevenlabs": key("sk" + "_", HEX[:48]),
    # others
    "sendgrid": key("S" + "G.", MIXED[:22] + "." + MIXED[:43]),
    "mailgun": key("ke" + "y-", HEX[:32]),
    "mailchimp": key("", HEX[:32] + "-us" + "12"),
    "resend": key("re" + "_", MIXED[:8] + "_" + MIXED[10:34]),
    "linear": key("lin" + "_api_", MIXED[:40]),
    "notion": key("nt" + "n_", DIGITS[:9] + MIXED[:37]),
    "figma": key("fi" + "gd_", MIXED[:40]),
    "postman": key("PM" + "AK-", HEX[:24] + "-" + HEX[:34]),
    "airtable": named("AIRTABLE_API_KEY=pat{}", MIXED[:14] + "." + HEX),
    "twilio": named("TWILIO_AUTH_TOKEN={}", HEX[:32]),
    "age": key("AGE-" + "SECRET-KEY-1", UPPER + UPPER[:13]),
    "tailscale": key("ts" + "key-auth-", MIXED[:12] + "-" + MIXED[:32]),
    "1password": key("op" + "s_", "ey" + "J" + MIXED + MIXED + MIXED[:30]),
    "letters only": key("gh" + "p_", "ZxQwLmKpRtVbNcHdJfGsYaUeIoTzXrWqPlMk"),
    "small letters only": key("gl" + "pat-", "zxqwlmkprtvbnchdjfgs"),
    "crates": key("ci" + "o", MIXED[:32]),
    "voyage": key("pa" + "-", MIXED[:43]),
    "braintree": key("access_" + "token$production$", LOWER[:16] + "$" + HEX[:32]),
    "jwt": Form(f"it is {JWT} now", (MIXED[:43], JWT_BODY)),
}

NAMED_FORMS: dict[str, Form] = {
    "shell": named("DB_PASSWORD={}", PASSWORD),
    "export": named("export API_TOKEN='{}'", MIXED[:24]),
    "env file in quotes": named('SECRET_KEY="{}"', "django-insecure-(" + MIXED[:30] + ")"),
    "short password": named("password={}", WORD),
    "yaml": named("  password: {}", PASSWORD),
    "yaml in quotes": named("  client_secret: '{}'", MIXED[:24]),
    "yaml block": named("  api_key: |\n    {}", MIXED[:32]),
    "json": named('{"password": "{}"}', PASSWORD),
    "json in a string": named('{\\"api_key\\": \\"{}\\"}', MIXED[:24]),
    "json camel": named('"clientSecret":"{}"', MIXED[:24]),
    "toml": named('auth_token = "{}"', MIXED[:24]),
    "ini": named("smtp_pass = {}", PASSWORD),
    "rails": named("secret_key_base: {}", HEX + HEX),
    "laravel": named("APP_KEY=base64:{}", encode(MIXED[:32])),
    "go": named('Password: "{}",', PASSWORD),
    "ruby": named(':password => "{}"', PASSWORD),
    "php": named("define('DB_PASSWORD', '{}');", PASSWORD),
    "powershell": named('$env:API_KEY = "{}"', MIXED[:24]),
    "secure string": named('ConvertTo-SecureString "{}" -AsPlainText -Force', PASSWORD),
    "dockerfile": named("ENV DB_PASSWORD {}", MIXED[:16]),
    "container": named('{"name": "DB_PASSWORD", "value": "{}"}', PASSWORD),
    "kubernetes": named("- name: DB_PASSWORD\n  value: {}", PASSWORD),
    "xml": named("<password>{}</password>", PASSWORD),
    "xml pair": named('<add key="ApiKey" value="{}" />', MIXED[:24]),
    "connection string": named("Server=h;Database=d;User Id=sa;Password={};", PASSWORD),
    "query": named("https://x.example/a?user=ada&access_token={}&x=1", MIXED[:24]),
    "jdbc": named("jdbc:mysql://h/d?user=ada&password={}", PASSWORD),
    "wireguard": named("PrivateKey = {}", encode(MIXED[:32])),
    "wifi": named('psk="{}"', "Kv9-blue-77"),
    "redis": named("requirepass {}", PASSWORD),
    "sql user": named("CREATE USER ada IDENTIFIED BY '{}';", PASSWORD),
    "sql role": named("ALTER ROLE ada WITH PASSWORD '{}';", PASSWORD),
    "typed": named('const secret: string = "{}"', MIXED[:24]),
    "markdown": named("**Password:** {}", PASSWORD),
    "table": named("| password | {} |", PASSWORD),
    "arrow": named("password -> {}", PASSWORD),
    "anchor": named("token: &deploy {}", MIXED[:24]),
    "colour": named("TOKEN=\x1b[32m{}\x1b[0m", MIXED[:24]),
    "api key in prose": named("the api key is {}", MIXED[:24]),
    "token in backticks": named("use the token `{}`", MIXED[:24]),
    "sentence": named("the password is {}", PASSWORD),
    "passphrase": named('passphrase: "{}"', "correct horse battery staple"),
}

COMMANDS: dict[str, Form] = {
    "option": named("mytool --password {} --verbose", PASSWORD),
    "option with =": named("mytool --api-key={}", MIXED[:24]),
    "token option": named("vault login --token {}", MIXED[:24]),
    "option in a list": named('["mytool", "--password", "{}"]', PASSWORD),
    "curl user": named("curl -u ada:{} https://x.example", PASSWORD),
    "curl long user": named('curl -s --user "ada:{}" https://x.example', PASSWORD),
    "curl header": named("curl -H 'X-Api-Key: {}' https://x.example", MIXED[:24]),
    "curl bearer": named('curl -H "Authorization: Bearer {}"', MIXED[:32]),
    "curl cookie": named("curl -b 'session={}' https://x.example", MIXED[:24]),
    "curl over lines": named("curl -X POST \\\n  -u ada:{} \\\n  https://x.example", PASSWORD),
    "wget": named("wget --user=ada --password={} https://x.example", PASSWORD),
    "httpie": named("http -a ada:{} https://x.example", PASSWORD),
    "mysql": named("mysql -h db -uroot -p{} shop", PASSWORD),
    "sshpass": named("sshpass -p '{}' ssh ada@host", PASSWORD),
    "docker login": named("docker login -u ada -p {} r.example", PASSWORD),
    "redis-cli": named("redis-cli -h db -a {} ping", PASSWORD),
    "psql": named("PGPASSWORD={} psql -h db", PASSWORD),
    "openssl": named("openssl rsa -in k.pem -passin pass:{}", PASSWORD),
    "sudo": named("echo {} | sudo -S apt update", PASSWORD),
    "stdin": named("echo '{}' | docker login -u ada --password-stdin", PASSWORD),
    "aws configure": named("aws configure set aws_secret_access_key {}", MIXED[:40]),
    "zip": named("zip -P {} out.zip file", PASSWORD),
    "sqlplus": named("sqlplus scott/{}@db", PASSWORD),
    "keytool": named("keytool -storepass {} -list", PASSWORD),
    "npm config": named("npm config set //r.example/:_authToken {}", UUID),
    "ldap": named("ldapsearch -D cn=ada -w {} -b dc=x", PASSWORD),
    "htpasswd": named("htpasswd -b /etc/web.users ada {}", PASSWORD),
    "htpasswd to the output": named("htpasswd -nbB ada '{}' > users", PASSWORD),
    "gpg": named("gpg --batch --passphrase {} -d f.gpg", PASSWORD),
}

PLACES: dict[str, Form] = {
    "url": named("https://ada:{}@x.example/repo.git", PASSWORD),
    "url without user": named("redis://:{}@db:6379/0", PASSWORD),
    "postgres": named("postgres://ada:{}@db:5432/shop", PASSWORD),
    "mongodb": named("mongodb+srv://ada:{}@c.example/shop", PASSWORD),
    "amqp": named("amqps://ada:{}@mq.example//", PASSWORD),
    "proxy": named("HTTPS_PROXY=http://ada:{}@proxy:3128", PASSWORD),
    "url with token": named("https://{}@x.example/repo.git", MIXED[:40]),
    "git credentials": named("https://x-access-token:{}@github.example/a/b", MIXED[:40]),
    "authorization basic": named("Authorization: Basic {}", encode(f"ada:{PASSWORD}")),
    "authorization token": named("Authorization: token {}", HEX[:40]),
    "authorization bare": named("authorization: {}", MIXED[:32]),
    "proxy authorization": named("Proxy-Authorization: Basic {}", encode(f"ada:{PASSWORD}")),
    "header in code": named('headers = {"Authorization": "Bearer {}"}', MIXED[:32]),
    "cookie": named("Cookie: sid={}; theme=dark", MIXED[:32]),
    "second cookie": named("cookie: _ga=GA1; sessionid={}", MIXED[:32]),
    "set-cookie": named("Set-Cookie: session={}; Path=/; HttpOnly", MIXED[:32]),
    "api key header": named("X-Api-Key: {}", MIXED[:32]),
    "auth token header": named("X-Auth-Token: {}", HEX[:32]),
    "private token header": named("PRIVATE-TOKEN: {}", MIXED[:20]),
    "aws signature": named(
        "Authorization: AWS4-HMAC-SHA256 Credential=x/20261118/eu/s3/aws4_request, Signature={}",
        HEX,
    ),
    "netrc": named("machine api.example login ada password {}", PASSWORD),
    "netrc over lines": named("machine api.example\n  login ada\n  password {}", "swordfish"),
    "pgpass": named("db.example:5432:shop:ada:{}", PASSWORD),
    "npmrc": named("//registry.npmjs.example/:_authToken={}", UUID),
    "npmrc auth": named("//r.example/:_auth={}", encode(f"ada:{PASSWORD}")),
    "pypirc": named("[pypi]\nusername = __token__\npassword = {}", MIXED[:40]),
    "docker config": named('{"auths": {"r.example": {"auth": "{}"}}}', encode(f"ada:{PASSWORD}")),
    "htpasswd": named("ada:{}", "$apr1$" + MIXED[:8] + "$" + MIXED[:22]),
    "shadow": named("ada:{}:19000:0:99999:7:::", "$6$" + MIXED[:16] + "$" + MIXED + MIXED[:8]),
    "kubeconfig": named("    client-key-data: {}", encode(BEGIN.format("") + "\n" + PEM)),
    "kubernetes secret": named("data:\n  password: {}", encode(PASSWORD)),
    "pem": named(BEGIN.format("RSA ") + "\n{}\n" + END.format("RSA "), PEM),
    "pem escaped": named(
        '"private_key": "' + BEGIN.format("") + "\\n{}\\n" + END.format("") + '\\n"',
        PEM.replace("\n", "\\n"),
    ),
    "pem without end": named(BEGIN.format("OPENSSH ") + "\n{}", PEM),
    "putty": named("PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 2\n{}", PEM[:120]),
    "pgp": named(BEGIN.format("PGP ").replace("KEY", "KEY BLOCK") + "\n\n{}\n", PEM),
    "sql row": named("INSERT INTO users (name, password) VALUES ('ada', '{}');", PASSWORD),
    "second sql row": named(
        "insert into u (id, `password`, age) values\n(1, 'another-1', 3),\n(2, '{}', 4);", PASSWORD
    ),
    "csv": named("name,password,age\nada,{},42\n", PASSWORD),
    "csv in quotes": named('"id";"db_password"\n"1";"other-22"\n"2";"{}"\n', PASSWORD),
    "tsv": named("user\tpassword\nada\t{}\n", PASSWORD),
    "otp": named("otpauth://totp/x?secret={}&issuer=x", UPPER[:32]),
}

HIDDEN: dict[str, Form] = {
    "base64 of a key": Form(f"echo {encode(GITHUB)} | base64 -d", (encode(GITHUB),)),
    "base64 of an assignment": Form(
        encode(f"DB_PASSWORD={PASSWORD}\n"), (encode(f"DB_PASSWORD={PASSWORD}\n"),)
    ),
    "base64 of a url": Form(
        "value: " + encode(f"x postgres://ada:{PASSWORD}@db/shop"),
        (encode(f"x postgres://ada:{PASSWORD}@db/shop"),),
    ),
    "percent-encoded assignment": Form(
        f"https://x.example/?q={quote('password=' + MIXED[:20], safe='')}", (MIXED[:20],)
    ),
    "percent-encoded url": Form(
        f"https://x.example/?next={quote(f'https://ada:{MIXED[:16]}@h.example/', safe='')}",
        (MIXED[:16],),
    ),
    "base64 twice": Form(
        encode(encode(f"DB_PASSWORD={PASSWORD}")), (encode(encode(f"DB_PASSWORD={PASSWORD}")),)
    ),
    "percent-encoded twice": Form(
        f"https://x.example/?q={quote(quote('password=' + MIXED[:20], safe=''), safe='')}",
        (MIXED[:20],),
    ),
    "key over two lines": Form(
        f"use {GITHUB[:22]}\n{GITHUB[22:]} now", (GITHUB[4:22], GITHUB[22:])
    ),
    "long key over two lines": Form(
        f"export KEY={ANTHROPIC[:50]}\n{ANTHROPIC[50:]}\nls", (ANTHROPIC[13:50], ANTHROPIC[50:])
    ),
    "value over two lines": Form(
        f"AWS_SECRET_ACCESS_KEY={MIXED[:24]}\n{MIXED[24:40]}\n", (MIXED[:24], MIXED[24:40])
    ),
    "backslash at the end": Form(
        f"export TOKEN={MIXED[:20]}\\\n{MIXED[20:44]}\n", (MIXED[:20], MIXED[20:44])
    ),
    "key with a backslash": Form(f"use {AWS[:10]}\\\n{AWS[10:]} now", (AWS[4:10], AWS[10:])),
    "escaped line before it": Form(f"done\\n{GITHUB}\\nnext", (GITHUB[4:],)),
}

# What a second and a third list, written without a look at the rules, showed to pass.
LATER: dict[str, Form] = {
    "discord bot": key(
        "M" + "T" + MIXED[:22], f".{MIXED[3:9]}.{MIXED[5:43]}", "client.login('{}')"
    ),
    "airtable": key("pat" + MIXED[:14], f".{HEX[:64]}"),
    "twilio key": key("S" + "K", HEX[:32]),
    "mapbox": key("sk.ey" + "J1", f"{MIXED[:50]}.{MIXED[10:32]}"),
    "twitter bearer": key("A" * 22, f"{MIXED[1:60]}%2B{MIXED[2:20]}%3D"),
    "variable of several words": named(
        "export FLY_API_TOKEN='{}'", "FlyV1 " + MIXED[:10] + "/+" + MIXED[3:20]
    ),
    "passphrase of several words": named('BORG_PASSPHRASE="{}"', "moss and " + MIXED[:8]),
    "smtp pass of letters": named("smtp_user=me smtp_pass={}", "oakYpVJksWq"),
    "values of letters": named(
        "INSERT INTO users (name, password) VALUES ('bob', '{}');", "birchIraMDI"
    ),
    "csv of letters": named("user,password,host\nbob,{},db1\n", "oakLWvyJmPq"),
    "markdown table": named("| user | password |\n|---|:--|\n| bob | `{}` |\n", PASSWORD),
    "gh secret --body": named("gh secret set DEPLOY --body {}", MIXED[:30]),
    "gh secret -b": named('gh secret set DB_PASSWORD -b"{}"', PASSWORD),
    "aws ssm": named("aws ssm put-parameter --name /db --value {} --type SecureString", PASSWORD),
    "aws secretsmanager": named("aws secretsmanager create-secret --secret-string {}", PASSWORD),
    "altool": named("xcrun altool -u a@b.example -p {}", "spxd-bcwu-bakg-zrmu"),
    "ipmitool": named("ipmitool -H h -U admin -P {} power on", PASSWORD),
    "lftp": named("lftp -u joe,{} ftp.x.example", PASSWORD),
    "spoken German": named("Das Passwort lautet {}", "sommer" + "2031"),
    "auth key": named("AUTH_KEY='{}'", MIXED[:30]),
}

# What five more lists, of other vendors, places and notations, showed to pass.
CONTEXTS: dict[str, Form] = {
    "aws configure": named("AWS Secret Access Key [None]: {}", MIXED[:40]),
    "aws keys as a table": named(f"Access key ID,Secret access key\n{AWS},{{}}\n", MIXED[:40]),
    "aligned columns": named("Access Token   00D{}", MIXED[:12] + "." + MIXED[10:60]),
    "call with an address": named("server.login('bot@x.example', '{}')", "ginger71tundra"),
    "call with a source": named("DBI->connect('dbi:mysql:app', 'app', '{}')", "walnut26maple"),
    "java connection": named('getConnection("jdbc:x://db/app", "app", "{}")', "orchid10ginger"),
    "php connection": named("new PDO('mysql:host=db', 'root', '{}');", "breeze63ginger"),
    "tuple of a request": named("requests.get(url, auth=('bob', '{}'))", "pepper47harbor"),
    "btoa": named("'Basic ' + btoa('bob:{}')", "cobalt93saffron"),
    "client of a key": named("co = cohere.Client('{}')", MIXED[:40]),
    "pair of a call": named('SetEnvironmentVariable("DB_PASSWORD", "{}")', "falcon15cobalt"),
    "pair with blanks": named(
        "define('AUTH_KEY',     '{}');", "zr5x3!pFI&hjMF$Sr2w*U7^R*aLbI#Nis8"
    ),
    "default of a variable": named("const pass = process.env.DB_PASS || '{}'", "pepper32velvet"),
    "basic": named('Const Password As String = "{}"', "lantern83marble"),
    "filled form": named("await page.getByLabel('Password').fill('{}')", "walnut53falcon"),
    "typed keys": named("find('password').send_keys('{}')", "tundra32pepper"),
    "password field": named('<input type="password" name="x" value="{}">', "harbor20summit"),
    "named string": named('<string name="api_secret">{}</string>', MIXED[:20]),
    "plist": named("<key>SMTPPassword</key>\n<string>{}</string>", "thunder58cobalt"),
    "block scalar": named("credentials:\n  password: |\n    {}\n", "breeze86maple"),
    "environment of a container": named("- name: DB_PASS\n  value: {}\n", "walnut40pepper"),
    "any key of a manifest": named(
        "apiVersion: v1\nkind: Secret\ndata:\n  connection: {}\n", encode(MIXED[:30])
    ),
    "state of terraform": named(
        '{"type": "random_password", "instances": [{"attributes": {"result": "{}"}}]}', MIXED[:24]
    ),
    "unseal key": named("Unseal Key 1: {}", encode(MIXED[:33])),
    "seed of nats": Form(
        f"-----BEGIN USER NKEY SEED-----\nSU{UPPER}\n------END USER NKEY SEED------", (UPPER,)
    ),
    "digest": named('Authorization: Digest username="a", nonce="1", response="{}"', HEX[:32]),
    "code of oauth": named("http://localhost/callback?code={}&scope=x", MIXED[:30]),
    "any webhook": named("https://chat.x.example/hooks/{}", LOWER[:26]),
    "token as the user": named("https://{}:x-oauth-basic@x.example/o/r.git", HEX[:40]),
    "hash of a password": Form(f"scrypt:32768:8:1$saltsalt${HEX}{HEX}", (HEX,)),
    "go dsn": named('sql.Open("mysql", "app:{}@tcp(db:3306)/app")', "cobalt30harbor"),
    "four groups": named('GMAIL_APP_PASSWORD="{}"', "qbap vwol wkfv eddd"),
    "login of a tool": named("wandb login {}", HEX[:40]),
    "option with an equals sign": named('docker login -u="a" -p="{}" quay.io', UPPER[:30]),
    "unknown program with a user": named("broker -u dev -P {} -t topic", "marble59walnut"),
    "slash option": named("rdp /v:srv /u:bob /p:{}", "harbor58orchid"),
    "credentials option": named("skopeo copy --dest-creds ci:{} a b", "tundra67ginger"),
    "piped to a program": named(
        "echo -n '{}' | cryptsetup luksOpen /dev/sda2 x -", "summit82marble"
    ),
    "colours": named("\x1b[32mPASSWORD\x1b[0m=\x1b[33m{}\x1b[0m", "maple60orchid"),
    "colours of json": named('\x1b[34m"password"\x1b[0m: \x1b[32m"{}"\x1b[0m', "maple38pepper"),
    "joined pieces": Form(f'token = "{MIXED[:20]}" + "{MIXED[20:40]}"', (MIXED[:20], MIXED[20:40])),
    "near its name": named("the deploy token of the docs site (staging) is: {}", MIXED[:40]),
    "spoken login": named("log in as admin / {} on staging", "falcon78lantern"),
    "spoken pair": named("use admin:{} to log in", "velvet50thunder"),
    "spoken pw": named("pw for the vpn is {}, keep it", "marble34thunder"),
    "spoken seed": named(
        "seed phrase: {} - keep it",
        "abandon ability cactus dolphin eagle fabric galaxy habit ibis jungle kitten lagoon",
    ),
}

FORMS: dict[str, Form] = {
    f"{group}: {name}": form
    for group, forms in (
        ("vendor", VENDORS),
        ("named", NAMED_FORMS),
        ("command", COMMANDS),
        ("place", PLACES),
        ("hidden", HIDDEN),
        ("later", LATER),
        ("context", CONTEXTS),
    )
    for name, form in forms.items()
}
SEEN = 8


def is_seen(form: Form, shown: str) -> bool:
    """Return whether a text shows eight letters in a row of one of the secrets."""
    for secret in form.secrets:
        length = min(SEEN, len(secret))
        parts = {secret[start : start + length] for start in range(len(secret) - length + 1)}
        if any(part in shown for part in parts):
            return True
    return False
