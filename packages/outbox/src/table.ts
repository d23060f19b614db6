import type { Queryable } from './enqueue';

export const DEFAULT_TABLE = 'hookferry_outbox';

// It goes into SQL as it is, also as the beginning of other names.
const TABLE = /^(?:[a-z_][a-z0-9_]{0,40}\.)?[a-z_][a-z0-9_]{0,40}$/;

/** @throws TypeError unless it is a name such as `hookferry_outbox` or `app.hookferry_outbox`. */
export function checkTable(table: string): string {
  if (TABLE.test(table)) return table;
  throw new TypeError(
    `The name of the table is "${table}". It must be of a-z, 0-9 and _, with a schema before it if you like, such as app.hookferry_outbox.`,
  );
}

/**
 * The SQL that makes the table, for your own migrations. It may run again: what there is stays.
 *
 * - `position`: the order of events. Each event of a transaction comes behind what that transaction could see.
 * - `event`: the event as JSON text. `event_id` is its id.
 * - `batch`: which batch it was published in; null: it waits. `published_at` is when.
 * - `error`: why it can't be published. It stays until you remove it.
 */
export function migrationOf(table: string = DEFAULT_TABLE): string {
  checkTable(table);
  const name = table.split('.').at(-1);
  return `CREATE TABLE IF NOT EXISTS ${table} (
  position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event_id text NOT NULL,
  event text NOT NULL,
  written_at timestamptz NOT NULL DEFAULT now(),
  batch bigint,
  published_at timestamptz,
  error text
);
CREATE INDEX IF NOT EXISTS ${name}_waiting ON ${table} (position) WHERE batch IS NULL AND error IS NULL;
CREATE INDEX IF NOT EXISTS ${name}_published ON ${table} (batch) WHERE batch IS NOT NULL;
CREATE INDEX IF NOT EXISTS ${name}_failed ON ${table} (position) WHERE error IS NOT NULL;
CREATE OR REPLACE FUNCTION ${table}_notify() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN PERFORM pg_notify('${name}', ''); RETURN NULL; END $$;
CREATE OR REPLACE TRIGGER ${name}_notify AFTER INSERT ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION ${table}_notify();
DO $$ BEGIN
  IF obj_description('${table}'::regclass) IS NULL THEN
    EXECUTE format('COMMENT ON TABLE ${table} IS %L', 'hookferry-outbox ' || gen_random_uuid());
  END IF;
END $$;
`;
}

/** Makes the table unless it is there. PostgreSQL 14 or later. */
export async function migrate(database: Queryable, table: string = DEFAULT_TABLE): Promise<void> {
  await database.query(migrationOf(table));
}
