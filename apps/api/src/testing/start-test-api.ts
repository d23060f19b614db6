import { AccountStore } from '@hookferry/core/accounts/redis-account-store';
import { ApiKeyStore } from '@hookferry/core/accounts/redis-api-key-store';
import type { AccountId, ApiKey } from '@hookferry/core/domain/account';
import type { Environment } from '@hookferry/core/platform/settings';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { recordSignals, type SignalRecord } from '@hookferry/core/testing/record-signals';
import { openTestRedis, type TestRedis } from '@hookferry/core/testing/test-redis';
import { TEST_ENCRYPTION_KEY } from '@hookferry/core/testing/test-sealer';
import { composeApi } from '../compose';
import { readApiConfig } from '../config';
import { checkAnswers } from './check-answers';

/** The limit of an event's body in tests: the smallest that can be configured. */
export const MAX_EVENT_BYTES = 1_024;

export interface TestApi {
  readonly url: string;
  readonly redis: TestRedis;
  readonly signals: SignalRecord;
  /** A key of an account of its own, with every scope, unless `change` says otherwise. */
  issueKey(
    change?: Partial<Pick<ApiKey, 'accountId' | 'scopes' | 'createdAt' | 'expiresAt'>>,
  ): Promise<{ readonly key: string; readonly accountId: AccountId }>;
  close(): Promise<void>;
}

/** The whole API on a port of its own, with a database of its own. Resolves when it is ready. */
export async function startTestApi(environment: Environment = {}, redisUrl?: string): Promise<TestApi> {
  const redis = await openTestRedis(redisUrl);
  const accountStore = new AccountStore(redis.client);
  const apiKeyStore = new ApiKeyStore(redis.client);
  const api = await startApi({ REDIS_URL: redis.url, ...environment });
  await untilReady(api.url);
  return {
    ...api,
    redis,
    async issueKey(change) {
      const { key, record } = buildApiKey(change);
      await Promise.all([
        accountStore.create({ id: record.accountId, createdAt: record.createdAt }),
        apiKeyStore.save(record),
      ]);
      return { key, accountId: record.accountId };
    },
    async close() {
      try {
        await api.close();
      } finally {
        await redis.close();
      }
    },
  };
}

/** The whole API, ready or not. Closing it fails when a response did not match the API's description. */
export async function startApi(
  environment: Environment,
): Promise<Pick<TestApi, 'url' | 'signals' | 'close'>> {
  const signals = recordSignals();
  const config = readApiConfig({
    API_HOST: '127.0.0.1',
    API_PORT: '0',
    MAX_EVENT_BYTES: String(MAX_EVENT_BYTES),
    PUBLIC_URL: 'https://hooks.example.com',
    MAIL_FROM: 'hooks@example.com',
    SECRETS_ENCRYPTION_KEY: TEST_ENCRYPTION_KEY,
    // Every test comes from the same address, and many have no valid key on purpose.
    AUTH_FAILURE_LIMIT: 'off',
    // Nothing stands before it that would have to notice.
    DRAIN_DELAY: '0s',
    // The times of examples are years ahead.
    SCHEDULE_MAX: '3650d',
    ...environment,
  });
  const answers = checkAnswers();
  const { port, parts } = await composeApi(config, [signals.listen]);
  return {
    url: `http://127.0.0.1:${port}`,
    signals,
    async close() {
      for (const part of parts) await part.stop();
      answers.stop();
    },
  };
}

/** An orchestrator's check before it sends requests. */
export async function untilReady(url: string): Promise<void> {
  while ((await fetch(`${url}/readyz`)).status !== 200);
}
