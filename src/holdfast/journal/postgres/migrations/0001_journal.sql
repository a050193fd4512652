-- oldest: 1
-- Times are UTC text with milliseconds; hashes and salts are raw bytes. Texts compare by code points,
-- whatever the database's language: prefixes are ranges, and every machine sorts alike.
CREATE TABLE holdfast.workspaces (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- The number of the newest record. Updated inside the transaction, so that its row's lock makes
    -- the order of the numbers the order of the commits; a sequence would not.
    seq bigint NOT NULL DEFAULT 0,
    fence bigint NOT NULL DEFAULT 0,
    -- Why nobody may append: it is being moved here or away, or was moved. Empty: everybody may.
    held text NOT NULL DEFAULT ''
) WITH (fillfactor = 50);

CREATE TABLE holdfast.meta (
    workspace integer NOT NULL,
    key text COLLATE "C" NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (workspace, key)
);

CREATE TABLE holdfast.streams (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace integer NOT NULL,
    name text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    hash bytea NOT NULL,
    fence bigint NOT NULL,
    seen_at text COLLATE "C" NOT NULL,
    closed_at text COLLATE "C",
    -- What `gc` removed ends here; the chain goes on from this hash.
    anchor_version bigint NOT NULL DEFAULT 0,
    anchor_hash bytea NOT NULL,
    -- Bytes of the bodies since the last snapshot, and of that snapshot: when to write the next.
    delta_bytes bigint NOT NULL DEFAULT 0,
    snapshot_bytes bigint NOT NULL DEFAULT 0,
    UNIQUE (workspace, name)
) WITH (fillfactor = 70);

-- No foreign keys: each would lock a second row at every append, and the chains tell more.
CREATE TABLE holdfast.records (
    workspace integer NOT NULL,
    seq bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    stream bigint NOT NULL,
    version bigint NOT NULL,
    at text COLLATE "C" NOT NULL,
    actor text NOT NULL,
    fence bigint,
    kind text COLLATE "C" NOT NULL,
    -- Both NULL once the body was erased.
    salt bytea,
    body text,
    body_hash bytea NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (workspace, seq),
    UNIQUE (workspace, id),
    UNIQUE (stream, version)
);

CREATE TABLE holdfast.snapshots (
    stream bigint PRIMARY KEY,
    version bigint NOT NULL,
    state text NOT NULL
);

-- A view is a file of one machine; two machines may well call a folder alike.
CREATE TABLE holdfast.views (
    workspace integer NOT NULL,
    machine text COLLATE "C" NOT NULL,
    worktree text COLLATE "C" NOT NULL,
    path text COLLATE "C" NOT NULL,
    stream text COLLATE "C" NOT NULL,
    found text,
    found_version bigint NOT NULL,
    placed text,
    placed_version bigint NOT NULL,
    digest text NOT NULL,
    removed boolean NOT NULL,
    PRIMARY KEY (workspace, machine, worktree, path)
);

CREATE TABLE holdfast.outbox (
    workspace integer NOT NULL,
    id text COLLATE "C" NOT NULL,
    -- Empty: any machine may deliver it.
    machine text COLLATE "C" NOT NULL,
    stream text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    body text NOT NULL,
    queued_at text COLLATE "C" NOT NULL,
    due_at text COLLATE "C" NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    error text NOT NULL DEFAULT '',
    PRIMARY KEY (workspace, id)
);
CREATE INDEX outbox_key ON holdfast.outbox (workspace, kind, key);

CREATE TABLE holdfast.refused (
    workspace integer NOT NULL,
    id text COLLATE "C" NOT NULL,
    stream text COLLATE "C" NOT NULL,
    at text COLLATE "C" NOT NULL,
    actor text NOT NULL,
    fence bigint,
    reason text NOT NULL,
    drafts text NOT NULL,
    PRIMARY KEY (workspace, id)
);
