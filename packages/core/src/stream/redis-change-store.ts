import type { ChainableCommander } from 'ioredis';
import { z } from 'zod';
import type { AccountId } from '../domain/account';
import { attemptOutcomeSchema } from '../domain/attempt';
import { endStatuses } from '../domain/delivery-log';
import { endpointIdSchema } from '../domain/endpoint';
import { eventIdSchema } from '../domain/event';
import { keys } from '../domain/keys';
import { replayIdSchema } from '../domain/replay';
import type { RedisClient } from '../platform/redis-connect';
import { watch } from './redis-change-store.script';

/** A change, with the cursor right after it. Cursors of an account grow. */
export interface ChangeEntry {
  readonly id: string;
  /** `undefined`: of no concern to readers, or made by a later version. */
  readonly change: Change | undefined;
}

/** An account is watched for this long after the last renewal, and its changes can be read again. */
const WATCHED_MS = 120_000;
// Longer than the changes are kept: while they exist, every process writes to them.
const LEASE_MARGIN_MS = 10_000;
/** About this many changes are kept of each account. */
export const KEPT_CHANGES = 1_000;
// Redis drops them by the hundred.
const READ_AT_ONCE = KEPT_CHANGES + 200;

const FIELD = 'change';
const BEGUN = 'begun';

/**
 * The watched accounts, and their recent changes. The changes of an account are a stream in Redis that exists
 * only while the account is watched: appending does not create it, so changes without readers are not stored.
 */
export class ChangeStore {
  constructor(private readonly redis: RedisClient) {}

  /** Every watched account. One command. */
  async readWatched(): Promise<readonly AccountId[]> {
    return (await this.redis.zrange(keys.watchedAccounts, '0', '-1')) as AccountId[];
  }

  /** Watch the account from now on. @returns whether it was watched before. */
  async watch(account: AccountId): Promise<boolean> {
    return !(await watch({ account, watchedMs: WATCHED_MS + LEASE_MARGIN_MS })(this.redis));
  }

  /** Begin the changes of an account. @returns the cursor to read from. */
  async begin(account: AccountId): Promise<string> {
    return cursorIn(await beginning(this.redis.multi().del(keys.changes(account)), account).exec());
  }

  /** Join the changes of an account that is watched already. @returns the cursor to read from. */
  async join(account: AccountId): Promise<string> {
    return cursorIn(await beginning(this.redis.multi(), account).exec());
  }

  async keep(account: AccountId): Promise<void> {
    await this.redis.pexpire(keys.changes(account), WATCHED_MS);
  }

  /** Has no effect once the account is not watched any more. */
  async append(account: AccountId, changes: readonly Change[]): Promise<void> {
    const pipeline = this.redis.pipeline();
    for (const change of changes) {
      const text = JSON.stringify(change);
      pipeline.xadd(keys.changes(account), 'NOMKSTREAM', 'MAXLEN', '~', KEPT_CHANGES, '*', FIELD, text);
    }
    for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
  }

  /**
   * The changes after a cursor, in their order.
   *
   * @returns `undefined` when that cursor is gone: then the changes after it are unknown.
   */
  async readAfter(account: AccountId, cursor: string): Promise<readonly ChangeEntry[] | undefined> {
    const entries = await this.redis.xrange(keys.changes(account), cursor, '+', 'COUNT', READ_AT_ONCE);
    if (entries[0]?.[0] !== cursor) return undefined;
    return entries.slice(1).map(([id, fields]) => ({ id, change: parseChange(fields[1]) }));
  }
}

function beginning(commands: ChainableCommander, account: AccountId): ChainableCommander {
  const key = keys.changes(account);
  return commands.xadd(key, '*', FIELD, BEGUN).pexpire(key, WATCHED_MS);
}

function cursorIn(replies: readonly [error: Error | null, reply: unknown][] | null): string {
  return z.string().parse(replies?.at(-2)?.[1]);
}

function parseChange(text: string | undefined): Change | undefined {
  if (text === undefined || text === BEGUN) return undefined;
  return changeSchema.safeParse(JSON.parse(text)).data;
}

export const deliveryChanges = ['created', 'attempted', 'held', 'requested', 'ended'] as const;
export const endpointChanges = [
  'created',
  'updated',
  'deleted',
  'enabled',
  'disabled',
  'breaker_opened',
  'breaker_closed',
] as const;
export const replayChanges = ['progress', 'ended'] as const;

/**
 * A change's facts about a delivery. Unknown ones are absent. Times are in milliseconds since the Unix epoch.
 */
const changedDeliverySchema = z.object({
  eventId: eventIdSchema,
  endpointId: endpointIdSchema,
  type: z.string().optional(),
  status: z.enum(['pending', 'held', ...endStatuses]).optional(),
  attemptCount: z.int().optional(),
  lastOutcome: attemptOutcomeSchema.nullable().optional(),
  lastResponseStatus: z.int().nullable().optional(),
  nextAttemptAt: z.number().nullable().optional(),
  createdAt: z.number().optional(),
});
export type ChangedDelivery = Readonly<z.infer<typeof changedDeliverySchema>>;

/** A change of an account's data. */
export const changeSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('delivery'),
    change: z.enum(deliveryChanges),
    delivery: changedDeliverySchema,
  }),
  z.object({ kind: z.literal('webhook'), change: z.enum(endpointChanges), endpointId: endpointIdSchema }),
  z.object({
    kind: z.literal('replay'),
    change: z.enum(replayChanges),
    replayId: replayIdSchema,
    endpointId: endpointIdSchema,
  }),
  /** Redis went back to an earlier state. Times in RFC 3339. */
  z.object({ kind: z.literal('rolled_back'), since: z.string().nullable(), until: z.string() }),
  /** Earlier changes are missing: too many at once, or they could not be written. */
  z.object({ kind: z.literal('reset') }),
]);
export type Change = Readonly<z.infer<typeof changeSchema>>;

/** The endpoint that it is about; `undefined` if it concerns all. */
export function endpointOf(change: Change): string | undefined {
  if (change.kind === 'reset' || change.kind === 'rolled_back') return undefined;
  return change.kind === 'delivery' ? change.delivery.endpointId : change.endpointId;
}
