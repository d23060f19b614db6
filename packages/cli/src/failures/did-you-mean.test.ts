import { PassThrough } from 'node:stream';
import { type LocalServer, startHttpServer } from '@hookferry/core/testing/local-server';
import { Interrupts } from '../interrupts';
import { runCli } from '../run-cli';

const LISTS: Readonly<Record<string, readonly object[]>> = {
  '/v1/webhooks': ['crm', 'warehouse', null].map((uid) => ({ id: 'wh_1', uid })),
  '/v1/event-types': [{ name: 'order.created', origin: 'custom' }],
};

let api: LocalServer;
beforeAll(async () => {
  api = await startHttpServer(({ url = '' }, response) => {
    const data = LISTS[new URL(url, 'http://api').pathname];
    const body = data
      ? { data, next_cursor: null, has_more: false }
      : { code: 'not_found', detail: 'There is none.', status: 404, request_id: 'req_1' };
    const type = data ? 'application/json' : 'application/problem+json';
    response.writeHead(data ? 200 : 404, { 'content-type': type }).end(JSON.stringify(body));
  });
});
afterAll(() => api.close());

/** What it says on stderr. */
async function said(...args: readonly string[]): Promise<string> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const environment = { HOOKFERRY_URL: `http://127.0.0.1:${api.port}`, HOOKFERRY_API_KEY: 'whk_test' };
  const streams = { stdin: new PassThrough(), stdout, stderr } as unknown as Pick<
    NodeJS.Process,
    'stdin' | 'stdout' | 'stderr'
  >;
  await runCli(args, { environment, ...streams, interrupts: new Interrupts(() => {}) });
  return String(stderr.read() ?? '');
}

it.each([
  ['command', ['webhook', 'list'], 'webhooks'],
  ['subcommand', ['webhooks', 'shwo', 'crm'], 'show'],
  ['flag', ['deliveries', 'list', '--statsu', 'held'], '--status'],
  ['status', ['deliveries', 'list', '--status', 'deliverd'], 'delivered'],
  ['status behind a sign', ['deliveries', 'list', '--status=exhuasted'], 'exhausted'],
  ['name of a webhook', ['webhooks', 'show', 'wharehouse'], 'warehouse'],
  ['name of a webhook in a flag', ['deliveries', 'list', '--webhook', 'warehosue'], 'warehouse'],
  ['event type', ['trigger', 'order.creatd'], 'order.created'],
])('names the %s that an unknown one is nearest to', async (_what, args, meant) => {
  expect(await said(...args)).toMatch(new RegExp(`Did you mean ${meant}\\?`));
});

it('says nothing of the kind where nothing is near', async () => {
  expect(await said('webhooks', 'show', 'quite-another')).not.toContain('Did you mean');
  expect(await said('deliveries', 'list', '--status', 'x')).not.toContain('Did you mean');
});
