import { explore, STUCK } from './explore';
import { oneJobForLife } from './one-job-for-life';
import type { Bounds, Rule } from './one-job-state';
import { ONE_DELIVERY, visitOneJob } from './visit-one-job';

const WITH_A_HISTORY: Bounds = {
  deliveries: 1,
  runs: 2,
  attempts: 1,
  faults: 1,
  accidents: 'none',
  // What is held has a job, and so does not move.
  gate: 'stays open',
  movers: 1,
  resends: 1,
};

describe('a delivery that has one job for life', () => {
  it('is never lost, never in two places and always found, whatever crashes once', () => {
    const findings = visitOneJob('one delivery, one fault', { ...ONE_DELIVERY, faults: 1 });
    expect(findings.violations).toEqual({});
    expect([...findings.sightings.keys()]).toEqual(
      expect.arrayContaining([
        'a delivery that is held',
        'a delivery that succeeds',
        'two requests in flight',
      ]),
    );
  });

  it('is sent twice at once, or after its success, only if a run lost its lock', () => {
    const { sightings } = visitOneJob('one delivery, no fault', { ...ONE_DELIVERY, faults: 0 });
    expect(sightings.has('two requests in flight')).toBe(false);
    expect(sightings.has('a request that starts after a recorded success')).toBe(false);
  });

  // The run has loaded the log before: only a cancellation and another run's answer, after it lost its lock, come between.
  it('may be admitted after its end is on record, unless what admits it reads the log again', () => {
    const bounds = { ...ONE_DELIVERY, attempts: 1, faults: 1 };
    const once = visitOneJob('one delivery, one attempt, one fault', bounds);
    const again = visitOneJob('the same, the log read again', bounds, {
      admission: 'reads the gate and the log',
    });
    expect(once.sightings.has('a run that is admitted after any recorded end')).toBe(true);
    expect(again.sightings.has('a run that is admitted after any recorded end')).toBe(false);
    expect(again.violations).toEqual({});
  });

  it('is so while it moves to a history, and is sent again from there', () => {
    const findings = visitOneJob('one delivery that moves, one fault', WITH_A_HISTORY);
    expect(findings.violations).toEqual({});
    expect([...findings.sightings.keys()]).toEqual(
      expect.arrayContaining(['a delivery that has moved', 'a delivery that has moved and is sent again']),
    );
  });

  it('is so while it moves, and its gate closes and opens', () => {
    const { gate: _gate, ...bounds } = { ...WITH_A_HISTORY, faults: 0 };
    expect(visitOneJob('one delivery that moves, at a gate', bounds).violations).toEqual({});
  });

  it('is so when two movers are at it', () => {
    const bounds: Bounds = { ...WITH_A_HISTORY, faults: 0, movers: 2 };
    expect(visitOneJob('one delivery that two move, no fault', bounds).violations).toEqual({});
  });

  const SENT_ONCE_MORE = 'a request for a delivery whose record has moved';
  const NOT_SENT = 'an acknowledged request that an earlier attempt ends';
  const END_LOST = 'an end that is gone from Redis, and that the history has not';

  it.each<[Rule, string, Partial<Bounds>]>([
    ['what has a job does not leave Redis', SENT_ONCE_MORE, { resends: 0, faults: 1 }],
    ['what has moved is not fanned out again', SENT_ONCE_MORE, { resends: 0, accidents: 'all' }],
    ['what is about to be sent again is pinned', SENT_ONCE_MORE, {}],
    ['a success ends its own round only', NOT_SENT, { faults: 1 }],
    ['what has changed since it was read does not leave Redis', END_LOST, {}],
    ['what moves is in the history before it leaves Redis', END_LOST, { resends: 0 }],
    ['what the history has already is not overwritten by what is older', END_LOST, { movers: 2 }],
  ])('relies on this, as it moves: %s', (without, seen, more) => {
    const bounds: Bounds = { ...WITH_A_HISTORY, faults: 0, ...more };
    const findings = explore(oneJobForLife({ bounds, admission: 'reads the gate', without }));
    expect(Object.keys(findings.violations)).toContain(seen);
  });

  it.each<[Rule, string]>([
    ['an entry stays while its job is active', 'a held delivery that no sweep finds'],
    ['a delivery is listed before it is put off', 'a held delivery that no sweep finds'],
    ['who lists a delivery asks for a look', 'an entry at which nobody will look'],
    ['a look at a closed gate asks for another one', 'an entry at which nobody will look'],
    ['a job is moved by the owner of its lock only', STUCK],
    [
      'only the owner of the lock starts a request',
      'a request that starts beside one whose run has its lock',
    ],
    ['a recorded end stays', 'an acknowledged delivery without a job'],
  ])('relies on this: %s', (without, seen) => {
    const bounds: Bounds = { ...ONE_DELIVERY, faults: 1, accidents: 'none' };
    const findings = explore(oneJobForLife({ bounds, admission: 'reads the gate', without }));
    expect(Object.keys(findings.violations)).toContain(seen);
  });
});
