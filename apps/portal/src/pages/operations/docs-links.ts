import type { Finding } from './use-last-day';

const DOCS = 'https://github.com/hookferry/hookferry/blob/main/docs/';

/** Pages of docs/, with the heading. */
export const docsOf: Readonly<Record<Finding['check'], string>> = {
  public_url: 'portal.md#settings',
  tls: 'deploying.md#what-to-set-in-production',
  encryption_key: 'security.md#secrets-at-rest',
  bootstrap_key: 'api-keys.md#the-first-key',
  redis_fsync: 'redis.md#settings',
  clock: 'reliability.md#what-is-assumed-of-clocks',
  mail: 'notifications.md#for-operators',
  history: 'history.md#what-moves-and-when',
  prometheus: 'operations.md#metrics',
};

export const docsUrlOf = (page: string) => `${DOCS}${page}`;
