import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { EVENTS_QUEUE } from '@hookferry/core/domain/queues';
import { DELIVERY_HEADERS } from '@hookferry/core/domain/transport';
import { Sealer } from '@hookferry/core/endpoints/seal';
import { sealingKeysSchema } from '@hookferry/core/platform/sealing-key';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { clientCertificate, clientKey, otherCertificate } from '@hookferry/core/testing/certificates';
import { createClosables } from '@hookferry/core/testing/closables';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { hasPostgres, NO_POSTGRES } from '@hookferry/core/testing/postgres-server';
import { Queue } from 'bullmq';
import { ApiClient, type Webhook } from '../support/api-client';
import { HiddenTexts } from '../support/hidden-texts';
import { OtlpCollector } from '../support/otlp-collector';
import { readDatabase } from '../support/read-database';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { addressOf, Stack } from '../support/stack';
import { until } from '../support/until';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const newToken = () => `token-${randomBytes(24).toString('hex')}`;
const assertionKey = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();
const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;
const SESSIONS = '/v1/portal-sessions';
const newEncryptionKey = () => randomBytes(32).toString('base64');

if (!hasPostgres) console.warn(`SKIPPED: secrets in the history, because ${NO_POSTGRES}.`);

it('leaves no secret in a request, a log, an error, a job, a database, a trace or the metrics, whatever goes well or wrong', async () => {
  const hidden = new HiddenTexts();
  const run = await Run.start(hidden);

  await run.issueAndRevokeKeys();
  await run.openPortal();
  const webhooks = await run.register();
  await run.rotate(webhooks.accepting);
  const refusals = await run.sendWhatIsWrong(webhooks.accepting);
  expect(refusals.filter((status) => ![400, 404, 422].includes(status))).toEqual([]);
  await run.pushWhatIsWrong();
  const events = [await run.publish(), await run.publish()];
  // While jobs wait for their next attempt, too.
  await until(async () => ((await run.statusesOf(webhooks.failing)).includes('pending') ? true : undefined));
  const duringRetries = await run.places();
  for (const webhook of [webhooks.accepting, webhooks.keyed, webhooks.tokened, webhooks.basic])
    for (const event of events) await run.client.waitForStatus(webhook.id, event, 'delivered');
  for (const webhook of [webhooks.failing, webhooks.unreachable, webhooks.untrusted, webhooks.tokenless])
    for (const event of events) await run.client.waitForStatus(webhook.id, event, 'exhausted');
  await run.workerWithoutKey();
  await run.readEverything(Object.values(webhooks));
  const atTheEnd = await run.places();
  expect(run.unlistedHeaders()).toEqual([]);

  // What is looked through has what it is about: else nothing would be found in it either.
  expect(atTheEnd.database).toContain(webhooks.failing.id);
  expect(atTheEnd.database).toContain('sealed.v1.');
  expect(atTheEnd.responses).toContain(events[0]);
  expect(atTheEnd.requests).toContain('v1a,');
  expect(atTheEnd.requests).toContain('"authorization":"Bearer "');
  expect(atTheEnd.responses).toContain('token_error');
  expect(atTheEnd.traces).toContain(webhooks.failing.id);
  expect(atTheEnd.export).toContain(webhooks.failing.id);
  expect(atTheEnd.history?.includes(webhooks.accepting.id)).toBe(hasPostgres);
  expect(atTheEnd.metrics).toContain('webhooks_delivery_attempts_total{');
  for (const places of [duringRetries, atTheEnd])
    for (const [place, text] of Object.entries(places))
      expect({ place, found: hidden.foundIn(text) }).toEqual({ place, found: [] });
});

it.each([
  ['api', 'SECRETS_ENCRYPTION_KEY', (secret: string) => secret],
  ['worker', 'SECRETS_ENCRYPTION_KEY', (secret: string) => `${newEncryptionKey()},${secret}`],
  ['api', 'BOOTSTRAP_API_KEY', (secret: string) => `whk_${secret}`],
  ['api', 'REDIS_URL', (secret: string) => `http://user:${secret}@127.0.0.1`],
  ['worker', 'REDIS_URL', (secret: string) => `redis://user:${secret}@:port`],
  ['worker', 'DELIVERY_PROXY_URL', (secret: string) => `ftp://user:${secret}@proxy.example.com`],
  ['api', 'HISTORY_DATABASE_URL', (secret: string) => `mysql://user:${secret}@db.example.com/x`],
  ['worker', 'HISTORY_DATABASE_URL', (secret: string) => `mysql://user:${secret}@db.example.com/x`],
])('does not repeat what is in a setting that the %s refuses: %s', (app, setting, valueWith) => {
  const secret = `secret${randomBytes(12).toString('hex')}`;
  const script = join(__dirname, `../../apps/${app}/dist/main.js`);
  const { status, stderr, stdout } = spawnSync(process.execPath, [script], {
    env: { PATH: process.env.PATH, [setting]: valueWith(secret) },
    encoding: 'utf8',
    timeout: 30_000,
  });
  expect(status).toBe(1);
  expect(stderr).toContain(setting);
  expect(stderr + stdout).not.toContain(secret);
});

