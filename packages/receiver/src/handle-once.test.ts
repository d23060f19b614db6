import { setTimeout as sleep } from 'node:timers/promises';
import type { DedupeStore } from './dedupe-store';
import { handleOnce } from './handle-once';
import { memoryStore } from './memory-store';
import { ReceiverResponse, responses } from './responses';

const DONE = new ReceiverResponse(204);
const LONG_MS = 60_000;

function arrange(store: DedupeStore = memoryStore(), leaseMs = LONG_MS) {
  const errors: unknown[] = [];
  const once = (handle: () => Promise<ReceiverResponse>, id = 'a') =>
    handleOnce({ id }, handle, { dedupe: store, leaseMs, onError: (error) => errors.push(error) });
  return { once, errors, store };
}

it('has an event handled again whose handler failed', async () => {
  const { once } = arrange();
  await expect(once(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await once(async () => DONE)).toBe(DONE);
  expect(await once(() => Promise.reject(new Error('never called')))).toMatchObject({ status: 204 });
});

it.each([responses.abort(), responses.disable(), responses.retryAfter(5)])(
  'has an event handled again that got $status $headers',
  async (response) => {
    const { once } = arrange();
    expect(await once(async () => response)).toBe(response);
    expect(await once(async () => DONE)).toBe(DONE);
  },
);

it('handles each time what has no id that was signed', async () => {
  let times = 0;
  const handle = async () => {
    times += 1;
    return DONE;
  };
  for (const _ of [1, 2]) await handleOnce({}, handle, { dedupe: memoryStore(), onError: () => {} });
  expect(times).toBe(2);
});

it('handles nothing while the store is away', async () => {
  const away = new Error('away');
  const { once } = arrange({ ...memoryStore(), claim: () => Promise.reject(away) });
  const handle = jest.fn(async () => DONE);
  await expect(once(handle)).rejects.toBe(away);
  expect(handle).not.toHaveBeenCalled();
});

it('lets the ending stand when it can not be noted, and tells so', async () => {
  const away = new Error('away');
  const gone = () => Promise.reject(away);
  const { once, errors } = arrange({ ...memoryStore(), commit: gone, release: gone });
  expect(await once(async () => DONE)).toBe(DONE);
  await expect(once(() => Promise.reject(new Error('no')), 'b')).rejects.toThrow('no');
  expect(errors).toEqual([away, away]);
});

it('does not release what somebody else has claimed since its own lease ended', async () => {
  const { once, store } = arrange(memoryStore(), 1);
  const failing = once(async () => {
    while ((await store.claim('a', LONG_MS)) !== 'claimed') await sleep(1);
    throw new Error('too late');
  });
  await expect(failing).rejects.toThrow('too late');
  expect(await store.claim('a', LONG_MS)).toBe('busy');
});

it.each([0, -1, 1.5, Number.NaN])('has no wish to retry after %s seconds', (seconds) => {
  expect(() => responses.retryAfter(seconds)).toThrow(RangeError);
});
