import { runSuite } from './run-suite';

it('goes on from a backup: what was in it arrives, what came after it is gone, and nothing else is', async () => {
  const { seed, findings, messages } = await runSuite(['restore-drill']);
  expect({ seed, findings }).toEqual({ seed, findings: [] });
  expect(messages).toMatch(
    /in the backup: [1-9]\d* acknowledged events; of their deliveries 0 never arrived/,
  );
  // How many of those that came after it had not arrived when its store was put back is a matter of the machine's speed.
  expect(messages).toMatch(/gone: \d+ events that were acknowledged after the backup/);
}, 300_000);
