import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { userInfo } from 'node:os';
import { AuditLog } from '@hookferry/core/accounts/audit/redis-audit-log';
import { AccountStore } from '@hookferry/core/accounts/redis-account-store';
import { ApiKeyStore } from '@hookferry/core/accounts/redis-api-key-store';
import { type Account, type AccountId, accountIdSchema } from '@hookferry/core/domain/account';
import { oneShard } from '@hookferry/core/domain/queues';
import { EndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import { Sealer } from '@hookferry/core/endpoints/seal';
import { EndedList } from '@hookferry/core/events/redis-ended-list';
import { WorkerReports } from '@hookferry/core/operations/redis-worker-reports';
import { AppError } from '@hookferry/core/platform/app-error';
import { sealingKeysSchema } from '@hookferry/core/platform/sealing-key';
import { VERSION } from '@hookferry/core/platform/version';
import { createJobKeys } from '@hookferry/core/queue/bullmq-layout';
import { RejectedEvents } from '@hookferry/core/queue/bullmq-rejected-events';
import { buildEndpoint } from '@hookferry/core/testing/build-endpoint';
import { startConnectProxy } from '@hookferry/core/testing/connect-proxy';
import { findClosedPort, startTcpServer } from '@hookferry/core/testing/local-server';
import { openAuthentication } from '@hookferry/core/testing/open-authentication';
import { hasPostgres, NO_POSTGRES, PostgresServer } from '@hookferry/core/testing/postgres-server';
import { startRedisServer } from '@hookferry/core/testing/redis-server';
import { openTestRedis, type TestRedis } from '@hookferry/core/testing/test-redis';
import { TEST_ENCRYPTION_KEY, testSealer } from '@hookferry/core/testing/test-sealer';
import { uniqueEndpointId, uniqueEventId } from '@hookferry/core/testing/unique-ids';
import { Redis } from 'ioredis';
import { runCli } from './run-cli';

const describePostgres = hasPostgres ? describe : describe.skip;

const KEY = /^whk_[0-9a-z]{16}_[0-9A-Za-z]{52}\n$/;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
beforeEach(() => redis.client.flushdb());
afterAll(() => redis.close());

async function run(
  commandLine: string,
  environment: Record<string, string> = { REDIS_URL: redis.url },
  written = { out: '', error: '' },
) {
  const exitCode = await runCli(commandLine.split(' '), environment, {
    out: (text) => void (written.out += text),
    error: (text) => void (written.error += text),
  });
  return { exitCode, ...written };
}

/** What a command that was successful said to a program. */
async function runJson(commandLine: string) {
  const { exitCode, out, error } = await run(`${commandLine} --json`);
  expect({ exitCode, error }).toEqual({ exitCode: 0, error: '' });
  return JSON.parse(out);
}

function authenticate(key: string) {
  return openAuthentication(redis.client).authenticateAgain(`Bearer ${key}`);
}

it('says that a command may be lost in a fail-over where no replica confirms it', async () => {
  const master = await startRedisServer();
  const { port } = new URL(master.url);
  const replica = await startRedisServer(['--replicaof', `127.0.0.1 ${port}`]);
  const client = new Redis(replica.url);
  try {
    while (!(await client.info('replication')).includes('link_status:up'));
    const command = 'keys create --name ci --scopes events:write';
    const environment = { REDIS_URL: master.url, REDIS_CONFIRMED_BY: '1' };
    expect(await run(command, environment)).toMatchObject({
      exitCode: 0,
      error: expect.not.stringMatching(/Redis can/),
    });
    await client.replicaof('NO', 'ONE');
    const { exitCode, error } = await run(command, environment);
    expect(exitCode).not.toBe(0);
    expect(error).toContain('REDIS_CONFIRMED_BY is 1, and 0 replicas confirmed a write');
    expect(error).toContain('set REDIS_CONFIRMED_BY to as many as there are');
    expect(error).not.toContain('REDIS_URL');
  } finally {
    client.disconnect();
    await replica.close();
    await master.close();
  }
});

describe('keys create', () => {
  it('writes the key, which is good at once, and nothing else to standard output', async () => {
    const { exitCode, out, error } = await run('keys create --name ci --scopes events:write,webhooks:read');
    expect(exitCode).toBe(0);
    expect(out).toMatch(KEY);
    expect(error).toContain('the only time it is shown');
    expect(error).not.toContain(out.trim().slice(21));
    expect(await authenticate(out.trim())).toMatchObject({
      accountId: 'default',
      name: 'ci',
      scopes: ['events:write', 'webhooks:read'],
    });
  });

  it('gives programs what the API gives, and the account', async () => {
    const created = await runJson('keys create --name ci --scopes admin');
    expect(created).toEqual({
      id: created.key.slice(4, 20),
      account_id: 'default',
      key: expect.stringMatching(/^whk_/),
      name: 'ci',
      scopes: ['admin'],
      event_types: null,
      rotated_to: null,
      created_at: expect.stringMatching(/Z$/),
      expires_at: null,
      last_used_at: null,
    });
  });

  it('lets it end after a while', async () => {
    const created = await runJson('keys create --name ci --scopes admin --expires 90d');
    expect(Date.parse(created.expires_at) - Date.parse(created.created_at)).toBeCloseTo(90 * 86_400_000, -4);
  });

  it('refuses an account that there is not, and says how to create it', async () => {
    const command = 'keys create --name ci --scopes admin --account acme';
    const { exitCode, out, error } = await run(command);
    expect({ exitCode, out }).toEqual({ exitCode: 1, out: '' });
    expect(error).toContain('hookferry-admin accounts create --id acme');
    await run('accounts create --id acme');
    expect((await run(command)).exitCode).toBe(0);
  });

  it.each([
    ['--scopes root', '--scopes: must be one of webhooks:read'],
    ['--scopes admin,admin', '--scopes: must not name a scope twice'],
    ['--scopes admin --expires soon', '--expires: "soon" is not a duration'],
    ['--scopes admin --expires 0s', '--expires: must be more than 0s'],
    ['--scopes admin --expires 3651d', '--expires: must be at most 3650d'],
    ['--scopes admin --account a/b', '--account: must be 1 to 64 of'],
    ['--scopes admin --nmae x', "unknown option '--nmae'"],
    ['--scopes admin extra', 'too many arguments'],
    ['', "required option '--scopes <list>' not specified"],
  ])('refuses "%s"', async (flags, message) => {
    const { exitCode, out, error } = await run(`keys create --name ci ${flags}`.trim());
    expect({ exitCode, out }).toEqual({ exitCode: 2, out: '' });
    expect(error).toContain(message);
    expect(await redis.client.keys('*')).toEqual([]);
  });
});

describe('keys list', () => {
  it("shows an account's keys, and none of another one's", async () => {
    await run('accounts create --id acme');
    const created = await runJson('keys create --name ci --scopes admin,events:write --account acme');
    await run('keys create --name mine --scopes admin');
    const { out } = await run('keys list --account acme');
    const [titles = '', row = '', ...rest] = out.trimEnd().split('\n');
    expect(titles.split(/ {2,}/)).toEqual(['ID', 'NAME', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED']);
    expect(row.split(/ {2,}/)).toEqual([
      created.id,
      'ci',
      'admin,events:write',
      created.created_at,
      'never',
      'never',
    ]);
    expect(rest).toEqual([]);
    const { key: _key, account_id: _accountId, ...shown } = created;
    expect(await runJson('keys list --account acme')).toEqual([shown]);
  });

  it('shows all of them, however many', async () => {
    const store = new ApiKeyStore(redis.client);
    const created = await runJson('keys create --name ci --scopes admin');
    const record = await store.find(created.id);
    if (!record) throw new Error('The key is not there.');
    const ids = Array.from({ length: 250 }, (_, n) => String(n).padStart(16, '0'));
    await Promise.all(ids.map((id, n) => store.save({ ...record, id, createdAt: n })));
    expect(await runJson('keys list')).toHaveLength(251);
  });

  it('refuses an account that there is not', async () => {
    const { exitCode, error } = await run('keys list --account acme');
    expect(exitCode).toBe(1);
    expect(error).toContain('hookferry-admin accounts list');
  });
});

describe('what a command does', () => {
  it('is in the audit log, with who ran it', async () => {
    const environment = { REDIS_URL: redis.url };
    await run('accounts create --id acme', environment);
    const { id } = await runJson('keys create --name ci --scopes events:write --account acme');
    await run(`keys revoke ${id} --account acme`, environment);
    await run('queues pause deliveries', environment);
    await run('accounts create --id acme', environment);
    const { entries } = await new AuditLog(redis.client).listAllDone({}, 100);
    expect(entries.map(({ action, targetId, accountId }) => [action, targetId, accountId])).toEqual([
      ['queue.pause', 'deliveries', 'default'],
      ['api_key.revoke', id, 'acme'],
      ['api_key.create', id, 'acme'],
      ['account.create', 'acme', 'default'],
    ]);
    expect(entries[1]?.actor).toEqual({
      type: 'admin_command',
      command: 'keys revoke',
      system_user: process.env.SUDO_USER ?? userInfo().username,
    });
  });

  it('is in it as refused, with what was asked for and why not', async () => {
    await run('accounts create --id acme');
    expect((await run('accounts create --id acme')).exitCode).toBe(1);
    expect((await run('keys revoke 0123456789abcdef --account acme')).exitCode).toBe(1);
    const { entries } = await new AuditLog(redis.client).listRefused('everybody', {}, 100);
    expect(
      entries.map(({ action, targetId, accountId, code }) => [action, targetId, accountId, code]),
    ).toEqual([
      ['api_key.revoke', '0123456789abcdef', 'acme', 'not_found'],
      ['account.create', 'acme', 'default', 'conflict'],
    ]);
    expect(entries[0]?.actor).toMatchObject({ type: 'admin_command', command: 'keys revoke' });
  });
});

describe('what a command changes', () => {
  it('is told to the webhooks of its account that ask for it, before the command ends', async () => {
    await run('accounts create --id acme');
    const accountId = accountIdSchema.parse('acme');
    const asking = buildEndpoint({ accountId, events: ['audit.recorded'] });
    await new EndpointStore(redis.client, testSealer).create(asking);
    const { id } = await runJson('keys create --name ci --scopes events:write --account acme');
    const [job = '', ...others] = await redis.client.lrange('bull:events:wait', 0, -1);
    expect(others).toEqual([]);
    const published = (await redis.client.hget(`bull:events:${job}`, 'data')) ?? '';
    expect(published).toContain('audit.recorded');
    expect(published).toContain('api_key.create');
    expect(published).toContain(id);
  });
});

describe('keys rotate', () => {
  it('prints a key that may do the same, and says when the former one ends', async () => {
    const created = await run(
      'keys create --name ci --scopes events:write --event-types order.*,invoice.paid',
    );
    const id = created.out.slice(4, 20);
    const { exitCode, out, error } = await run(`keys rotate ${id} --overlap 1h`);
    expect([exitCode, out]).toEqual([0, expect.stringMatching(/^whk_[0-9a-z]{16}_\w{52}\n$/)]);
    expect(error).toContain(`takes the place of ${id}, which ends at 20`);
    const listed = JSON.parse((await run('keys list --json')).out);
    expect(listed.find((key: { id: string }) => key.id === out.slice(4, 20))).toMatchObject({
      name: 'ci',
      scopes: ['events:write'],
      event_types: ['order.*', 'invoice.paid'],
      expires_at: null,
    });
    expect(listed.find((key: { id: string }) => key.id === id)).toMatchObject({
      rotated_to: out.slice(4, 20),
    });
    expect((await run(`keys rotate ${id}`)).error).toContain('was rotated before');
  });
});

describe('keys revoke', () => {
  it('ends a key', async () => {
    const { id, key } = await runJson('keys create --name ci --scopes events:write');
    expect(await run(`keys revoke ${id}`)).toEqual({
      exitCode: 0,
      out: `Revoked the key ${id}.\n`,
      error: '',
    });
    await expect(authenticate(key)).rejects.toMatchObject({ code: 'unauthenticated' });
    expect((await run(`keys revoke ${id}`)).exitCode).toBe(1);
  });

  it("refuses another account's key, and says where to look", async () => {
    await run('accounts create --id acme');
    const { id, key } = await runJson('keys create --name ci --scopes admin --account acme');
    const { exitCode, error } = await run(`keys revoke ${id}`);
    expect(exitCode).toBe(1);
    expect(error).toContain('hookferry-admin keys list --account default');
    expect(await authenticate(key)).toMatchObject({ id });
  });

  it('refuses a whole key in the place of its id without repeating it', async () => {
    const { key } = await runJson('keys create --name ci --scopes admin');
    const { exitCode, error } = await run(`keys revoke ${key}`);
    expect(exitCode).toBe(2);
    expect(error).toContain('<id>: must be the 16 characters');
    expect(error).not.toContain(key);
  });
});

describe('keys reseal', () => {
  const otherKey = Buffer.alloc(32, 'other').toString('base64');
  const bothKeys = () => ({
    REDIS_URL: redis.url,
    SECRETS_ENCRYPTION_KEY: `${otherKey},${TEST_ENCRYPTION_KEY}`,
  });
  const storeWith = (keys: string) =>
    new EndpointStore(redis.client, new Sealer(sealingKeysSchema.parse(keys)));

  async function createEndpoint(sealedUnder = TEST_ENCRYPTION_KEY) {
    const endpoint = buildEndpoint({
      accountId: accountIdSchema.parse((await runJson('accounts create')).id),
    });
    await storeWith(sealedUnder).create(endpoint);
    return endpoint;
  }

  async function recordedReseals() {
    const { entries } = await new AuditLog(redis.client).listAllDone({}, 9);
    return entries.filter(({ action }) => action === 'encryption_key.reseal');
  }

  it('counts what is left to do, changes nothing before it is asked to, and leaves nothing then', async () => {
    const endpoint = await createEndpoint();
    const row = (out: string) => out.split('\n').find((line) => line.startsWith('webhooks'));
    const counted = await run('keys reseal --dry-run', bothKeys());
    expect(counted.exitCode).toBe(0);
    expect(row(counted.out)).toMatch(/^webhooks +0 +1 +0$/);
    expect(await recordedReseals()).toEqual([]);
    const done = await run('keys reseal', bothKeys());
    expect({ exitCode: done.exitCode, error: done.error }).toEqual({ exitCode: 0, error: '' });
    expect(row(done.out)).toMatch(/^webhooks +1 +0 +0 +1$/);
    expect(await storeWith(otherKey).find(endpoint.accountId, endpoint.id)).toEqual(endpoint);
    expect(await recordedReseals()).toMatchObject([
      { actor: { type: 'admin_command', command: 'keys reseal' }, accountId: 'default' },
    ]);
  });

  it('gives programs the same counts', async () => {
    await createEndpoint();
    const { out } = await run('keys reseal --json', bothKeys());
    expect(JSON.parse(out)).toMatchObject({
      webhooks: { resealed: 1, current: 1, left: 0, unreadable: 0 },
      contacts: { resealed: 0, current: 0, left: 0, unreadable: 0 },
    });
    expect(JSON.parse((await run('keys reseal --dry-run --json', bothKeys())).out).webhooks).toEqual({
      current: 1,
      left: 0,
      unreadable: 0,
    });
  });

  it('ends with 1 as long as something is not sealed under the first key, and says why', async () => {
    await createEndpoint(Buffer.alloc(32, 'lost').toString('base64'));
    const { exitCode, out, error } = await run('keys reseal', bothKeys());
    expect(exitCode).toBe(1);
    expect(out).toMatch(/^webhooks +0 +0 +1 +0$/m);
    expect(error).toContain('1 unreadable: the key that has sealed them is not in SECRETS_ENCRYPTION_KEY');
  });

  it('changes nothing under a key that a worker lacks', async () => {
    const endpoint = await createEndpoint();
    const budget = { inUse: 0, allowed: 1 };
    await new WorkerReports(redis.client).save({
      id: 'f00d42',
      host: 'node-1',
      pid: 42,
      version: VERSION,
      startedAt: 1,
      slots: { quick: budget, slow: budget },
      attemptsPerSecond: 0,
      sealingKeys: ['0badc0de'],
    });
    const { exitCode, error } = await run('keys reseal', bothKeys());
    expect(exitCode).toBe(1);
    expect(error).toContain('Nothing was changed');
    expect(error).toContain('f00d42');
    expect(await storeWith(TEST_ENCRYPTION_KEY).find(endpoint.accountId, endpoint.id)).toEqual(endpoint);
  });

  it('has to have a key', async () => {
    expect(await run('keys reseal')).toMatchObject({
      exitCode: 1,
      error: expect.stringContaining('SECRETS_ENCRYPTION_KEY must be set'),
    });
  });
});

describe('accounts', () => {
  it('are created and listed, the default one too', async () => {
    const acme = await runJson('accounts create --id acme --name Acme');
    expect(acme).toMatchObject({
      id: 'acme',
      name: 'Acme',
      weight: 1,
      default_signing: 'hmac',
      status: 'active',
      created_at: expect.stringMatching(/Z$/),
    });
    const listed = await runJson('accounts list');
    expect(listed.map(({ id }: { id: string }) => id).sort()).toEqual(['acme', 'default']);
    expect((await run('accounts list')).out).toMatch(/^ID +NAME +STATUS +CREATED\n/);
  });

  it('are given an id when they bring none', async () => {
    expect(await runJson('accounts create')).toMatchObject({
      id: expect.stringMatching(/^acct_[0-9a-z]{22}$/),
      weight: 1,
      default_signing: 'hmac',
      status: 'active',
      created_at: expect.stringMatching(/Z$/),
    });
  });

  it('are not created twice', async () => {
    await run('accounts create --id acme');
    const { exitCode, error } = await run('accounts create --id acme');
    expect(exitCode).toBe(1);
    expect(error).toMatch(/^There is already an account with this id\. Choose another one/);
  });
});

describe('accounts delete', () => {
  it('makes the account and its keys good for nothing at once, and leaves the rest to the workers', async () => {
    await run('accounts create --id acme');
    const { key } = await runJson('keys create --name ci --scopes admin --account acme');
    expect(await runJson('accounts delete acme --yes --no-wait')).toMatchObject({
      id: 'acme',
      status: 'erasing',
    });
    await expect(authenticate(key)).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(await redis.client.exists('bull:erasures:account.acme')).toBe(1);
    expect((await run('accounts delete acme --yes --no-wait')).exitCode).toBe(0);
    const { exitCode, error } = await run('keys create --name ci --scopes admin --account acme');
    expect(exitCode).toBe(1);
    expect(error).toContain('It is being erased.');
    expect(await runJson('keys list --account acme')).toEqual([]);
  });

  /** Ends the erasure as a worker would, as soon as the command has said this. */
  async function deleteAcme(flags: string, said: string) {
    await run('accounts create --id acme');
    const store = new AccountStore(redis.client);
    const written = { out: '', error: '' };
    const deleted = run(`accounts delete acme --yes${flags}`, undefined, written);
    let account: Account | undefined;
    while (!written.error.includes(said)) account = await store.find('acme' as AccountId);
    if (account) await store.remove(account, 0, 1);
    return await deleted;
  }

  it('waits until the account is gone, and says who erases it and what is still going on', async () => {
    const { exitCode, out, error } = await deleteAcme('', 'search all keys of Redis');
    expect({ exitCode, out }).toEqual({ exitCode: 0, out: 'Erased the account acme.\n' });
    expect(error).toContain(
      'The workers erase it. If the numbers do not fall, check that a worker is running.',
    );
  });

  it('tells programs that the account is erased once it is', async () => {
    const { exitCode, out } = await deleteAcme(' --json', 'all keys');
    expect(exitCode).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ id: 'acme', status: 'erased' });
    expect(JSON.parse(out)).not.toHaveProperty('erased');
  });

  it.each([
    ['acme', 2, '--yes: must be given'],
    ['a/b --yes', 2, '<id>: must be 1 to 64 of'],
    ['nobody --yes', 1, 'hookferry-admin accounts list'],
    ['default --yes', 1, "can't be erased"],
  ])('refuses "%s"', async (args, expected, message) => {
    await run('accounts create --id acme');
    const { exitCode, out, error } = await run(`accounts delete ${args}`);
    expect({ exitCode, out }).toEqual({ exitCode: expected, out: '' });
    expect(error).toContain(message);
    expect((await runJson('accounts list')).map(({ status }: { status: string }) => status)).toEqual([
      'active',
      'active',
    ]);
  });
});

describe('dead-letters', () => {
  const LIST = 'See: hookferry-admin dead-letters list';

  /** Keeps so many invalid events, the later ones newer. */
  async function reject(count: number): Promise<void> {
    let now = Date.parse('2026-01-01T00:00:00Z');
    const rejected = new RejectedEvents(redis.client, oneShard('bull'), () => now++);
    const error = new AppError('invalid_request', 'The event is not valid.');
    for (let n = 1; n <= count; n += 1) {
      const job = { id: String(n), name: `no.such\u001b[2J`, timestamp: 7, data: { account_id: 'acme', n } };
      await rejected.keep(job, error);
    }
  }

  const listed = async () => (await runJson('dead-letters list')).map(({ id }: { id: string }) => id);

  it('are listed, newest first, with nothing in them that a terminal would obey', async () => {
    await reject(2);
    const { out } = await run('dead-letters list');
    const [titles = '', row = '', ...rest] = out.trimEnd().split('\n');
    expect(titles.split(/ {2,}/)).toEqual(['ID', 'NAME', 'ACCOUNT', 'FAILED', 'REASON']);
    expect(row.split(/ {2,}/)).toEqual([
      'events-dead-letters.7-2',
      'no.such [2J',
      'acme',
      '2026-01-01T00:00:00.001Z',
      'The event is not valid.',
    ]);
    expect(rest).toHaveLength(1);
  });

  it('are listed as many as are asked for, and those of a queue', async () => {
    await reject(3);
    const { exitCode, out, error } = await run('dead-letters list --limit 2 --json');
    expect([exitCode, JSON.parse(out).length]).toEqual([0, 2]);
    expect(error).toContain('--limit');
    expect(await runJson('dead-letters list --queue events')).toHaveLength(3);
    expect(await runJson('dead-letters list --queue erasures')).toEqual([]);
  });

  it('are shown with what was pushed', async () => {
    await reject(1);
    const { out } = await run('dead-letters show events-dead-letters.7-1');
    expect(JSON.parse(out)).toEqual({
      id: 'events-dead-letters.7-1',
      queue: 'events',
      name: 'no.such\u001b[2J',
      account_id: 'acme',
      reason: 'The event is not valid.',
      failed_at: '2026-01-01T00:00:00.000Z',
      attempts_made: 1,
      data: { account_id: 'acme', n: 1 },
    });
  });

  it('are retried, those that are named', async () => {
    await reject(3);
    const { exitCode, out } = await run('dead-letters retry events-dead-letters.7-1 events-dead-letters.7-3');
    expect({ exitCode, out }).toEqual({ exitCode: 0, out: 'Retried 2 dead letters.\n' });
    expect(await listed()).toEqual(['events-dead-letters.7-2']);
    expect(await redis.client.llen('bull:events:wait')).toBe(2);
  });

  it('are dropped, every one of them, and it says how far it is', async () => {
    await reject(201);
    const { exitCode, out, error } = await run('dead-letters drop --all');
    expect({ exitCode, out, error }).toEqual({
      exitCode: 0,
      out: 'Dropped 201 dead letters.\n',
      error: 'Dropped 200 dead letters so far.\n',
    });
    expect(await listed()).toEqual([]);
    expect(await runJson('dead-letters drop --all')).toEqual({ dropped: 0 });
  });

  it('are dropped, every one of a queue', async () => {
    await reject(1);
    expect(await runJson('dead-letters retry --all --queue deliveries')).toEqual({ retried: 0 });
    expect(await listed()).toHaveLength(1);
  });

  it.each(['show', 'retry', 'drop'])('are not found by the id of none: %s', async (command) => {
    const { exitCode, error } = await run(`dead-letters ${command} deliveries.none`);
    expect(exitCode).toBe(1);
    expect(error).toContain(LIST);
  });

  it.each([
    ['show 17', '<id>: must be an id that'],
    ['retry', '<id>…, or --all'],
    ['drop deliveries.none --all', 'not both'],
    ['drop deliveries.none --queue deliveries', '--queue: needs --all'],
    ['drop --all --queue mail', '--queue: must be one of events, deliveries'],
    ['list --limit 0', '--limit: must be at least 1'],
  ])('refuses "%s"', async (command, message) => {
    const { exitCode, out, error } = await run(`dead-letters ${command}`);
    expect({ exitCode, out }).toEqual({ exitCode: 2, out: '' });
    expect(error).toContain(message);
  });
});

describe('webhooks', () => {
  it.each(['--help', 'keys --help', 'keys create --help', 'help accounts', 'dead-letters retry --help'])(
    'explains itself: %s',
    async (line) => {
      const { exitCode, out, error } = await run(line, {});
      expect({ exitCode, error }).toEqual({ exitCode: 0, error: '' });
      expect(out).toMatch(/^Usage: hookferry-admin /);
    },
  );

  it('says its version', async () => {
    expect(await run('--version', {})).toEqual({ exitCode: 0, out: `${VERSION}\n`, error: '' });
    const { out } = await run('--version', { HOOKFERRY_REVISION: '86ae8b4799f4f9ed' });
    expect(out).toBe(`${VERSION}+86ae8b4799f4\n`);
  });

  it.each(['keys', 'keys creat', 'key list', '--verbose'])('refuses "%s" with 2', async (line) => {
    const { exitCode, out } = await run(line, {});
    expect({ exitCode, out }).toEqual({ exitCode: 2, out: '' });
  });

  it('connects to no Redis that nobody has named', async () => {
    expect(await run('keys create --name ops --scopes admin', { DATA_DIR: '/nowhere' })).toEqual({
      exitCode: 2,
      out: '',
      error: expect.stringContaining(
        'REDIS_URL: must be set, or REDIS_URL_FILE, to the Redis that the API uses.',
      ),
    });
  });

  it('refuses a REDIS_URL that is none with 2, without repeating the password in it', async () => {
    const { exitCode, error } = await run('keys list', { REDIS_URL: 'http://user:hunter2@redis' });
    expect(exitCode).toBe(2);
    expect(error).toContain('REDIS_URL: must be redis://');
    expect(error).not.toContain('hunter2');
  });

  it('says that Redis can not be reached, and what to set', async () => {
    const url = `redis://:hunter2@127.0.0.1:${await findClosedPort()}`;
    const { exitCode, error } = await run('keys list', { REDIS_URL: url });
    expect(exitCode).toBe(1);
    expect(error).toMatch(/^Redis can't be reached \(.*ECONNREFUSED.*\)\. Start it; or, .* set REDIS_URL/);
    expect(error).not.toContain('hunter2');
  });

  it('says where Redis takes no writes, not that it can not be reached', async () => {
    const server = await startRedisServer();
    await server.fillUp();
    const { exitCode, error } = await run('queues list', { REDIS_URL: server.url });
    await server.close();
    expect(exitCode).toBe(1);
    expect(error).toMatch(/^Redis refuses \(OOM .*\)\. If it takes no writes, see: hookferry-admin explain/);
  });

  it('gives up on a Redis that takes connections and is silent', async () => {
    const silent = await startTcpServer(() => {});
    const { exitCode, error } = await run('keys list', { REDIS_URL: `redis://127.0.0.1:${silent.port}` });
    expect(exitCode).toBe(1);
    expect(error).toMatch(/^Redis can't be reached/);
    await silent.close();
  });
});

describe('doctor', () => {
  async function withEcho<T>(answer: (address: string) => string, work: (url: string) => Promise<T>) {
    const echo = createServer((request, response) => {
      response.end(answer(request.socket.remoteAddress ?? ''));
    });
    await once(echo.listen(0, '127.0.0.1'), 'listening');
    try {
      return await work(`http://127.0.0.1:${(echo.address() as AddressInfo).port}/ip`);
    } finally {
      echo.close();
    }
  }
  const ask = (ranges: string) => (url: string) =>
    run(`doctor --echo ${url} --json`, { SOURCE_ADDRESSES: ranges });

  it('says that what the echo sees is in the ranges, without Redis', async () => {
    const { exitCode, out } = await withEcho(
      (address) => JSON.stringify({ time: '12:30:45', origin: `::ffff:${address}` }),
      ask('203.0.113.0/28,127.0.0.0/8'),
    );
    expect(JSON.parse(out)).toMatchObject({
      is_good: true,
      findings: [
        { check: 'IPv4', state: 'good', detail: '127.0.0.1 is in 127.0.0.0/8' },
        { check: 'IPv6', state: 'good' },
      ],
    });
    expect(exitCode).toBe(0);
  });

  it.each([
    ['another address', (address: string) => address, '127.0.0.1 is in none of SOURCE_ADDRESSES'],
    ['none', () => 'hello', "the page's response has no address"],
    ['several', (address: string) => `${address}, 203.0.113.7`, 'has several addresses'],
  ])('fails when the echo sees %s', async (_what, answer, detail) => {
    const { exitCode, out, error } = await withEcho(answer, ask('203.0.113.0/28'));
    expect(JSON.parse(out).findings[0]).toMatchObject({
      state: 'bad',
      detail: expect.stringContaining(detail),
    });
    expect({ exitCode, error }).toMatchObject({
      exitCode: 1,
      error: expect.stringContaining('refuse deliveries from here'),
    });
  });

  it('fails when nothing could be compared', async () => {
    const { exitCode, out } = await ask('203.0.113.0/28')(`http://127.0.0.1:${await findClosedPort()}/`);
    expect(exitCode).toBe(1);
    expect(JSON.parse(out).findings).toContainEqual(
      expect.objectContaining({ state: 'bad', detail: expect.stringContaining('ECONNREFUSED') }),
    );
  });

  it('asks by the proxy of the deliveries', async () => {
    const proxy = await startConnectProxy();
    const environment = {
      SOURCE_ADDRESSES: '127.0.0.0/8',
      DELIVERY_PROXY_URL: `http://127.0.0.1:${proxy.port}`,
    };
    const { exitCode, out } = await withEcho(
      (address) => address,
      (url) => run(`doctor --echo ${url} --json`, environment),
    );
    await proxy.close();
    expect(JSON.parse(out).findings).toEqual([
      { check: 'by the proxy', state: 'good', detail: '127.0.0.1 is in 127.0.0.0/8' },
    ]);
    expect(exitCode).toBe(0);
  });

  it('has to know the ranges', async () => {
    const { exitCode, error } = await run('doctor --echo http://127.0.0.1/', {});
    expect({ exitCode, error }).toMatchObject({
      exitCode: 2,
      error: expect.stringContaining('SOURCE_ADDRESSES must be set'),
    });
  });
});

describe('queues', () => {
  it('are listed with what is in them, and how long the oldest job has waited', async () => {
    const empty = { paused: 'no', oldest_waiting_seconds: 0, waiting: 0, active: 0, delayed: 0, failed: 0 };
    const names = ['events', 'deliveries', 'replays', 'erasures'];
    expect(await runJson('queues list')).toEqual(names.map((name) => ({ name, ...empty })));

    const events = createJobKeys('bull', 'events');
    await redis.client.lpush(events.wait, 'one');
    await redis.client.hset(events.job('one'), 'timestamp', 5);
    await redis.client.zadd(events.delayed, 7, 'later');
    const [listed] = await runJson('queues list');
    const oldest = expect.any(Number);
    expect(listed).toEqual({
      ...empty,
      name: 'events',
      waiting: 1,
      delayed: 1,
      oldest_waiting_seconds: oldest,
    });
    expect(listed.oldest_waiting_seconds).toBeGreaterThan(1_700_000_000);
    const { out } = await run('queues list');
    expect(out).toMatch(
      /^QUEUE +PAUSED +WAITING +ACTIVE +DELAYED +FAILED +OLDEST\nevents +no +1 +0 +1 +0 +\d+s\n/,
    );
  });

  it('pauses one, says so, and lets it go on', async () => {
    const { meta } = createJobKeys('bull', 'deliveries');
    const isPaused = async () => (await redis.client.hexists(meta, 'paused')) === 1;
    expect(await run('queues pause deliveries')).toMatchObject({
      exitCode: 0,
      out: expect.stringContaining('queues resume deliveries'),
    });
    expect(await isPaused()).toBe(true);
    expect(await runJson('queues list')).toContainEqual(
      expect.objectContaining({ name: 'deliveries', paused: 'yes' }),
    );
    expect(await run('queues resume deliveries')).toMatchObject({ exitCode: 0 });
    expect(await isPaused()).toBe(false);
  });

  it('knows no others', async () => {
    const { exitCode, error } = await run('queues pause all');
    expect({ exitCode, error }).toMatchObject({
      exitCode: 2,
      error: expect.stringContaining('events, deliveries'),
    });
  });
});

describe('accounts pause', () => {
  const environment = () => ({ REDIS_URL: redis.url, SECRETS_ENCRYPTION_KEY: TEST_ENCRYPTION_KEY });
  const store = () => new EndpointStore(redis.client, testSealer);

  it('disables what is enabled, and resume enables that and nothing else; both may be repeated', async () => {
    await run('accounts create --id acme');
    const accountId = accountIdSchema.parse('acme');
    const mine = buildEndpoint({ accountId });
    const disabled = buildEndpoint({ accountId, status: 'disabled', disabledReason: 'client' });
    for (const each of [mine, disabled]) await store().create(each);
    const reasons = async () => {
      const { endpoints } = await store().list(accountId, 10);
      return new Map(endpoints.map(({ id, disabledReason }) => [id, disabledReason]));
    };
    expect((await run('accounts pause acme', environment())).out).toContain('Disabled 1 webhooks');
    expect((await run('accounts pause acme', environment())).out).toContain('Disabled 0 webhooks');
    expect(await reasons()).toEqual(
      new Map([
        [mine.id, 'operator'],
        [disabled.id, 'client'],
      ]),
    );
    expect((await run('accounts resume acme', environment())).out).toContain('Enabled 1 webhooks');
    expect((await run('accounts resume acme', environment())).out).toContain('Enabled 0 webhooks');
    expect(await reasons()).toEqual(
      new Map([
        [mine.id, undefined],
        [disabled.id, 'client'],
      ]),
    );
    const { entries } = await new AuditLog(redis.client).listAllDone({}, 10);
    expect(entries.map(({ action, targetId }) => [action, targetId]).slice(0, 4)).toEqual([
      ['webhook.enable', mine.id],
      ['account.resume', 'acme'],
      ['webhook.disable', mine.id],
      ['account.pause', 'acme'],
    ]);
  });

  it('notes the reason, and the list shows that the account is paused', async () => {
    await run('accounts create --id acme');
    expect((await run('accounts pause acme --reason loud', environment())).exitCode).toBe(0);
    const paused = await runJson('accounts list');
    expect(paused[0]).toMatchObject({ id: 'acme', pause: { reason: 'loud', by: { type: 'admin_command' } } });
    expect((await run('accounts list')).out).toMatch(/acme +paused/);
    await run('accounts resume acme', environment());
    expect((await runJson('accounts list'))[0]).toMatchObject({ pause: null });
  });

  it('says what it lacks: the account, or the key that opens its webhooks', async () => {
    expect(await run('accounts pause acme')).toMatchObject({
      exitCode: 1,
      error: expect.stringContaining('hookferry-admin accounts list'),
    });
    await store().create(buildEndpoint({ accountId: accountIdSchema.parse('default') }));
    expect(await run('accounts pause default')).toMatchObject({
      exitCode: 1,
      error: expect.stringContaining('SECRETS_ENCRYPTION_KEY'),
    });
  });
});

describe('history migrate', () => {
  it('has to know where the history is', async () => {
    const { exitCode, error } = await run('history migrate');
    expect({ exitCode, error }).toMatchObject({
      exitCode: 2,
      error: expect.stringContaining('HISTORY_DATABASE_URL'),
    });
  });

  it('says why it could not, and repeats no password', async () => {
    const port = await findClosedPort();
    const environment = { HISTORY_DATABASE_URL: `postgresql://me:secret@127.0.0.1:${port}/history` };
    const { exitCode, out, error } = await run('history migrate', environment);
    expect({ exitCode, out }).toEqual({ exitCode: 1, out: '' });
    expect(error).toContain('ECONNREFUSED');
    expect(error).not.toContain('secret');
  });

  it.each(['mysql://me:secret@127.0.0.1/history', 'secret'])(
    'refuses an address that is none: %s',
    async (address) => {
      const { exitCode, error } = await run('history migrate', { HISTORY_DATABASE_URL: address });
      expect({ exitCode, error }).toMatchObject({
        exitCode: 2,
        error: expect.stringContaining('must be postgresql://'),
      });
      expect(error).not.toContain('secret');
    },
  );

  if (!hasPostgres)
    console.warn(`SKIPPED: a command that makes the history's tables, because ${NO_POSTGRES}.`);

  describePostgres('with a PostgreSQL', () => {
    let postgres: PostgresServer;
    beforeAll(async () => {
      postgres = await PostgresServer.start();
    });
    afterAll(() => postgres.close());

    it('makes the tables, without Redis, once, and refuses those of a later version', async () => {
      const environment = { HISTORY_DATABASE_URL: postgres.url };
      expect(await run('history migrate', environment)).toMatchObject({ exitCode: 0, error: '' });
      expect(await run('history migrate', environment)).toMatchObject({ exitCode: 0, error: '' });
      expect(await postgres.query('SELECT version FROM webhook_schema')).toEqual([
        { version: expect.any(Number) },
      ]);
      await postgres.query('UPDATE webhook_schema SET version = 99');
      const { exitCode, error } = await run('history migrate', environment);
      expect(exitCode).toBe(1);
      expect(error).toContain('later version of Hookferry');
    });
  });
});

describe('rebuild', () => {
  it('says which settings it needs', async () => {
    const { exitCode, error } = await run('rebuild');
    expect(exitCode).toBe(1);
    expect(error).toContain('INTAKE=durable and HISTORY_DATABASE_URL');
  });

  describePostgres('with a PostgreSQL', () => {
    it('fills an empty Redis, and finds nothing to do the second time', async () => {
      const postgres = await PostgresServer.start();
      const environment = { REDIS_URL: redis.url, INTAKE: 'durable', HISTORY_DATABASE_URL: postgres.url };
      try {
        expect(await run('history migrate', environment)).toMatchObject({ exitCode: 0, error: '' });
        const { out: key } = await run('keys create --name ci --scopes events:write', environment);
        expect(await authenticate(key.trim())).toMatchObject({ name: 'ci' });

        await redis.client.flushdb();
        const counts = JSON.parse((await run('rebuild --json', environment)).out);
        expect(counts).toMatchObject({ api_keys: 1, failed: 0 });
        expect(await authenticate(key.trim())).toMatchObject({ name: 'ci', scopes: ['events:write'] });

        const again = await run('rebuild', environment);
        expect(again).toMatchObject({ exitCode: 0, error: '' });
        expect(again.out).toMatch(/^api keys +0$/m);
      } finally {
        await postgres.close();
      }
    });
  });
});

describe('what the history has refused', () => {
  const REASON = '23514: new row for relation "x" violates check constraint "small"';

  async function refuse(count: number): Promise<void> {
    const endedList = new EndedList(redis.client);
    const entries = Array.from({ length: count }, () => ({
      accountId: 'acme' as AccountId,
      eventId: uniqueEventId(),
      endpointId: uniqueEndpointId(),
    }));
    await endedList.addAll(entries, 0)(redis.client);
    const claim = await endedList.claim(0, count, 1)(redis.client);
    const since = Date.UTC(2026, 10, 24);
    await Promise.all(
      claim.entries.map((entry) => endedList.noteRefused(claim, entry, { since, reason: REASON })),
    );
  }

  it('is listed with its reason, and since when', async () => {
    await refuse(3);
    const listed = await runJson('history refused');
    expect(listed).toHaveLength(3);
    expect(listed[0]).toEqual({
      delivery_id: expect.stringMatching(/^evt_\w+\.wh_\w+$/),
      event_id: expect.stringMatching(/^evt_\w+$/),
      account_id: 'acme',
      since: '2026-11-24T00:00:00.000Z',
      reason: REASON,
    });
    const { out, error } = await run('history refused --limit 2');
    expect(out.trimEnd().split('\n')).toHaveLength(3);
    expect(out).toContain(listed[0].reason);
    expect(error).toContain('There are 3');
  });

  it('is listed event by event where there are no deliveries', async () => {
    const endedList = new EndedList(redis.client);
    const accountId = 'acme' as AccountId;
    const eventIds = [uniqueEventId(), uniqueEventId()];
    await endedList.addAll(
      eventIds.map((eventId) => ({ accountId, eventId })),
      0,
    )(redis.client);
    const claim = await endedList.claim(0, 2, 1)(redis.client);
    for (const entry of claim.entries)
      await endedList.noteRefused(claim, entry, { since: 0, reason: REASON });
    const listed: { event_id: string; delivery_id: unknown }[] = await runJson('history refused');
    expect(listed.map(({ event_id }) => event_id).toSorted()).toEqual(eventIds.toSorted());
    expect(listed.map(({ delivery_id }) => delivery_id)).toEqual([null, null]);
  });

  it('is put back, and is told of how much it was', async () => {
    await refuse(11_000);
    const { exitCode, out, error } = await run('history retry-refused');
    expect({ exitCode, out }).toEqual({ exitCode: 0, out: 'Retried 11000.\n' });
    expect(error.match(/Retried \d+ so far\./g)).toHaveLength(2);
    expect(error).toContain('HISTORY_MOVE_AFTER');
    expect(await new EndedList(redis.client).count()).toBe(11_000);
    expect(await runJson('history refused')).toEqual([]);
    expect(await runJson('history retry-refused')).toEqual({ retried: 0 });
  });
});
