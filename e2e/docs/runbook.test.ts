import { type RedisServer, startRedisServer } from '@hookferry/core/testing/redis-server';
import { TEST_ENCRYPTION_KEY } from '@hookferry/core/testing/test-sealer';
import { ApiClient } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { until } from '../support/until';
import { readPage } from './read-page';
import { Reader } from './reader';

/** There is no container engine, no systemd, no Sentinel, no Cluster, no history and no outbox here. */
const ELSEWHERE =
  /^(?:\w+=\d+ )?(docker|kubectl|timedatectl|systemctl|journalctl|systemd-cgtop) |sentinel-1\.internal|node-1\.internal|webhooks_history_read|^npx --no-install hookferry-outbox /;

describe('what is pasted at night', () => {
  let reader: Reader;
  let receiver: Receiver;
  /** In the place of the one with the service, of which no test may change the settings. */
  let ownRedis: RedisServer;
  let onCallKey: string;
  let places: Readonly<Record<string, string>>;

  beforeAll(async () => {
    reader = await Reader.start();
    receiver = await Receiver.start();
    ownRedis = await startRedisServer();
    const { redis } = reader.stack;
    await reader.terminal.paste(`export PATH="$PWD:$PWD/node_modules/.bin:$PATH" REDIS_URL=${redis.url}`);
    await reader.terminal.paste(`export SECRETS_ENCRYPTION_KEY=${TEST_ENCRYPTION_KEY}`);
    await reader.terminal.paste('hookferry-admin accounts create --id acme');
    const make =
      /hookferry-admin (keys create --name on-call .*)/.exec(await readPage('server.md'))?.[1] ?? '';
    onCallKey = await keyFrom(make);
    const client = new ApiClient(
      reader.client.baseUrl,
      await keyFrom(
        'keys create --account acme --name all --scopes webhooks:read,webhooks:write,events:write,deliveries:read',
      ),
    );
    const { id } = await client.register(receiver.url);
    const event = await client.publish('brief.created', { brief_id: '1', title: 'at night' });
    const delivery = await until(async () => (await client.listDeliveries(id))[0]?.id);
    places = { ACCOUNT: 'acme', WEBHOOK: id, DELIVERY: delivery, EVENT: event };
    await reader.installRedisCli();
  });
  afterAll(async () => {
    await reader.stop();
    await receiver.stop();
    await ownRedis.close();
  });

  // It has no other scopes than the page about a server gives it.
  it.each(['nothing-arrives', 'runbook'])(
    'runs with the key of people on call: every command of %s.md',
    async (page) => {
      const lines = linesOf(await readPage(`${page}.md`)).filter((line) => !ELSEWHERE.test(line));
      expect(lines.length).toBeGreaterThan(10);
      const failed: string[] = [];
      for (const line of lines) {
        const printed = await reader.terminal.paste(`{ ${adapt(line)}\n} 2>&1\necho "code $?"`);
        if (!printed.trimEnd().endsWith('code 0')) failed.push(`${line}: ${printed}`);
      }
      expect(failed).toEqual([]);
    },
  );

  function adapt(line: string): string {
    const { client, redis } = reader.stack;
    return Object.entries(places)
      .reduce((text, [place, value]) => text.replaceAll(place, value), line)
      .replace('https://hooks.example.com', client.baseUrl)
      .replace('http://127.0.0.1:3000', client.baseUrl)
      .replace('redis://redis.internal:6379', redis.url)
      .replace('redis://hookferry-operator:other@redis.internal:6379', ownRedis.url)
      .replace('SECRETS_ENCRYPTION_KEY=…', `SECRETS_ENCRYPTION_KEY=${TEST_ENCRYPTION_KEY}`)
      .replace(/whk_…/, onCallKey);
  }

  async function keyFrom(command: string): Promise<string> {
    return /whk_\w+/.exec(await reader.terminal.paste(`hookferry-admin ${command}`))?.[0] ?? '';
  }
});

it('has each command of the runbook that differs for Kubernetes, for Compose and for a server', async () => {
  const sections = (await readPage('runbook.md')).split(/^## /m);
  const kinds = {
    kubernetes: /^kubectl /,
    compose: /(^|&& |=\d+ )docker /,
    server: /^(systemctl|journalctl|systemd-cgtop)\b/,
  };
  // A server's port and the one that Compose publishes are the same.
  const both = /^curl -sS http:\/\/127\.0\.0\.1:/;
  const lacking = sections.flatMap((section) => {
    const lines = linesOf(section);
    const has = Object.entries(kinds).map(([kind, command]) => [
      kind,
      lines.some((line) => command.test(line) || (kind !== 'kubernetes' && both.test(line))),
    ]);
    if (!has.some(([, isThere]) => isThere)) return [];
    return has.filter(([, isThere]) => !isThere).map(([kind]) => `${section.split('\n')[0]}: ${kind}`);
  });
  expect(lacking).toEqual([]);
});

/** Of all blocks of commands, those within lists too. */
function linesOf(page: string): string[] {
  const blocks = [...page.matchAll(/^ *```sh\n([^]*?)\n *```$/gm)];
  return blocks.flatMap(([, block = '']) =>
    block
      .replaceAll(/ \\\n */g, ' ')
      .split('\n')
      .map((line) => line.trim()),
  );
}
