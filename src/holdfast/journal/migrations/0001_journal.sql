-- Times are UTC text with milliseconds; hashes and salts are raw bytes.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE streams (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    hash BLOB NOT NULL,
    fence INTEGER NOT NULL,
    seen_at TEXT NOT NULL,
    closed_at TEXT,
    -- What `gc` removed ends here; the chain goes on from this hash.
    anchor_version INTEGER NOT NULL DEFAULT 0,
    anchor_hash BLOB NOT NULL,
    -- Bytes of the bodies since the last snapshot, and of that snapshot: when to write the next.
    delta_bytes INTEGER NOT NULL DEFAULT 0,
    snapshot_bytes INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE records (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    stream INTEGER NOT NULL REFERENCES streams (number),
    version INTEGER NOT NULL,
    at TEXT NOT NULL,
    actor TEXT NOT NULL,
    fence INTEGER,
    kind TEXT NOT NULL,
    -- Both NULL once the body was erased. The salt keeps a short secret from being guessed
    -- out of the hash that remains.
    salt BLOB,
    body TEXT,
    body_hash BLOB NOT NULL,
    hash BLOB NOT NULL,
    UNIQUE (stream, version)
);

CREATE TABLE snapshots (
    stream INTEGER PRIMARY KEY REFERENCES streams (number),
    version INTEGER NOT NULL,
    state TEXT NOT NULL
);

CREATE TABLE views (
    worktree TEXT NOT NULL,
    path TEXT NOT NULL,
    stream TEXT NOT NULL,
    -- Identity of the file that the last write found, and the version that file showed.
    found TEXT,
    found_version INTEGER NOT NULL,
    -- Identity, version and digest of the file that the last write puts there.
    placed TEXT,
    placed_version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    removed INTEGER NOT NULL,
    PRIMARY KEY (worktree, path)
) WITHOUT ROWID;
CREATE INDEX views_of_stream ON views (stream);

CREATE TABLE outbox (
    id TEXT PRIMARY KEY,
    stream TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- Of several waiting effects with one key, only the newest is delivered.
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    queued_at TEXT NOT NULL,
    due_at TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    error TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX outbox_key ON outbox (kind, key);

CREATE TABLE refused (
    id TEXT PRIMARY KEY,
    stream TEXT NOT NULL,
    at TEXT NOT NULL,
    actor TEXT NOT NULL,
    fence INTEGER,
    reason TEXT NOT NULL,
    drafts TEXT NOT NULL
) WITHOUT ROWID;
