import type { PoolClient } from 'pg';
import { type AuditQuery, type MovedAuditLog, namesOf } from '../../accounts/audit/audit';
import type { AuditPart } from '../../accounts/audit/redis-audit-log';
import { oldestId } from '../../accounts/audit/redis-recorded-change';
import { type AuditEntry, auditEntrySchema } from '../../domain/audit';
import { storable } from '../../platform/storable-text';
import type { PgDatabase } from './pg-database';

/** The second version of the schema. Ids begin with the time, so they order the log. */
export const AUDIT_SCHEMA = `
CREATE TABLE webhook_audit (
  account_id text COLLATE "C" NOT NULL,
  id         text COLLATE "C" NOT NULL,
  action     text COLLATE "C" NOT NULL,
  target_id  text COLLATE "C",
  actor      text[] NOT NULL,
  entry      text NOT NULL,
  PRIMARY KEY (account_id, id)
);
CREATE INDEX ON webhook_audit (id);
CREATE INDEX ON webhook_audit (account_id, target_id, id);
`;

/** The one index that did not begin with the account. Without it, the table can be distributed as all others. */
export const AUDIT_BY_ACCOUNT = 'DROP INDEX IF EXISTS webhook_audit_id_idx';

const INSERT = `
  INSERT INTO webhook_audit SELECT * FROM json_populate_recordset(null::webhook_audit, $1)
  ON CONFLICT DO NOTHING`;

/** In the transaction of what they record, if there is one. */
export async function addAuditEntries(client: PoolClient, entries: readonly AuditEntry[]): Promise<void> {
  const rows = entries.map((entry) => ({
    account_id: entry.accountId ?? '',
    id: entry.id,
    action: entry.action,
    target_id: entry.targetId === undefined ? null : storable(entry.targetId),
    actor: namesOf(entry.actor).map(storable),
    entry: JSON.stringify(entry),
  }));
  await client.query(INSERT, [JSON.stringify(rows)]);
}

// One statement for all: a parameter that is null asks for nothing.
const listText = (condition: string) => `
  SELECT id, entry FROM webhook_audit
  WHERE ${condition} AND id < $2 AND id >= $3
    AND ($4::text IS NULL OR action = $4 OR starts_with(action, $5))
    AND ($6::text IS NULL OR $6 = ANY (actor))
  ORDER BY id DESC LIMIT $7`;

// Each account is found behind the one before it, in the index that begins with it.
const ACCOUNTS = `
  WITH RECURSIVE accounts AS (
    (SELECT account_id FROM webhook_audit ORDER BY account_id LIMIT 1)
    UNION ALL
    SELECT (
      SELECT next.account_id FROM webhook_audit AS next
      WHERE next.account_id > accounts.account_id ORDER BY next.account_id LIMIT 1
    ) FROM accounts WHERE account_id IS NOT NULL
  )`;

// A page has entries of as many accounts as it has entries, at most: of those with the newest ones.
const OF_ONE = listText(
  'webhook_audit.account_id = accounts.account_id AND $1::text IS NULL AND ($8::text IS NULL OR target_id = $8)',
);
const OF_EVERYBODY = `${ACCOUNTS}, newest AS (
    SELECT account_id FROM accounts CROSS JOIN LATERAL (${OF_ONE.replace('LIMIT $7', 'LIMIT 1')}) AS newest
    ORDER BY newest.id DESC LIMIT $7
  )
  SELECT page.entry FROM newest AS accounts CROSS JOIN LATERAL (${OF_ONE}) AS page ORDER BY page.id DESC LIMIT $7`;

const LISTS = {
  everybody: OF_EVERYBODY,
  account: listText('account_id = $1 AND $8::text IS NULL'),
  target: listText('account_id = $1 AND target_id = $8'),
};

const REMOVED_AT_ONCE = 5_000;
const REMOVE = `
  DELETE FROM webhook_audit WHERE (account_id, id) IN (${ACCOUNTS}
    SELECT old.account_id, old.id FROM accounts CROSS JOIN LATERAL (
      SELECT account_id, id FROM webhook_audit
      WHERE webhook_audit.account_id = accounts.account_id AND id < $1 ORDER BY id LIMIT $2
    ) AS old LIMIT $2)`;

// Behind every id.
const NO_BOUND = 'b';

/** The audit log as far as it has moved. Nothing changes an entry; one goes when it is old, or with its account. */
export class PgAuditLog implements MovedAuditLog {
  constructor(private readonly database: PgDatabase) {}

  /** Add entries, those that are there already without effect. */
  async add(entries: readonly AuditEntry[]): Promise<void> {
    await this.database.transact((client) => addAuditEntries(client, entries));
  }

  /** @throws AppError `history_unavailable`. */
  async list(query: AuditQuery, before: string | undefined, limit: number): Promise<AuditPart> {
    const { of, since = 0, until, actor = null, action, target = null } = query;
    const bounds = [before, until === undefined ? undefined : oldestId(until)].filter(
      (id) => id !== undefined,
    );
    const list = of === 'everybody' ? 'everybody' : target === null ? 'account' : 'target';
    const noun = action?.endsWith('.*') ? action.slice(0, -1) : undefined;
    const rows = await this.database.read<{ entry: string }>({
      name: `list-audit-${list}`,
      text: LISTS[list],
      values: [
        of === 'everybody' ? null : of,
        bounds.toSorted()[0] ?? NO_BOUND,
        oldestId(since),
        action ?? null,
        // Nothing begins with it.
        noun ?? ' ',
        actor,
        limit,
        target,
      ],
    });
    return {
      entries: rows.map(({ entry }) => auditEntrySchema.parse(JSON.parse(entry))),
      nextBefore: undefined,
    };
  }

  /** Delete older entries. @param epochMs milliseconds since the Unix epoch. */
  async removeBefore(epochMs: number): Promise<void> {
    let removed: number | null;
    do {
      const values = [oldestId(epochMs), REMOVED_AT_ONCE];
      ({ rowCount: removed } = await this.database.transact((client) => client.query(REMOVE, values)));
    } while (removed === REMOVED_AT_ONCE);
  }
}
