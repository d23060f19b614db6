import type { AccountId } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import { keys } from '../domain/keys';
import { type AccountUsage, ALL_CODE_COUNTED, type UsageChange } from '../domain/usage';
import type { RedisClient } from '../platform/redis-connect';
import type { Step } from '../platform/redis-script';
import { addUsage, codeBytes, lookAtUsage } from './redis-usage-store.script';

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
  async count(accountId: AccountId, changes: readonly UsageChange[], now: number): Promise<void> {
    await this.stepToCount(accountId, changes, now)(this.redis);
  }

  /** The same, together with other steps. */
  stepToCount(accountId: AccountId, changes: readonly UsageChange[], now: number): Step<void> {
    return addUsage({ account: accountId, now, changes });
  }

  /** Count the versions of an endpoint's code, after one was saved. */
  async countCode(accountId: AccountId, endpointId: EndpointId): Promise<void> {
    const bytes = await codeBytes({ endpoint: endpointId })(this.redis);
    await this.redis.hset(keys.codeBytes(accountId), endpointId, String(bytes));
  }

  /** Once for each account: code may have been saved before any was counted. */
  async #countAllCode(accountId: AccountId): Promise<void> {
    const ids = await this.redis.hkeys(keys.endpoints(accountId));
    await Promise.all(ids.map((id) => this.countCode(accountId, id as EndpointId)));
    await this.redis.hset(keys.codeBytes(accountId), ALL_CODE_COUNTED, '0');
  }

  /** The exact usage at this moment. */
  async look(
    accountId: AccountId,
    now: number,
  ): Promise<Omit<AccountUsage, 'quotaBytes'> & Pick<Standing, 'ownQuotaBytes'>> {
    const looked = await lookAtUsage({ account: accountId, now })(this.redis);
    if (!looked.isCodeCounted) {
      await this.#countAllCode(accountId);
      return await this.look(accountId, now);
    }
    return {
      usedBytes: looked.usedBytes,
      ownQuotaBytes: parseQuota(looked.ownQuota ?? ''),
      bytes: {
        events: looked.eventBytes,
        deliveries: looked.deliveryBytes,
        answers: looked.answerBytes,
        replays: looked.replayBytes,
        sessions: looked.sessionBytes,
      },
      events: looked.eventCount,
      webhooks: looked.webhookCount,
      apiKeys: looked.apiKeyCount,
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
