import { type Capability, closesOf, listenersOf, stopsOf } from './capability';

it('hears signals and stops in the order of the list, and closes from its end', async () => {
  const done: string[] = [];
  const opened = (name: string): Capability => ({
    name,
    listen: (signal) => void done.push(`${name} hears ${signal.name}`),
    stop: async () => void done.push(`${name} stops`),
    close: async () => void done.push(`${name} closes`),
  });
  const all = [opened('first'), { name: 'idle' }, opened('last')];
  for (const listen of listenersOf(all)) listen({ name: 'process.stopped' });
  for (const part of [...stopsOf(all), ...closesOf(all)]) await part.stop();
  expect(done).toEqual([
    'first hears process.stopped',
    'last hears process.stopped',
    'first stops',
    'last stops',
    'last closes',
    'first closes',
  ]);
  expect(stopsOf(all).map(({ name }) => name)).toEqual(['first', 'last']);
});
