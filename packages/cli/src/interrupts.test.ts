import { Interrupts } from './interrupts';

it('ends the program, unless a command has asked to hear of it first', async () => {
  let ends = 0;
  const interrupts = new Interrupts(() => {
    ends += 1;
  });
  await interrupts.during(async (signal) => {
    interrupts.raise();
    expect([signal.aborted, ends]).toEqual([true, 0]);
    interrupts.raise();
    expect(ends).toBe(1);
  });
  interrupts.raise();
  expect(ends).toBe(2);
});
