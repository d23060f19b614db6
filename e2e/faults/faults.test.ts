import { runSuite } from './run-suite';

// It ends by itself within two minutes, on a machine that has nothing else to do; this is for one that hangs.
const WITHIN_MS = 400_000;

it(
  'keeps every promise through one fault of most kinds: none lost, none twice without a reason',
  async () => {
    const { seed, findings, rows } = await runSuite(['short'], WITHIN_MS);
    // With the seed, so that the message says how to see it again.
    expect({ seed, findings }).toEqual({ seed, findings: [] });
    expect(rows.length).toBeGreaterThanOrEqual(12);
    expect(rows.some(({ acknowledged }) => acknowledged > 0)).toBe(true);
  },
  WITHIN_MS + 10_000,
);

it.each(['confirmed', 'durable'])(
  'keeps them as well where a 202 is %s',
  async (mode) => {
    const kinds = 'worker-kill,api-kill,redis-outage-1s';
    const { seed, findings, rows } = await runSuite(['short', '--kinds', kinds, '--mode', mode], WITHIN_MS);
    expect({ seed, findings }).toEqual({ seed, findings: [] });
    const ran = rows.filter(({ acknowledged }) => acknowledged > 0).map(({ fault }) => fault);
    expect(ran.sort()).toEqual(
      kinds
        .split(',')
        .map((kind) => `${kind}-${mode}`)
        .sort(),
    );
  },
  WITHIN_MS + 10_000,
);

it('says why a fault can not be had in a mode', async () => {
  const { rows, messages } = await runSuite(['redis-gone', 'restore-drill-confirmed']);
  expect(rows).toEqual([]);
  expect(messages).toMatch(
    /LEFT OUT: redis-gone: .*\n[^]*LEFT OUT: restore-drill-confirmed: a replica follows/,
  );
});
