import type { Signal } from '../model/signal';
import { captureConsole } from './capture-console';
import { withoutRepeats } from './without-repeats';

it('makes signals of what is written to the console, until it is put back', () => {
  const signals: Signal[] = [];
  const { warn, error } = console;
  const putBack = captureConsole((signal) => signals.push(signal));
  console.warn('IMPORTANT!', 4, 'connections');
  console.error(new Error('no luck'));
  putBack();
  expect(signals).toEqual([
    { name: 'library.warned', text: 'IMPORTANT! 4 connections' },
    { name: 'library.warned', text: 'Error: no luck' },
  ]);
  expect([console.warn, console.error]).toEqual([warn, error]);
});

it('tells the same once, however many connections warn', () => {
  const signals: Signal[] = [];
  const putBack = captureConsole(
    withoutRepeats(
      (signal) => signals.push(signal),
      () => 0,
    ),
  );
  for (let i = 0; i < 30; i += 1) console.warn('Eviction policy is allkeys-lru.');
  console.warn('Something else.');
  putBack();
  expect(signals).toHaveLength(2);
});
