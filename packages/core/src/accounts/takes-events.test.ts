import type { AccountId } from '../model/event';
import { createTakesEvents } from './takes-events';

const ACME = 'acme' as AccountId;

it('remembers for a second that an account takes events, and asks each time about one that does not', async () => {
  let now = 0;
  let isErased = false;
  let asked = 0;
  const takesEvents = createTakesEvents(
    {
      async isErased() {
        asked += 1;
        return isErased;
      },
    },
    () => now,
  );
  expect(await takesEvents(ACME)).toBe(true);
  isErased = true;
  now = 999;
  expect([await takesEvents(ACME), asked]).toEqual([true, 1]);
  now = 1_000;
  expect([await takesEvents(ACME), asked]).toEqual([false, 2]);
  isErased = false;
  expect([await takesEvents(ACME), asked]).toEqual([true, 3]);
});
