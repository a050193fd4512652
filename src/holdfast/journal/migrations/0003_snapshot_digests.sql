-- A state is bound to its place in the chain: by the digest of the stream's name, the version, the hash of the
-- record of that version, and the state (`seal_snapshot`, ADR 0068).
ALTER TABLE snapshots ADD COLUMN digest BLOB;
UPDATE snapshots SET digest = (
    SELECT seal_snapshot(
        s.name,
        snapshots.version,
        coalesce(
            (SELECT hash FROM records r WHERE r.stream = s.number AND r.version = snapshots.version),
            (SELECT hash FROM recent t WHERE t.stream = s.number AND t.version = snapshots.version),
            iif(s.anchor_version = snapshots.version, s.anchor_hash, x'')
        ),
        snapshots.state
    ) FROM streams s WHERE s.number = snapshots.stream
);
