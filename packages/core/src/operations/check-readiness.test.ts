import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkReadiness, isReady, type ReadinessOfApi, readinessChecks } from './check-readiness';
import type { SeenWorker } from './redis-worker-reports';

const NOW = 1_800_000_000_000;
const api: ReadinessOfApi & { readonly opensSecrets: boolean } = {
  publicUrl: 'https://hooks.example.com',
  encryptionKeys: 1,
  opensSecrets: true,
  trustsProxy: true,
  hasBootstrapKey: false,
  hasMailFrom: true,
  hasHistory: true,
  skewMs: 3,
  lastScrapedAt: NOW - 60_000,
  settings: { RETENTION: 'a', DELIVERY_ALLOWED_CIDRS: 'b' },
};
const redis = {
  isAppendOnly: true,
  fsync: 'always',
  keepsWithinMemory: true,
  hasReplicas: true,
  canReplay: true,
};
const slots = { quick: { inUse: 0, allowed: 1 }, slow: { inUse: 0, allowed: 1 } };
const worker: SeenWorker = {
  id: 'f00d42',
  host: 'node-1',
  pid: 7,
  version: '0.1.0',
  startedAt: NOW,
  seenAt: NOW,
  slots,
  attemptsPerSecond: 0,
  sendsMail: true,
  skewMs: 0,
  settings: { ...api.settings, SIGNATURE_PREFIX: 'c' },
};
const workers = [worker, worker];

/** What is not as it should be. */
const leftOf = (...of: Parameters<typeof checkReadiness>) =>
  checkReadiness(...of)
    .filter(({ state }) => state !== 'good')
    .map(({ check, state }) => `${check} ${state}`);

it('has nothing to find in an installation that has everything', () => {
  const findings = checkReadiness(api, redis, workers, NOW);
  expect(findings.map(({ check }) => check)).toEqual(readinessChecks);
  expect(findings.filter(({ state }) => state !== 'good')).toEqual([]);
  expect(isReady(findings)).toBe(true);
});

it.each([
  [{ publicUrl: undefined }, ['public_url missing', 'tls missing']],
  [{ publicUrl: 'http://hooks.example.com' }, ['tls missing']],
  [{ encryptionKeys: 0 }, ['encryption_key missing']],
  [{ opensSecrets: false }, ['encryption_key missing']],
  [{ trustsProxy: false }, ['trust_proxy missing']],
  [{ skewMs: -2_500 }, ['clock missing']],
])('is not ready when the API has %j', (of, left) => {
  expect(leftOf({ ...api, ...of }, redis, workers, NOW)).toEqual(left);
  expect(isReady(checkReadiness({ ...api, ...of }, redis, workers, NOW))).toBe(false);
});

it.each([
  [{ isAppendOnly: false }, 'redis_fsync'],
  [{ fsync: 'everysec' }, 'redis_fsync'],
  [{ canReplay: false }, 'redis_default_user'],
  [{ keepsWithinMemory: false }, 'redis_memory'],
])('is not ready when Redis has %j', (of, check) => {
  expect(leftOf(api, { ...redis, ...of }, workers, NOW)).toEqual([`${check} missing`]);
  expect(isReady(checkReadiness(api, { ...redis, ...of }, workers, NOW))).toBe(false);
});

it('says what Redis is set to, in its words and for words of others', () => {
  const [found] = checkReadiness(api, { ...redis, fsync: 'everysec' }, workers, NOW).filter(
    ({ state }) => state === 'missing',
  );
  expect(found).toMatchObject({ code: 'redis_fsync_missing', values: { appendfsync: 'everysec' } });
  expect(found?.detail).toMatch(/^appendfsync is everysec: /);
});

it('is ready without what is only advised', () => {
  const sparse = { ...api, hasBootstrapKey: true, hasMailFrom: false, hasHistory: false, encryptionKeys: 2 };
  const findings = [
    { ...sparse, lastScrapedAt: undefined },
    { ...redis, hasReplicas: false },
    [worker],
    NOW,
  ] as const;
  expect(leftOf(...findings)).toEqual([
    'bootstrap_key missing',
    'old_encryption_keys unknown',
    'workers missing',
    'redis_replicas missing',
    'mail missing',
    'history missing',
    'prometheus missing',
  ]);
  expect(isReady(checkReadiness(...findings))).toBe(true);
});

it('leaves to people what Redis does not tell', () => {
  const silent = {
    isAppendOnly: undefined,
    fsync: undefined,
    keepsWithinMemory: undefined,
    hasReplicas: undefined,
    canReplay: undefined,
  };
  expect(leftOf(api, silent, workers, NOW)).toEqual([
    'redis_fsync unknown',
    'redis_default_user unknown',
    'redis_memory unknown',
    'redis_replicas unknown',
  ]);
  expect(isReady(checkReadiness(api, silent, workers, NOW))).toBe(true);
});

it('asks the workers for their mail and their clocks', () => {
  expect(leftOf(api, redis, [], NOW)).toEqual(['same_settings unknown', 'workers missing', 'mail unknown']);
  expect(leftOf(api, redis, [worker, { ...worker, sendsMail: false }], NOW)).toEqual(['mail missing']);
  expect(leftOf(api, redis, [worker, { ...worker, skewMs: 2_500 }], NOW)).toEqual(['clock missing']);
});

describe('settings that must be alike', () => {
  const at = (id: string, settings: SeenWorker['settings']) => ({ ...worker, id, settings });
  const findingsOf = (...all: readonly SeenWorker[]) =>
    checkReadiness(api, redis, all, NOW).filter(({ check }) => check === 'same_settings');

  it('names those in which workers differ from the API, and the workers', () => {
    const other = at('0ther1', { ...worker.settings, DELIVERY_ALLOWED_CIDRS: 'd' });
    expect(findingsOf(worker, other)).toMatchObject([
      {
        level: 'required',
        state: 'missing',
        values: { settings: 'DELIVERY_ALLOWED_CIDRS', workers: '0ther1 (node-1, 7)' },
      },
    ]);
    expect(isReady(checkReadiness(api, redis, [worker, other], NOW))).toBe(false);
  });

  it('goes by most workers where the API has no such setting', () => {
    const other = at('0ther1', { ...worker.settings, SIGNATURE_PREFIX: 'd' });
    expect(findingsOf(other, worker, at('f00d43', worker.settings))).toMatchObject([
      { state: 'missing', values: { settings: 'SIGNATURE_PREFIX', workers: '0ther1 (node-1, 7)' } },
    ]);
  });

  it('names a few of very many workers', () => {
    const others = Array.from({ length: 20 }, (_, i) => at(`w${i}`, { RETENTION: 'd' }));
    expect(findingsOf(...others)[0]?.values['workers']).toMatch(/^(w\d \(node-1, 7\), ){5}…$/);
  });

  it('leaves out workers of an earlier version, and settings that they do not know', () => {
    expect(findingsOf(worker, at('f0rmer', undefined), at('f0rme2', { RETENTION: 'a' }))).toMatchObject([
      { state: 'good' },
    ]);
    expect(findingsOf(at('f0rmer', undefined))).toMatchObject([{ state: 'unknown' }]);
  });
});

it.each(checkReadiness(api, redis, workers, NOW).map(({ check, docs }) => [check, docs] as const))(
  'what leads to help with %s leads to a heading that is there',
  (_check, link) => {
    const [page = '', heading] = link.split('#');
    const text = readFileSync(join(__dirname, '../../../..', page), 'utf8');
    const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, name = '']) =>
      name
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    );
    expect(headings).toContain(heading);
  },
);
