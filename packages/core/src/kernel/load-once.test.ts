import { createLoadOnce } from './load-once';

/** Loads that end when they are told to. */
function build() {
  const loads: { readonly key: string; readonly version: string; end(error?: Error): void }[] = [];
  const loadOnce = createLoadOnce(
    (key: string, version: string) =>
      new Promise<string>((resolve, reject) => {
        const end = (error?: Error) => (error ? reject(error) : resolve(`${key} at ${version}`));
        loads.push({ key, version, end });
      }),
  );
  const asked = () => loads.map(({ key, version }) => `${key} ${version}`);
  return { loadOnce, loads, asked };
}

it('loads once for all who ask for the same version at the same time', async () => {
  const { loadOnce, loads, asked } = build();
  const answers = Array.from({ length: 32 }, () => loadOnce('a', '1'));
  loads[0]?.end();
  expect(new Set(await Promise.all(answers))).toEqual(new Set(['a at 1']));
  expect(asked()).toEqual(['a 1']);
});

it('loads once more, and not before the first is done, for all who ask for later versions meanwhile', async () => {
  const { loadOnce, loads, asked } = build();
  const first = loadOnce('a', '1');
  const later = ['2', '3', '3', '4'].map((version) => loadOnce('a', version));
  expect(asked()).toEqual(['a 1']);
  loads[0]?.end();
  expect(await first).toBe('a at 1');
  const more = loadOnce('a', '4');
  await Promise.resolve();
  expect(asked()).toEqual(['a 1', 'a 4']);
  loads[1]?.end();
  expect(await Promise.all([...later, more])).toEqual(Array(5).fill('a at 4'));
  expect(asked()).toEqual(['a 1', 'a 4']);
});

it('loads anew for whoever asks after that', async () => {
  const { loadOnce, loads, asked } = build();
  const first = loadOnce('a', '1');
  loads[0]?.end();
  await first;
  const second = loadOnce('a', '1');
  loads[1]?.end();
  await second;
  expect(asked()).toEqual(['a 1', 'a 1']);
});

it('loads different keys at the same time', () => {
  const { loadOnce, asked } = build();
  void loadOnce('a', '1');
  void loadOnce('b', '1');
  expect(asked()).toEqual(['a 1', 'b 1']);
});

it('tells those of a failure who asked for what failed, and no others', async () => {
  const { loadOnce, loads } = build();
  const [first, second] = [loadOnce('a', '1'), loadOnce('a', '2')];
  loads[0]?.end(new Error('away'));
  await expect(first).rejects.toThrow('away');
  loads[1]?.end();
  expect(await second).toBe('a at 2');
});