it('does not write the password of a Redis that cannot be reached', async () => {
  const password = `secret${randomBytes(12).toString('hex')}`;
  const stack = await startStack();
  const url = `redis://user:${password}@127.0.0.1:${await findClosedPort()}`;
  const worker = await stack.startWorker({ REDIS_URL: url });
  await worker.waitForLine(({ level }) => level === 'error' || level === 'warn');
  await worker.end('SIGKILL');
  expect(worker.output).not.toContain(password);
});

async function startStack(
  environment: Readonly<Record<string, string>> = {},
  hasHistory = false,
): Promise<Stack> {
  const stack = await Stack.start({ environment, hasHistory });
  willClose({ close: () => stack.stop() });
  return stack;
}

interface Webhooks {
  readonly accepting: Webhook;
  /** Its requests are signed by the key of its account alone. */
  readonly keyed: Webhook;
  readonly failing: Webhook;
  readonly gone: Webhook;
  readonly unreachable: Webhook;
  /** Shows its client certificate to a peer that speaks no TLS. */
  readonly untrusted: Webhook;
  /** Its requests carry an access token. */
  readonly tokened: Webhook;
  /** It authenticates with a private key, and gets no access token. */
  readonly tokenless: Webhook;
  readonly basic: Webhook;
}

/** The service with all that is secret in use, and what came of it. */
class Run {
  readonly #responses: string[] = [];
  readonly #receivers = new Map<string, Receiver>();
  readonly #tokens = new Map<string, string>();

  private constructor(
    private readonly stack: Stack,
    private readonly hidden: HiddenTexts,
    private readonly collector: OtlpCollector,
    private readonly encryptionKeys: string,
  ) {}

  static async start(hidden: HiddenTexts): Promise<Run> {
    const keys = [newEncryptionKey(), newEncryptionKey()] as const;
    for (const [i, key] of keys.entries()) hidden.add(`encryption key ${i}`, key);
    const collector = await OtlpCollector.start();
    willClose({ close: () => collector.stop() });
    const encryptionKeys = keys.join(',');
    const settings = {
      SECRETS_ENCRYPTION_KEY: encryptionKeys,
      RETRY_SCHEDULE: '1s,1s',
      RATE_LIMIT: '10000/1s',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      TRACEPARENT_TO_RECEIVERS: 'true',
    };
    const stack = await startStack(settings, hasPostgres);
    hidden.add('bootstrap key', secretPartOf(stack.bootstrapKey));
    return new Run(stack, hidden, collector, encryptionKeys);
  }

  get client(): ApiClient {
    return this.stack.client;
  }

  async issueAndRevokeKeys(): Promise<void> {
    const body = { name: 'producer', scopes: ['events:write'] };
    const made = async (headers: Record<string, string>) =>
      (await this.client.expect<{ id: string; key: string }>(201, 'POST', '/v1/api-keys', body, headers))
        .body;
    const [plain, once] = [await made({}), await made({ 'idempotency-key': 'a-key' })];
    for (const [name, { key }] of Object.entries({ plain, once }))
      this.hidden.add(`API key, ${name}`, secretPartOf(key));
    const unknownEndpoint = buildApiKey().key;
    this.hidden.add('API key of a stranger', secretPartOf(unknownEndpoint));

    const event = { type: QUICK_WIN.type, data: QUICK_WIN.data };
    await new ApiClient(this.client.baseUrl, once.key).expect(202, 'POST', '/v1/events', event);
    await this.#ask(once.key, 'GET', '/v1/webhooks');
    await this.client.expect(204, 'DELETE', `/v1/api-keys/${once.id}`);
    await this.#ask(once.key, 'POST', '/v1/events', event);
    await this.#ask(unknownEndpoint, 'POST', '/v1/events', event);
    await this.#ask(unknownEndpoint, 'GET', `/v1/webhooks?api_key=${unknownEndpoint}`);
    await this.#ask(`${plain.key} ${plain.key}`, 'GET', '/v1/webhooks');
  }

