import type { Attempt } from '../../api/delivery-queries';
import { differencesOf, stepsOf } from './story';

const at = (time: string) => `2026-11-26T${time}Z`;

function attempt(number: number, changes: Partial<Attempt> = {}): Attempt {
  const timings = { dns_ms: 1, connect_ms: 2, tls_ms: null, first_byte_ms: 30, total_ms: 34 };
  return {
    number,
    trigger: 'schedule',
    worker: 'w1',
    remote_address: '203.0.113.7',
    started_at: at('12:00:05'),
    duration_ms: 34,
    timings,
    outcome: 'http_5xx',
    request_headers: {},
    request_body: null,
    transformation_version: null,
    holds: [],
    batch_id: null,
    token_error: null,
    response_status: 503,
    response_headers: { server: 'a', date: '1' },
    response_body: 'down',
    error: null,
    ...changes,
  };
}

const delivery = {
  created_at: at('12:00:00'),
  attempts: [],
  status: 'pending',
  hold: null,
  next_attempt_at: null,
} as const;

describe('steps', () => {
  const now = Date.parse(at('12:00:30'));

  it('tell acceptance, attempts, and the one to come', () => {
    const steps = stepsOf({ ...delivery, attempts: [attempt(1)], next_attempt_at: at('12:05:00') }, now);
    expect(steps.map(({ kind, text }) => [kind, text])).toEqual([
      ['accepted', 'Accepted'],
      ['failed', 'Attempt 1: HTTP 503, 34 ms'],
      ['due', 'Attempt 2 is due'],
    ]);
  });

  it('tell what held it before each attempt, as parts of the time between', () => {
    const held = [
      { reason: 'disabled', since: at('12:01:00'), until: at('12:03:00') },
      { reason: 'breaker_open', since: at('12:03:00'), until: at('12:03:20') },
    ] as const;
    const second = attempt(2, { started_at: at('12:03:20'), holds: [...held] });
    const steps = stepsOf({ ...delivery, attempts: [attempt(1), second] }, now);
    expect(steps.map(({ kind, lengthMs, text }) => [kind, lengthMs, text])).toEqual([
      ['accepted', 0, 'Accepted'],
      ['failed', 34, 'Attempt 1: HTTP 503, 34 ms'],
      ['held', 120_000, 'Held for 2 min: its webhook was disabled'],
      ['held', 20_000, 'Held for 20 s: its webhook kept failing'],
      ['failed', 34, 'Attempt 2: HTTP 503, 34 ms'],
    ]);
  });

  it('tell what holds it, and until when', () => {
    const hold = { reason: 'breaker_open', until: at('12:01:00'), since: null, waits_for: null } as const;
    const steps = stepsOf({ ...delivery, status: 'held', hold }, now);
    expect(steps.map(({ at: time, text }) => [time - now, text])).toEqual([
      [-30_000, 'Accepted'],
      [0, 'Held: its webhook keeps failing'],
      [30_000, 'Attempt 1 is due'],
    ]);
  });

  it('tell since when it is held', () => {
    const hold = { reason: 'disabled', until: null, since: at('12:00:10'), waits_for: null } as const;
    const steps = stepsOf({ ...delivery, status: 'held', hold }, now);
    expect(steps.at(-1)).toMatchObject({ kind: 'held', at: Date.parse(hold.since), lengthMs: 20_000 });
  });

  it('tell of none that is held from later than now, by a clock that goes ahead', () => {
    const hold = { reason: 'disabled', until: null, since: at('12:00:31'), waits_for: null } as const;
    const steps = stepsOf({ ...delivery, status: 'held', hold }, now);
    expect(steps.at(-1)).toMatchObject({ at: now, lengthMs: 0 });
  });

  it('end with what it came to', () => {
    const good = attempt(2, {
      outcome: 'delivered',
      response_status: 204,
      trigger: 'manual',
      started_at: at('12:10:00'),
    });
    const steps = stepsOf({ ...delivery, status: 'delivered', attempts: [attempt(1), good] }, now);
    expect(steps.at(-1)).toMatchObject({ kind: 'delivered', text: 'Attempt 2, by hand: HTTP 204, 34 ms' });
  });
});

it('tells what two attempts differ in', () => {
  const timings = { ...attempt(2).timings, first_byte_ms: 900, total_ms: 904.2 };
  const second = attempt(2, {
    response_status: 200,
    outcome: 'delivered',
    remote_address: '2001:db8::7',
    timings,
    response_headers: { server: 'b', date: '1' },
  });
  const differing = differencesOf(attempt(1), second);
  expect(differing.map(({ name, values }) => [name, ...values])).toEqual([
    ['Response', 'HTTP 503', 'HTTP 200'],
    ['Address', '203.0.113.7', '2001:db8::7'],
    ['First byte', '30 ms', '900 ms'],
    ['In all', '34 ms', '904 ms'],
    ['Header server', 'a', 'b'],
  ]);
});
