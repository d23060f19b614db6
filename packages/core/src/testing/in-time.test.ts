import { setTimeout as wait } from 'node:timers/promises';
import { inTime } from './in-time';

const SECOND_MS = 1_000;

async function looksInVain(): Promise<never> {
  for (;;) await inTime(wait(10), () => 'nobody');
}

describe('a wait that comes to nothing', () => {
  const LIMIT_MS = 11 * SECOND_MS;

  it(
    'ends before the test has to, and says where it was',
    async () => {
      const error = await looksInVain().catch((thrown: Error) => thrown);
      expect(error.message).toContain('Last seen: nobody');
      expect(error.stack).toMatch(/at looksInVain.*\n.*at Object.*in-time\.test\.ts/);
    },
    LIMIT_MS,
  );

  it(
    'ends also where nothing ever comes',
    async () => {
      const never = new Promise<never>(() => {});
      await expect(inTime(never, () => 'nothing')).rejects.toThrow('Last seen: nothing');
    },
    LIMIT_MS,
  );
});

it('gives what came, and passes on what failed', async () => {
  expect(await inTime(Promise.resolve('it'), () => '')).toBe('it');
  await expect(inTime(Promise.reject(new Error('broken')), () => '')).rejects.toThrow('broken');
});
