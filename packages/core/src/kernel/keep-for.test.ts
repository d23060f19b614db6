import { createKeepFor } from './keep-for';

function arrange() {
  let now = 0;
  let reads = 0;
  let fault: Error | undefined;
  const read = async () => {
    reads += 1;
    if (fault) throw fault;
    return reads;
  };
  const current = createKeepFor(1_000, read, () => now);
  return {
    current,
    wait: (ms: number) => (now += ms),
    failWith: (error: Error | undefined) => {
      fault = error;
    },
  };
}

it('reads once for all who ask while it is good, and anew afterwards', async () => {
  const { current, wait } = arrange();
  expect(await Promise.all([current(), current()])).toEqual([1, 1]);
  wait(999);
  expect(await current()).toBe(1);
  wait(1);
  expect(await current()).toBe(2);
});

it('does not keep what could not be read', async () => {
  const { current, failWith } = arrange();
  failWith(new Error('no luck'));
  await expect(Promise.all([current(), current()])).rejects.toThrow('no luck');
  failWith(undefined);
  expect(await current()).toBe(2);
});
