import { z } from 'zod';
import type { AuditLog } from '../accounts/audit/redis-audit-log';
import { replaceCopied } from '../accounts/redis-record-copies';
import { type AccountId, DEFAULT_ACCOUNT } from '../domain/account';
import type { Act } from '../domain/audit';
import { keys } from '../domain/keys';
import { isUnreadableSecret, type SealedStore, type SealedValue } from '../endpoints/seal';
import type { RedisClient } from '../platform/redis-connect';
import { idOfMember, pagesNewestFirst } from '../platform/redis-timeline';
import type { SealingKey } from '../platform/sealing-key';
import { replaceValue } from './redis-reseal.script';
import type { WorkerReports } from './redis-worker-reports';

/** What is sealed, by its store. */
export const sealedKinds = ['webhooks', 'signing_keys', 'contacts', 'access_tokens'] as const;
export type SealedKind = (typeof sealedKinds)[number];

/** How many values there are of a kind. A value is a webhook, the signing keys of an account, a contact, or a token. */
export interface SealedCount {
  /** All of its texts are sealed under the first key. */
  readonly current: number;
  /** At least one is sealed under another key, or is plain. */
  readonly left: number;
  /** The key that has sealed it is none of those that are given, or its record is damaged. */
  readonly unreadable: number;
}

export type SealedCounts = Readonly<Record<SealedKind, SealedCount>>;

export interface ResealingParts {
  readonly redis: RedisClient;
  readonly stores: Readonly<Record<SealedKind, SealedStore>>;
  /** The key that is to seal everything. */
  readonly firstKey: Pick<SealingKey, 'id'>;
  readonly auditLog: AuditLog;
  readonly workerReports: WorkerReports;
}

/** Told how many values were looked at so far. */
export type OnLooked = (count: number) => void;

const ACCOUNTS_AT_ONCE = 200;

/** Seals everything again under the first key, beside running processes. */
export class Resealing {
  constructor(private readonly parts: ResealingParts) {}

  /** The id of the key that is to seal everything. */
  get keyId(): string {
    return this.parts.firstKey.id;
  }

  /** Count what each kind has, without a change. */
  async count(onLooked: OnLooked): Promise<SealedCounts> {
    const counts = newCounts();
    await this.#walk(onLooked, async (kind, { value, reseal }) => {
      counts[kind][stateOf(value, resealed(value, reseal))] += 1;
    });
    return counts;
  }

  /**
   * Seal everything again that is not sealed under the first key. A value that changes meanwhile stays as it is then. What is done
   * stays done: it may break off at any time, and be repeated.
   *
   * @returns how many values of each kind were sealed again.
   */
  async reseal(act: Act, onLooked: OnLooked): Promise<Readonly<Record<SealedKind, number>>> {
    const { redis, auditLog } = this.parts;
    // First: nothing else could record it if the process died after its last step.
    await auditLog.record({ act, accountId: DEFAULT_ACCOUNT, targetId: this.keyId });
    const done = { webhooks: 0, signing_keys: 0, contacts: 0, access_tokens: 0 };
    await this.#walk(onLooked, async (kind, { key, field, value, reseal }, accountId) => {
      const after = resealed(value, reseal);
      if (after === undefined || stateOf(value, after) !== 'left') return;
      const replace = () => replaceValue({ key, field, before: value, after })(redis);
      const record = { key, ...(field === undefined ? {} : { field }), accountId };
      // Tokens are fetched again.
      const isDone = kind === 'access_tokens' ? await replace() : await replaceCopied(redis, record, replace);
      if (isDone) done[kind] += 1;
    });
    return done;
  }

  /** The workers that could not open what the first key seals. One of an earlier version does not tell. */
  async workersWithoutKey(): Promise<readonly string[]> {
    const workers = await this.parts.workerReports.list();
    return workers
      .filter(({ sealingKeys }) => sealingKeys !== undefined && !sealingKeys.includes(this.keyId))
      .map(({ id }) => id);
  }

  async #walk(
    onLooked: OnLooked,
    visit: (kind: SealedKind, value: SealedValue, accountId: AccountId) => Promise<void>,
  ): Promise<void> {
    const { redis, stores } = this.parts;
    let looked = 0;
    for await (const accounts of pagesNewestFirst(redis, keys.accountIds, ACCOUNTS_AT_ONCE)) {
      for (const accountId of accounts.map(idOfMember) as AccountId[]) {
        for (const kind of sealedKinds) {
          for await (const values of stores[kind].sealedValues(accountId)) {
            await Promise.all(values.map((value) => visit(kind, value, accountId)));
            looked += values.length;
            onLooked(looked);
          }
        }
      }
    }
  }
}

function newCounts(): Record<SealedKind, Record<keyof SealedCount, number>> {
  const none = () => ({ current: 0, left: 0, unreadable: 0 });
  return { webhooks: none(), signing_keys: none(), contacts: none(), access_tokens: none() };
}

function stateOf(value: string, after: string | undefined): keyof SealedCount {
  if (after === undefined) return 'unreadable';
  return after === value ? 'current' : 'left';
}

/** `undefined`: it can't be read. The others are sealed all the same. */
function resealed(value: string, reseal: SealedValue['reseal']): string | undefined {
  try {
    return reseal(value);
  } catch (error) {
    if (isUnreadableSecret(error) || error instanceof SyntaxError || error instanceof z.ZodError) {
      return undefined;
    }
    throw error;
  }
}
