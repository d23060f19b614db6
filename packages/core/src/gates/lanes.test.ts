import { uniqueEndpointId } from '../testing/unique-ids';
import { type LaneEntry, Lanes, SLOW_MS } from './lanes';

const QUICK = { outcome: 'delivered', durationMs: 20 } as const;
const HANGING = { outcome: 'response_timeout', durationMs: 15_000 } as const;
const MOVED_AS_SLOW: LaneEntry = { kind: 'move', reason: 'slow' };
const MOVED_AS_STRANGER: LaneEntry = { kind: 'move', reason: 'stranger' };

const endpointId = uniqueEndpointId();

function letIn(entry: LaneEntry) {
  if (entry.kind === 'move') throw new Error('A move that the test does not expect.');
  return entry;
}

describe('an endpoint', () => {
  it.each([
    ['answers quickly', QUICK],
    ['takes as long as is still quick', { outcome: 'delivered', durationMs: SLOW_MS }],
    ['refuses at once', { outcome: 'connect_refused', durationMs: 1 }],
    ['fails at once', { outcome: 'http_5xx', durationMs: 1 }],
  ] as const)('that %s has the fast lane, also beside any number of strangers', (_what, attempt) => {
    const lanes = new Lanes(0);
    lanes.learn(endpointId, attempt);
    expect(lanes.enter('fast', endpointId, false).kind).toBe('admitted');
    expect(lanes.enter('fast', endpointId, true).kind).toBe('admitted');
  });

  it.each([
    ['answers late', { outcome: 'delivered', durationMs: SLOW_MS + 1 }],
    ['fails late', { outcome: 'dns_error', durationMs: SLOW_MS + 1 }],
    ['never answers, however short its time-out', { outcome: 'response_timeout', durationMs: 300 }],
    ['can not be reached', { outcome: 'connect_timeout', durationMs: 300 }],
  ] as const)('that %s has the slow lane', (_what, attempt) => {
    const lanes = new Lanes(10);
    lanes.learn(endpointId, attempt);
    expect(lanes.enter('fast', endpointId, false)).toEqual(MOVED_AS_SLOW);
    expect(lanes.enter('slow', endpointId, false).kind).toBe('admitted');
  });

  it('is what its last attempt was', () => {
    const lanes = new Lanes(10);
    lanes.learn(endpointId, HANGING);
    lanes.learn(endpointId, QUICK);
    expect(lanes.enter('fast', endpointId, false).kind).toBe('admitted');
    lanes.learn(endpointId, HANGING);
    expect(lanes.enter('fast', endpointId, false)).toEqual(MOVED_AS_SLOW);
  });

  it('that failed at another worker has the slow lane until this one knows better', () => {
    const lanes = new Lanes(10);
    expect(lanes.enter('fast', endpointId, true)).toEqual(MOVED_AS_SLOW);
    lanes.learn(endpointId, QUICK);
    expect(lanes.enter('fast', endpointId, true).kind).toBe('admitted');
  });
});

describe('strangers', () => {
  it('are let in up to their share, and again as others leave', () => {
    const lanes = new Lanes(2);
    const first = letIn(lanes.enter('fast', uniqueEndpointId(), false));
    lanes.enter('fast', endpointId, false);
    expect(lanes.enter('fast', endpointId, false)).toEqual(MOVED_AS_STRANGER);
    lanes.leave(first);
    expect(lanes.enter('fast', endpointId, false).kind).toBe('admitted');
    expect(lanes.enter('fast', endpointId, false)).toEqual(MOVED_AS_STRANGER);
  });

  it('hold their slots until they leave, also when the endpoint becomes known meanwhile', () => {
    const lanes = new Lanes(1);
    const stranger = letIn(lanes.enter('fast', endpointId, false));
    lanes.learn(endpointId, QUICK);
    lanes.leave(letIn(lanes.enter('fast', endpointId, false)));
    expect(lanes.enter('fast', uniqueEndpointId(), false)).toEqual(MOVED_AS_STRANGER);
    lanes.leave(stranger);
    expect(lanes.enter('fast', uniqueEndpointId(), false).kind).toBe('admitted');
  });

  it('take nothing of their share while they are in the slow lane', () => {
    const lanes = new Lanes(1);
    lanes.leave(letIn(lanes.enter('slow', uniqueEndpointId(), false)));
    lanes.enter('fast', uniqueEndpointId(), false);
    expect(lanes.enter('fast', uniqueEndpointId(), false)).toEqual(MOVED_AS_STRANGER);
  });
});
