import type { AccountId } from '../domain/account';
import type { AccountUsage, UsageChange } from '../domain/usage';
import type { RedisClient } from '../platform/redis-connect';
import type { ScriptTarget } from '../platform/redis-script';
import { addUsage, countUsage, keepFor, lookAtUsage, writeUsage } from './redis-usage-store.script';

/** For scripts that are no files yet. */
export const COUNT_USAGE = [keepFor, writeUsage, countUsage].map(({ body }) => body).join('\n');

/** The usage as read beside other keys, without subtracting lapsed parts: never less than the real usage. */
export interface Standing {
  readonly usedBytes: number;
  /** The operator's setting; `undefined`: not set. 0: unlimited. */
  readonly ownQuotaBytes: number | undefined;
}

/** The counted usage of each account. */
export class UsageStore {
  constructor(private readonly redis: RedisClient) {}

  /** Not idempotent: a repetition counts twice. */
  async count(
    accountId: AccountId,
    changes: readonly UsageChange[],
    now: number,
    target: ScriptTarget = this.redis,
  ): Promise<void> {
    await addUsage({ account: accountId, now, changes })(target);
  }

  /** The exact usage at this moment. */
  async look(
    accountId: AccountId,
    now: number,
  ): Promise<Omit<AccountUsage, 'quotaBytes'> & Pick<Standing, 'ownQuotaBytes'>> {
    const { usedBytes, ownQuota, eventCount, webhookCount, apiKeyCount, ...each } = await lookAtUsage({
      account: accountId,
      now,
    })(this.redis);
    return {
      usedBytes,
      ownQuotaBytes: parseQuota(ownQuota ?? ''),
      bytes: {
        events: each.eventBytes,
        deliveries: each.deliveryBytes,
        answers: each.answerBytes,
        replays: each.replayBytes,
        sessions: each.sessionBytes,
      },
      events: eventCount,
      webhooks: webhookCount,
      apiKeys: apiKeyCount,
    };
  }
}
/**
 * Parse the values of an account's `usedBytes` and `quota`, as any command that reads several keys gives
 * them.
 */
export function parseStanding(used: string | null | undefined, quota: string | null | undefined): Standing {
  return { usedBytes: Number(used ?? 0), ownQuotaBytes: parseQuota(quota ?? '') };
}

function parseQuota(text: string): number | undefined {
  return text === '' ? undefined : Number(text);
}