  async openPortal(): Promise<void> {
    const { body } = await this.client.expect<{ url: string }>(201, 'POST', '/v1/portal-sessions', {});
    const code = new URL(body.url).hash.replace('#code=', '');
    const exchange = () => this.client.request<{ token: string }>('POST', `${SESSIONS}/exchange`, { code });
    const { token } = (await exchange()).body;
    this.hidden.add('code of a portal session', secretPartOf(code));
    this.hidden.add('token of a portal session', secretPartOf(token));
    await this.#ask(token, 'GET', '/v1/webhooks');
    await this.#ask(token, 'POST', '/v1/events', {});
    await this.#ask(`${token}0`, 'GET', `/v1/webhooks?token=${token}`);
    await this.#ask(code, 'GET', SESSIONS);
    await exchange();
  }

  async register(): Promise<Webhooks> {
    const responding = async (name: string, response: () => number) => {
      const receiver = await Receiver.start(response);
      willClose({ close: () => receiver.stop() });
      this.#receivers.set(name, receiver);
      return receiver.url;
    };
    const accepting = await responding('accepting', () => 204);
    const keyed = await responding('keyed', () => 204);
    const tls = { ca: clientCertificate, client_certificate: clientCertificate, client_key: clientKey };
    this.hidden.addPem('client key', clientKey);
    this.hidden.addPem('certificate', clientCertificate);
    return {
      accepting: await this.#register('accepting', accepting, { tls, signing: 'both' }),
      keyed: await this.#register('keyed', keyed, { signing: 'ed25519' }),
      failing: await this.#register('failing', await responding('failing', () => 500)),
      gone: await this.#register('gone', await responding('gone', () => 410)),
      unreachable: await this.#register('unreachable', `http://127.0.0.1:${await findClosedPort()}`),
      untrusted: await this.#register('untrusted', accepting.replace('http:', 'https:'), { tls }),
      ...(await this.#registerWithAuth(responding)),
    };
  }

  async #registerWithAuth(responding: (name: string, response: () => number) => Promise<string>) {
    const [accessToken, clientSecret, password] = [newToken(), newToken(), newToken()];
    this.hidden.add('access token', accessToken);
    this.hidden.add('client secret', clientSecret);
    this.hidden.add('password', password);
    this.hidden.addPem('assertion key', assertionKey);
    const grant = JSON.stringify({ access_token: accessToken, token_type: 'Bearer', expires_in: 60 });
    // It says all that it was sent, where it may say a code.
    const tokenUrl = await Receiver.start(({ headers, body }) =>
      headers.authorization === undefined
        ? { status: 400, body: JSON.stringify({ error: body.toString(), error_description: assertionKey }) }
        : { status: 200, body: grant },
    );
    willClose({ close: () => tokenUrl.stop() });
    const oauth2 = { type: 'oauth2', token_url: tokenUrl.url, client_id: 'hooks' };
    const auths = {
      tokened: { ...oauth2, client_secret: clientSecret },
      tokenless: { ...oauth2, private_key: assertionKey },
      basic: { type: 'basic', username: 'hooks', password },
    };
    // These are for the receiver.
    this.#tokens.set('tokened', accessToken);
    this.#tokens.set('basic', Buffer.from(`hooks:${password}`).toString('base64'));
    return {
      tokened: await this.#registerWith('tokened', await responding('tokened', () => 204), auths.tokened),
      tokenless: await this.#registerWith(
        'tokenless',
        await responding('tokenless', () => 204),
        auths.tokenless,
      ),
      basic: await this.#registerWith('basic', await responding('basic', () => 204), auths.basic),
    };
  }

  async #registerWith(name: string, url: string, auth: object): Promise<Webhook> {
    const input = { url, events: ['*'], auth };
    const once = { 'idempotency-key': name };
    return (await this.client.expect<Webhook>(201, 'POST', '/v1/webhooks', input, once)).body;
  }

  /** With a secret of the client's and with one of ours, both within the overlap, so that all of them sign. */
  async rotate({ id }: Webhook): Promise<void> {
    await this.#hideSigningKeys();
    const key = { 'idempotency-key': 'a-signing-key' };
    await this.client.expect(201, 'POST', '/v1/signing-keys/rotate', {}, key);
    await this.#hideSigningKeys();
    const path = `/v1/webhooks/${id}/rotate-secret`;
    const given = newSecret();
    this.hidden.add('rotated secret, given', given);
    await this.client.expect(201, 'POST', path, { secret: given }, { 'idempotency-key': 'given' });
    const once = { 'idempotency-key': 'made' };
    const { body } = await this.client.expect<{ secret: string }>(201, 'POST', path, {}, once);
    this.hidden.add('rotated secret, made', body.secret);
    await this.client.expect(200, 'PATCH', `/v1/webhooks/${id}`, { description: 'another' });
  }

  /** @returns the response to each */
  async sendWhatIsWrong({ id, url }: Webhook): Promise<number[]> {
    const secret = newSecret();
    this.hidden.add('secret in a wrong request', secret);
    const webhook = { url, events: ['*'] };
    const tls = { client_certificate: otherCertificate, client_key: clientKey };
    const wrong: [method: string, path: string, body: unknown][] = [
      ['POST', '/v1/webhooks', { ...webhook, secret: `${secret}!` }],
      ['POST', '/v1/webhooks', { ...webhook, secret: [secret] }],
      ['POST', '/v1/webhooks', { ...webhook, my_secret: secret }],
      ['POST', '/v1/webhooks', { ...webhook, [secret.slice(0, 30)]: secret }],
      ['POST', '/v1/webhooks', { ...webhook, headers: { 'x-token': `${secret}\n` } }],
      ['POST', '/v1/webhooks', { ...webhook, url: `https://user:${secret}@receiver.example.com` }],
      ['POST', '/v1/webhooks', { ...webhook, auth: { type: 'bearer', token: `${secret} ` } }],
      [
        'POST',
        '/v1/webhooks',
        { ...webhook, auth: { type: 'basic', username: `${secret}:`, password: secret } },
      ],
      ['POST', '/v1/webhooks', { ...webhook, auth: { type: secret, token: secret } }],
      ['PATCH', `/v1/webhooks/${id}`, { auth: { client_secret: secret } }],
      ['POST', '/v1/webhooks', { ...webhook, tls }],
      ['POST', '/v1/webhooks', { ...webhook, tls: { ca: clientKey } }],
      ['POST', '/v1/webhooks', { ...webhook, tls: { ...tls, client_key: `${clientKey}!` } }],
      ['POST', '/v1/webhooks', `{"secret":"${secret}",`],
      ['POST', `/v1/webhooks/${id}/rotate-secret`, { secret: secret.slice(0, -6) }],
      ['POST', `/v1/webhooks/wh_unknown/rotate-secret`, { secret }],
    ];
    const statuses: number[] = [];
    for (const [method, path, body] of wrong)
      statuses.push((await this.#ask(this.stack.bootstrapKey, method, path, body)).status);
    // The same Idempotency-Key for something else.
    const path = `/v1/webhooks/${id}/rotate-secret`;
    await this.#ask(this.stack.bootstrapKey, 'POST', path, { secret }, { 'idempotency-key': 'given' });
    return statuses;
  }

  /** A job that is not valid becomes a dead letter. */
  async pushWhatIsWrong(): Promise<void> {
    const queue = willClose(new Queue(EVENTS_QUEUE, { connection: this.stack.redis.client }));
    await queue.add('unknown.type', { account_id: 'default', type: 'unknown.type', data: {} });
    await until(async () => {
      const { body } = await this.#ask(this.stack.bootstrapKey, 'GET', '/v1/dead-letters');
      return JSON.stringify(body).includes('unknown.type') ? true : undefined;
    });
  }

  async publish(): Promise<string> {
    return await this.client.publish(QUICK_WIN.type, QUICK_WIN.data);
  }

  async statusesOf({ id }: Webhook): Promise<string[]> {
    return (await this.client.listDeliveries(id)).map(({ status }) => status);
  }

  /** One that can't open what is sealed, and says so. */
  async workerWithoutKey(): Promise<void> {
    for (const worker of this.stack.workers) await worker.end();
    const key = newEncryptionKey();
    this.hidden.add('encryption key of another', key);
    const worker = await this.stack.startWorker({ SECRETS_ENCRYPTION_KEY: key });
    await this.publish();
    await worker.waitForLine(({ message }) => message === 'job.interrupted');
  }

  /** The private halves, which nobody can ask for. */
  async #hideSigningKeys(): Promise<void> {
    const record = (await this.stack.redis.client.get('signing-keys:{default}')) ?? '';
    const sealer = new Sealer(sealingKeysSchema.parse(this.encryptionKeys));
    const { keys } = JSON.parse(record) as { keys: { kid: string; privateKey: string }[] };
    for (const { kid, privateKey } of keys) {
      const pkcs8 = Buffer.from(sealer.open(privateKey, `default/signing-keys/${kid}`), 'base64');
      this.hidden.add(`signing key ${kid}`, `whsec_${pkcs8.subarray(-32).toString('base64')}`);
    }
  }

  /**
   * Headers that came beside ours, those that the webhook was given, and those of HTTP itself; and receivers that
   * got nothing, of which none is known.
   */
  unlistedHeaders(): string[] {
    const ofHttp = ['host', 'connection', 'content-length'];
    const listed = new Set<string>([...DELIVERY_HEADERS, 'x-service-signature', ...ofHttp]);
    return [...this.#receivers].flatMap(([name, { requests }]) => {
      const sent = requests.flatMap(({ headers }) => Object.keys(headers));
      if (name === 'tokenless') return sent;
      if (!sent.includes('webhook-signature')) return [`${name} got nothing`];
      return sent.filter((header) => !listed.has(header));
    });
  }

  /** All that can be asked for and is not the secret itself. */
  async readEverything(webhooks: readonly Webhook[]): Promise<void> {
    const paths = ['/v1/webhooks', '/v1/events', '/v1/api-keys', '/v1/accounts', '/v1/dead-letters'];
    paths.push('/v1/signing-keys', '/.well-known/webhooks/default/jwks.json', '/v1/source-addresses');
    paths.push('/v1/operations', '/v1/account/usage', '/openapi.json');
    for (const path of paths) await this.#ask(this.stack.bootstrapKey, 'GET', path);
    for (const { id } of webhooks) {
      await this.#ask(this.stack.bootstrapKey, 'GET', `/v1/webhooks/${id}`);
      for (const delivery of await this.client.listDeliveries(id))
        this.#responses.push(JSON.stringify(await this.client.readDelivery(delivery.id)));
    }
  }

  async places(): Promise<Readonly<Record<string, string>>> {
    const { api, workers, redis, client } = this.stack;
    const running = workers.at(-1);
    const metrics = [client.baseUrl, ...(running ? [await addressOf(running)] : [])].map(
      async (url) => await (await fetch(`${url}/metrics`)).text(),
    );
    const since = new Date(Date.now() - 3_600_000).toISOString();
    return {
      requests: this.#readRequests(),
      traces: JSON.stringify(this.collector.spans),
      export: await (await client.fetch(`/v1/deliveries/export?since=${since}`)).text(),
      history: await this.#readHistory(),
      'the portal': await (await client.fetch('/portal/')).text(),
      database: await readDatabase(redis.client),
      'log of the API': api.output,
      'logs of the workers': workers.map(({ output }) => output).join('\n'),
      responses: this.#responses.join('\n'),
      metrics: (await Promise.all(metrics)).join('\n'),
    };
  }

  /** Without the value that each webhook was given for its own requests. */
  #readRequests(): string {
    const texts = [...this.#receivers].flatMap(([name, { requests }]) =>
      requests.map(({ path, headers, body }) =>
        JSON.stringify({ path, headers, body: body.toString() }).replaceAll(this.#tokens.get(name) ?? '', ''),
      ),
    );
    return texts.join('\n');
  }

  async #readHistory(): Promise<string> {
    const { postgres } = this.stack;
    if (postgres === undefined) return '';
    const tables = await postgres.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
       WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    );
    const rows = await Promise.all(
      tables.map(({ name }) => postgres.query(`SELECT to_jsonb(t)::text AS row FROM ${name} AS t`)),
    );
    return JSON.stringify(rows);
  }

  async #register(name: string, url: string, more: object = {}): Promise<Webhook> {
    const [secret, token] = [newSecret(), `token-${randomBytes(16).toString('hex')}`];
    this.hidden.add(`secret of ${name}`, secret);
    this.hidden.add(`header of ${name}`, token);
    this.#tokens.set(name, token);
    const input = { url, events: ['*'], secret, headers: { authorization: `Bearer ${token}` }, ...more };
    // With a key, so that the response is kept as well.
    const once = { 'idempotency-key': name };
    return (await this.client.expect<Webhook>(201, 'POST', '/v1/webhooks', input, once)).body;
  }

  async #ask(key: string, ...request: Parameters<ApiClient['request']>) {
    const response = await new ApiClient(this.client.baseUrl, key).request(...request);
    this.#responses.push(JSON.stringify([...response.headers]), JSON.stringify(response.body));
    return response;
  }
}

/** The part that nobody may read: the rest is the key's id. */
function secretPartOf(key: string): string {
  return key.split('_')[2] ?? '';
}
