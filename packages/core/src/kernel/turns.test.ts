import { createTurns } from './turns';

it('runs one after the other, in the order in which they come', async () => {
  const takeTurn = createTurns();
  const log: string[] = [];
  const work = (name: string) => async () => {
    log.push(`${name} begins`);
    await Promise.resolve();
    log.push(`${name} ends`);
    return name;
  };
  expect(await Promise.all([takeTurn(work('one')), takeTurn(work('two'))])).toEqual(['one', 'two']);
  expect(log).toEqual(['one begins', 'one ends', 'two begins', 'two ends']);
});

it('goes on after one that fails, which fails for its own caller only', async () => {
  const takeTurn = createTurns();
  const failing = takeTurn(() => Promise.reject(new Error('no luck')));
  const next = takeTurn(async () => 'next');
  await expect(failing).rejects.toThrow('no luck');
  expect(await next).toBe('next');
});
