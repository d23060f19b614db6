import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { attemptOutcomes } from '@hookferry/core/domain/attempt';
import { endStatuses } from '@hookferry/core/domain/delivery-log';
import { readExplanations } from './explain';
import { WIDTH } from './format-markdown';
import { runCli } from './run-cli';

/** Without a Redis, and without any setting. */
async function explain(word: string) {
  const written = { out: '', error: '' };
  const exitCode = await runCli(
    ['explain', word],
    {},
    {
      out: (text) => void (written.out += text),
      error: (text) => void (written.error += text),
    },
  );
  return { exitCode, ...written };
}

const page = (name: string) => readFileSync(join(__dirname, '../../../docs', name), 'utf8');

/** The names of entries of a page, or its headings. */
const documented = (name: string, first: RegExp) =>
  [...page(name).matchAll(first)].map(([, word = '']) => word);

/** The lists that are written from the code. */
const settings = [...page('configuration.md').matchAll(/^<!-- settings of [^]*?^<!-- \/settings/gm)]
  .flatMap(([list]) => [...list.matchAll(/^- `([^`]+)` \(/gm)])
  .map(([, name = '']) => name);

it.each([
  ['setting', settings],
  ['log event', documented('logs.md', /^- `([a-z_]+\.[a-z_.]+)` \(/gm)],
  ['metric', documented('metrics.md', /^- `(webhooks_\w+)` \(/gm)],
  ['alert', documented('runbook.md', /^## (\w+)$/gm)],
  ['error code', documented('errors.md', /^- `([a-z_]+)` \(Status: \d+;/gm)],
  ['hold reason', documented('deliveries.md', /(?<=^What a held delivery waits for[^]*)^- `([a-z_]+)`: /gm)],
  ['outcome', attemptOutcomes],
  ['status', ['pending', 'held', ...endStatuses]],
] as const)('explains every %s that a page has, and no other', async (kind, words) => {
  const explanations = await readExplanations();
  const known = explanations.filter((each) => each.kind === kind).map(({ name }) => name);
  expect(words.length).toBeGreaterThan(5);
  expect(known.toSorted()).toEqual(words.toSorted());
  for (const word of words) {
    const { exitCode, out } = await explain(word);
    expect({ word, exitCode, out }).toEqual({
      word,
      exitCode: 0,
      out: expect.stringContaining(`${word} (${kind})\n`),
    });
  }
});

it('is told in lines that fit into a terminal, but for commands and addresses, which are to be copied', async () => {
  for (const { name } of await readExplanations()) {
    const { out } = await explain(name);
    const long = out.split('\n').filter((line) => line.length > WIDTH && !line.startsWith('    '));
    expect([name, long.filter((line) => line.trim().includes(' '))]).toEqual([name, []]);
  }
});

it('says of a setting its default, its unit, who reads it, and where more of it is', async () => {
  const { out } = await explain('RETENTION');
  expect(out).toBe(`RETENTION (setting)

Of: API and worker
Default: \`14d\`
Unit: a number and one of \`ms\`, \`s\`, \`m\`, \`h\`, \`d\`

how long events and their deliveries are kept, and how long a delivery may be open
`);
});

it('says of an alert when it fires, what it means and what to do, with the commands as they are pasted', async () => {
  const { out } = await explain('WebhooksNoWorker');
  expect(out).toMatch(/^Severity: critical \(page\)$/m);
  expect(out).toMatch(/^Means: nothing is delivered\./m);
  expect(out).toMatch(/^Do: start workers\. .*fair order \(docs\/inside\/queue\.md#fair-order\)/m);
  expect(out).toMatch(/^ {4}docker compose -f docker\/compose\.yaml up -d worker$/m);
  expect(out).not.toMatch(/\*\*|\]\(/);
});

it('writes a table of the runbook as a paragraph for each row', async () => {
  const { out } = await explain('WebhooksRedisDiskFails');
  expect(out).toContain(
    '`append`\n  What: a piece of the append-only file (`aof_last_write_status`)\n  Consequence: Redis refuses writes',
  );
});

it('says of which page a link is that stays within it', async () => {
  expect((await explain('unauthenticated')).out).toMatch(
    /^Do: See no valid key \(docs\/errors\.md#no-valid-key\)$/m,
  );
});

it('writes the lists of the runbook as lists', async () => {
  const { out } = await explain('WebhooksRedisRefusesWrites');
  expect(out).toMatch(/^- `NOREPLICAS`: fewer replicas keep up .* Start the replicas, and wait\n {2}until /m);
});

it.each([
  ['redisUnreachable', 'WebhooksRedisUnreachable (alert)'],
  ['WebhooksRedisUnreachable', 'WebhooksRedisUnreachable (alert)'],
  ['webhooks-redis-unreach', 'WebhooksRedisUnreachable (alert)'],
  ['redis.error', 'redis.error (log event)'],
  ['RedisError', 'redis.error (log event)'],
  ['redis_url', 'REDIS_URL (setting)'],
  ['REDIS_EVICTS', 'WebhooksRedisEvicts (alert)'],
  ['dns-error', 'dns_error (outcome)'],
  ['queue_oldest_waiting', 'webhooks_queue_oldest_waiting_seconds (metric)'],
])('understands %s', async (word, title) => {
  const { exitCode, out } = await explain(word);
  expect(exitCode).toBe(0);
  expect(out).toContain(`${title}\n`);
});

it('tells all that has a name, when several have it', async () => {
  const { out } = await explain('delivered');
  expect(out).toMatch(/^delivered \(status\)\n[^]*^delivered \(outcome\)\n/m);
});

it.each([
  ['RETENSION', 'RETENTION'],
  ['redis.eror', 'redis.error'],
  ['WebhooksNoWorkers', 'WebhooksNoWorker'],
  ['unreachable', 'WebhooksRedisUnreachable'],
  ['dnserr0r', 'dns_error'],
])('does not know %s, and proposes %s', async (word, name) => {
  const { exitCode, out, error } = await explain(word);
  expect([exitCode, out]).toEqual([2, '']);
  const [proposals = ''] = /(?<=one of these\?\n)[^]*(?=\nMore: )/.exec(error) ?? [];
  expect(proposals.split('\n').map((line) => line.trim())).toContain(name);
  expect(proposals.split('\n').length).toBeLessThan(7);
});

it('soon gives up on a word that is longer than any name', async () => {
  const { exitCode, error } = await explain('x'.repeat(1_000_000));
  expect(exitCode).toBe(2);
  expect(error.length).toBeLessThan(1_000);
});

it('wants a word', async () => {
  expect((await explain('…')).exitCode).toBe(2);
});
