import { persist } from './announce';

function failing(times: number) {
  const failures: unknown[] = [];
  let calls = 0;
  const action = async () => {
    calls += 1;
    if (calls <= times) throw new Error(`failure ${calls}`);
  };
  return { action, failures, onFailure: (error: unknown) => failures.push(error), calls: () => calls };
}

it('does what succeeds once', async () => {
  const { action, failures, onFailure, calls } = failing(0);
  await persist(action, { everyMs: 1, signal: new AbortController().signal, onFailure });
  expect({ calls: calls(), failures }).toEqual({ calls: 1, failures: [] });
});

it('does what fails again until it succeeds, and tells of each failure', async () => {
  const { action, failures, onFailure, calls } = failing(3);
  await persist(action, { everyMs: 1, signal: new AbortController().signal, onFailure });
  expect(calls()).toBe(4);
  expect(failures.map(String)).toEqual(['Error: failure 1', 'Error: failure 2', 'Error: failure 3']);
});

it('gives up at once after a failure that is final', async () => {
  const { action, failures, onFailure } = failing(3);
  const isFinal = (error: unknown) => String(error).includes('failure 2');
  const persisted = persist(action, { everyMs: 1, signal: new AbortController().signal, onFailure, isFinal });
  await expect(persisted).rejects.toThrow('failure 2');
  expect(failures).toHaveLength(2);
});

it('gives up when it is told to, with what went wrong last', async () => {
  const stop = new AbortController();
  const { action, failures, onFailure } = failing(Number.POSITIVE_INFINITY);
  const persisted = persist(action, {
    everyMs: 1,
    signal: stop.signal,
    onFailure(error) {
      onFailure(error);
      if (failures.length === 3) stop.abort();
    },
  });
  await expect(persisted).rejects.toThrow('failure 3');
});

it('does not wait any longer once it is told to give up', async () => {
  const stop = new AbortController();
  const { action, onFailure, calls } = failing(1);
  const persisted = persist(action, { everyMs: 3_600_000, signal: stop.signal, onFailure });
  setImmediate(() => stop.abort());
  await persisted;
  expect(calls()).toBe(2);
});
