import { runSuite } from './run-suite';

it('goes on from a backup: what was in it arrives, what came after it is gone, and nothing else is', async () => {
  const { seed, findings, rows, messages } = await runSuite(['restore-drill']);
  expect({ seed, findings }).toEqual({ seed, findings: [] });
  // What came after the backup, and the promise about what was before it.
  expect(rows[0]?.lost).toBeGreaterThan(0);
  expect(messages).toContain('of their deliveries 0 never arrived');
  expect(messages).toMatch(/gone: \d+ events that were acknowledged after the backup/);
}, 300_000);
