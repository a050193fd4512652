-- oldest: 2
-- A state is bound to its place in the chain: by the digest of the stream's name, the version, the hash of the
-- record of that version, and the state (`chain.seal_snapshot`, ADR 0068). A holdfast that does not know of it would
-- leave the digest of an older state beside a new one.
ALTER TABLE holdfast.snapshots ADD COLUMN digest bytea;
UPDATE holdfast.snapshots n SET digest = sha256(convert_to('[' || to_json(s.name)::text || ',' || n.version || ',"' || encode(CASE WHEN n.version
    = s.anchor_version THEN s.anchor_hash ELSE coalesce((SELECT k.hash FROM holdfast.records k
    WHERE k.stream = s.number AND k.version = n.version), '') END, 'hex') || '"]' || n.state, 'UTF8'))
FROM holdfast.streams s WHERE s.number = n.stream;
