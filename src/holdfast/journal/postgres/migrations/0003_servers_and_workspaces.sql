-- oldest: 3
-- The server that a workspace was last written on, and the fences that were given before it took over: their lives wait
-- for a person (ADR 0080). A holdfast that does not know of them would let a life write that was taken over.
ALTER TABLE holdfast.workspaces ADD COLUMN epoch text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE holdfast.workspaces ADD COLUMN floor bigint NOT NULL DEFAULT 0;

-- A role that may remove rows, or change any column, may also lock a table, and stop every workspace. So an effect is
-- marked as settled, and the owner of the table removes it.
ALTER TABLE holdfast.outbox ADD COLUMN settled boolean NOT NULL DEFAULT false;
CREATE FUNCTION holdfast.remove_settled() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM holdfast.outbox WHERE workspace = NEW.workspace AND id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER settled AFTER UPDATE OF settled ON holdfast.outbox
FOR EACH ROW WHEN (NEW.settled) EXECUTE FUNCTION holdfast.remove_settled();

-- Counters only grow, and not to their end: only the owner sets them otherwise.
CREATE FUNCTION holdfast.refuse_jump() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN
    RAISE insufficient_privilege USING MESSAGE = 'a number of table ' || TG_TABLE_NAME || ' falls, or grows too far';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER jump BEFORE UPDATE ON holdfast.workspaces
FOR EACH ROW WHEN (NEW.seq NOT BETWEEN OLD.seq AND OLD.seq + 1000000
  OR NEW.fence NOT BETWEEN OLD.fence AND OLD.fence + 10000000000000000)
EXECUTE FUNCTION holdfast.refuse_jump();
CREATE TRIGGER jump BEFORE UPDATE ON holdfast.streams
FOR EACH ROW WHEN (NEW.version NOT BETWEEN OLD.version AND OLD.version + 1000000
  OR NEW.fence NOT BETWEEN OLD.fence AND OLD.fence + 10000000000000000)
EXECUTE FUNCTION holdfast.refuse_jump();

-- A role sees the workspaces that it was granted. Those that saw all of them until now still do.
DO $$
DECLARE
  name text;
  grantee name;
BEGIN
  FOREACH name IN ARRAY ARRAY['workspaces', 'meta', 'streams', 'records', 'snapshots', 'views', 'outbox', 'refused'] LOOP
    EXECUTE format('ALTER TABLE holdfast.%I ENABLE ROW LEVEL SECURITY', name);
    FOR grantee IN
      SELECT DISTINCT coalesce(r.rolname, 'public') FROM pg_class c, aclexplode(c.relacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
      WHERE c.oid = format('holdfast.%I', name)::regclass AND a.grantee <> c.relowner
      AND NOT EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = coalesce(r.rolname, 'public'))
    LOOP
      EXECUTE format('CREATE POLICY %I ON holdfast.%I TO %s USING (true)', grantee, name,
        CASE WHEN grantee = 'public' THEN 'PUBLIC' ELSE quote_ident(grantee) END);
    END LOOP;
  END LOOP;
END $$;
