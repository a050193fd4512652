-- The newest records of all streams, in one b-tree without an index: a commit writes one page here
-- instead of one in each of four b-trees. They are moved to `records` together (ADR 0034).
-- The small columns come first, so that a look at them does not read the bodies.
CREATE TABLE recent (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    stream INTEGER NOT NULL REFERENCES streams (number),
    version INTEGER NOT NULL,
    hash BLOB NOT NULL,
    -- The stream's head as this record leaves it.
    seen_at TEXT NOT NULL,
    delta_bytes INTEGER NOT NULL,
    snapshot_bytes INTEGER NOT NULL,
    at TEXT NOT NULL,
    actor TEXT NOT NULL,
    fence INTEGER,
    kind TEXT NOT NULL,
    salt BLOB,
    body TEXT,
    body_hash BLOB NOT NULL
);
