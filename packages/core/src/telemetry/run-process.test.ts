import type { Signal } from '../domain/signal';
import { ConfigError } from '../platform/settings';
import { signalSamples } from '../testing/signal-samples';
import { captureConsole, describeStartFault, withoutRepeats } from './run-process';

describe('run process', () => {
  function fault(code: string): Error {
    return Object.assign(new Error(`listen ${code} 1.2.3.4:3000`), { code });
  }

  describe('describeStartFault', () => {
    it.each(['EACCES', 'EADDRINUSE', 'EADDRNOTAVAIL', 'ENOTFOUND'])(
      'says in one line what to do about %s',
      (code) => {
        expect(describeStartFault(fault(code))).toMatch(/^listen \w+ 1\.2\.3\.4:3000: .*choose .*\.$/);
      },
    );

    it('gives the lines of a configuration that is wrong', () => {
      expect(describeStartFault(new ConfigError('wrong:\n  X: must be set'))).toBe(
        'wrong:\n  X: must be set',
      );
    });

    it('says where anything else broke', () => {
      const error = new Error('no luck');
      expect(describeStartFault(error)).toBe(error.stack);
      expect(describeStartFault('no luck')).toBe('no luck');
    });
  });
});

describe('capture console', () => {
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
});

describe('without repeats', () => {
  const refused: Signal = { name: 'redis.error', connection: 'events', error: new Error('ECONNREFUSED') };

  function openListener() {
    const passedOn: Signal[] = [];
    const time = { nowMs: 0 };
    const listen = withoutRepeats(
      (signal) => passedOn.push(signal),
      () => time.nowMs,
    );
    return { listen, passedOn, time };
  }

  describe('withoutRepeats', () => {
    it('passes on an error of a connection once a minute, however often it comes', () => {
      const { listen, passedOn, time } = openListener();
      for (time.nowMs = 0; time.nowMs < 120_000; time.nowMs += 1_000) listen(refused);
      expect(passedOn).toEqual([refused, refused]);
    });

    it('passes on what another connection has, and another error of the same', () => {
      const { listen, passedOn } = openListener();
      const others: Signal[] = [
        { ...refused, connection: 'deliveries' },
        { ...refused, error: new Error('READONLY') },
      ];
      for (const signal of [refused, ...others, refused]) listen(signal);
      expect(passedOn).toEqual([refused, ...others]);
    });

    it('passes on once what two parts of a process find out about Redis', () => {
      const { listen, passedOn } = openListener();
      const unsafe: Signal = { name: 'redis.unsafe', detail: 'appendonly is no' };
      const other: Signal = { name: 'redis.unsafe', detail: 'maxmemory-policy is allkeys-lru' };
      for (const signal of [unsafe, unsafe, other]) listen(signal);
      expect(passedOn).toEqual([unsafe, other]);
    });

    it('passes on everything else, the same as well', () => {
      const { listen, passedOn } = openListener();
      const signal = signalSamples['delivery.attempted'];
      listen(signal);
      listen(signal);
      expect(passedOn).toEqual([signal, signal]);
    });
  });
});
