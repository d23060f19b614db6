import { runCli } from './run-cli';

async function run(...args: readonly string[]) {
  const written = { out: '', error: '' };
  const exitCode = await runCli(
    ['capacity', ...args],
    {},
    {
      out: (text) => void (written.out += text),
      error: (text) => void (written.error += text),
    },
  );
  return { exitCode, ...written };
}

it('says what to order, without a connection to anything', async () => {
  const { exitCode, out } = await run(
    '--events',
    '5M',
    '--webhooks',
    '3',
    '--days',
    '30',
    '--payload',
    '1KiB',
  );
  expect(exitCode).toBe(0);
  for (const part of ['API', 'worker', 'Redis', 'maxmemory', 'IOPS', 'PostgreSQL', '5,000,000 events a day'])
    expect(out).toContain(part);
});

it.each([
  [['--events', '5M', '--webhooks', '3', '--days', '30', '--payload', '1KiB']],
  [['--events', '900G', '--webhooks', '1234.5', '--days', '3650', '--payload', '10MiB', '--chosen-ids', '1']],
  [['--events', '10', '--no-history']],
])('writes no line above 100 columns: %s', async (args) => {
  const { out } = await run(...args);
  expect(out.split('\n').filter((line) => line.length > 100)).toEqual([]);
});

it('has a number for everything, however much is asked for', async () => {
  const most = ['--events', '1000G', '--webhooks', '1e5', '--days', '36500', '--payload', '100MB'];
  const { exitCode, out } = await run(...most, '--peak', '1000', '--attempts', '1000', '--busy', '0.01');
  expect(exitCode).toBe(0);
  expect(out).not.toMatch(/NaN|Infinity|∞|\de\+/);
});

it('gives programs everything as JSON', async () => {
  const { out } = await run('--events', '2.5k', '--payload', '2kB', '--response', '2s', '--json');
  expect(JSON.parse(out)).toMatchObject({
    load: { events: 2_500, payloadBytes: 2_000, responseMs: 2_000, webhooks: 1, days: 90, hasHistory: true },
    api: { replicas: 2 },
    figures: { path: { date: expect.any(String) } },
  });
});

it.each([
  [['--events', 'many'], '--events: must be above 0, such as 500k or 5M'],
  [['--events', '0'], '--events: must be above 0, such as 500k or 5M'],
  [['--events', '1M', '--payload', '1 EiB'], '--payload: must be above 0, such as 500B or 1KiB'],
  [['--events', '1M', '--webhooks', 'x'], '--webhooks: must be a number above 0'],
  [['--events', '1M', '--busy', '2'], '--busy: must be a number from 0 to 1'],
  [['--events', '1M', '--chosen-ids', '-1'], '--chosen-ids: must be a number from 0 to 1'],
  [['--events', '1M', '--peak', '0.5'], '--peak: must be at least 1'],
  [['--events', '1M', '--away', 'long'], '--away: "long" is not a duration such as 250ms, 15s, 5m, 2h or 3d'],
  [['--events', '9'.repeat(400)], '--events: must be at most 1000G'],
  [['--events', '5M', '--webhooks', '1e308'], '--webhooks: must be at most 100,000'],
  [['--events', '5M', '--days', '1e300'], '--days: must be at most 36,500'],
  [['--events', '5M', '--payload', '1000MB'], '--payload: must be at most 100MB'],
  [['--events', '5M', '--attempts', '1e9'], '--attempts: must be at most 1,000'],
  [['--events', '5M', '--busy', '1e-300'], '--busy: must be at least 0.01'],
  [[], "required option '--events <number>' not specified"],
])('refuses %j', async (args, message) => {
  const { exitCode, out, error } = await run(...args);
  expect({ exitCode, out }).toEqual({ exitCode: 2, out: '' });
  expect(error).toContain(message);
});
