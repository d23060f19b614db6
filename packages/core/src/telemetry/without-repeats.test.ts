import type { Signal } from '../model/signal';
import { signalSamples } from '../testing/signal-samples';
import { withoutRepeats } from './without-repeats';

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

  it('passes on everything else, the same as well', () => {
    const { listen, passedOn } = openListener();
    const signal = signalSamples['delivery.attempted'];
    listen(signal);
    listen(signal);
    expect(passedOn).toEqual([signal, signal]);
  });
});
