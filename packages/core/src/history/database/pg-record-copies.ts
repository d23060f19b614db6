import type { PoolClient } from 'pg';
import type { AccountId } from '../../domain/account';
import type { PgDatabase } from './pg-database';

/**
 * Copies of the records in Redis that nobody could make again. `value` is as in Redis, with its secrets sealed; null: it was
 * removed. `field` is empty where the key has no fields.
 */
export const COPIES_SCHEMA = `
CREATE TABLE webhook_records (
  key        text COLLATE "C" NOT NULL,
  field      text COLLATE "C" NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  value      text,
  changed_at timestamptz NOT NULL,
  PRIMARY KEY (key, field)
);
CREATE INDEX ON webhook_records (account_id);
`;

export interface RecordName {
  readonly key: string;
  readonly field: string;
}

export interface RecordCopy extends RecordName {
  readonly accountId: AccountId;
  /** `undefined`: it was removed. */
  readonly value: string | undefined;
}

const LOCK = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 7236150448))';
const REPLACE = `
  INSERT INTO webhook_records VALUES ($1, $2, $3, $4, clock_timestamp())
  ON CONFLICT (key, field) DO UPDATE SET
    account_id = excluded.account_id, value = excluded.value, changed_at = excluded.changed_at`;
const ADD_MISSING = `
  INSERT INTO webhook_records
  SELECT key, field, account_id, value, clock_timestamp()
  FROM json_to_recordset($1) AS given (key text, field text, account_id text, value text)
  ON CONFLICT DO NOTHING`;
const PAGE = `
  SELECT key, field, account_id, value FROM webhook_records
  WHERE key >= $1 AND key < $2 AND (key, field) > ($3, $4) AND changed_at >= $5
  ORDER BY key, field LIMIT $6`;
const ERASE = `UPDATE webhook_records SET value = NULL, changed_at = clock_timestamp() WHERE account_id = $1 AND key <> $2`;
// What a Redis of a backup may still have must be known as removed for longer than a backup is kept.
const FORGET = `DELETE FROM webhook_records WHERE value IS NULL AND changed_at < now() - interval '90 days'`;

interface Row {
  readonly key: string;
  readonly field: string;
  readonly account_id: AccountId;
  readonly value: string | null;
}

/** The table of copies. */
export class PgRecordCopies {
  constructor(private readonly database: PgDatabase) {}

  /**
   * Run the work while nobody else changes the record or its copy.
   *
   * @param work gets the copy; its `copy` is written before the promise resolves, unless that is absent.
   */
  async locked<Reply>(
    { key, field }: RecordName,
    work: (found: RecordCopy | undefined) => Promise<{ readonly reply: Reply; readonly copy?: RecordCopy }>,
  ): Promise<Reply> {
    return await this.database.transact(async (client) => {
      await client.query(LOCK, [`${key} ${field}`]);
      const text = 'SELECT key, field, account_id, value FROM webhook_records WHERE key = $1 AND field = $2';
      const { rows } = await client.query<Row>(text, [key, field]);
      const { reply, copy } = await work(rows[0] && copyOf(rows[0]));
      if (copy && copy.value !== (rows[0]?.value ?? undefined)) await replace(client, copy);
      return reply;
    });
  }

  async replace(copy: RecordCopy): Promise<void> {
    await this.database.transact((client) => replace(client, copy));
  }

  /** Add those that have none, also no removed one. @returns how many. */
  async addMissing(copies: readonly RecordCopy[]): Promise<number> {
    const rows = copies.map(({ accountId, ...copy }) => ({ ...copy, account_id: accountId }));
    const add = (client: PoolClient) => client.query(ADD_MISSING, [JSON.stringify(rows)]);
    return (await this.database.transact(add)).rowCount ?? 0;
  }

  /** Whether there is a record, and it was not removed. @throws AppError `history_unavailable`. */
  async has({ key, field }: RecordName): Promise<boolean> {
    const text = 'SELECT 1 FROM webhook_records WHERE key = $1 AND field = $2 AND value IS NOT NULL';
    return (await this.database.read({ name: 'has-record', text, values: [key, field] })).length > 0;
  }

  /** Of the keys that begin like this, page by page. @param since of their last change. Milliseconds since the Unix epoch. */
  async *pages(prefix: string, since: number, limit: number): AsyncGenerator<readonly RecordCopy[]> {
    let after: RecordName = { key: '', field: '' };
    // Behind every key with the prefix.
    const end = `${prefix}~`;
    for (;;) {
      const values = [prefix, end, after.key, after.field, new Date(since), limit];
      const rows = await this.database.query<Row>(PAGE, values);
      if (rows.length > 0) yield rows.map(copyOf);
      const last = rows.at(-1);
      if (last === undefined || rows.length < limit) return;
      after = last;
    }
  }

  /** Nothing of the account is left but that its own record, in `accountsKey`, was removed or is being erased. */
  async eraseAccount(accountId: AccountId, accountsKey: string): Promise<void> {
    await this.database.query(ERASE, [accountId, accountsKey]);
  }

  async forgetOld(): Promise<void> {
    await this.database.query(FORGET);
  }
}

async function replace(client: PoolClient, { key, field, accountId, value }: RecordCopy): Promise<void> {
  await client.query(REPLACE, [key, field, accountId, value ?? null]);
}

function copyOf({ key, field, account_id: accountId, value }: Row): RecordCopy {
  return { key, field, accountId, value: value ?? undefined };
}
