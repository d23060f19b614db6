import type { Delivery } from '../../api/delivery-queries';
import { rangeOf } from '../delivery/story';
import { laneOf, stepsOfEvent } from './event-story';

const at = (time: string) => `2026-11-26T${time}Z`;
const accepted = { created_at: at('12:00:00'), deliver_at: null, status: 'accepted' } as const;

const delivery: Delivery = {
  id: 'evt_1.wh_1',
  event_id: 'evt_1',
  webhook_id: 'wh_1',
  event_type: 'order.placed',
  status: 'pending',
  attempt_count: 3,
  last_outcome: 'http_5xx',
  last_response_status: 503,
  next_attempt_at: at('13:00:00'),
  hold: null,
  matching_attempts: null,
  created_at: at('12:00:00'),
};

it.each([
  [accepted, ['Accepted']],
  [{ ...accepted, deliver_at: at('13:00:00') }, ['Accepted', 'Was due']],
  [{ ...accepted, deliver_at: at('13:00:00'), status: 'scheduled' }, ['Accepted', 'Is due']],
  [
    { ...accepted, deliver_at: at('13:00:00'), status: 'cancelled' },
    ['Accepted', 'Would be due; it was cancelled before'],
  ],
] as const)('of an event %j are %j', (event, texts) => {
  expect(stepsOfEvent(event).map(({ text }) => text)).toEqual(texts);
});

it('has of a delivery what is to come, before its attempts are read, and no acceptance of its own', () => {
  const { steps } = laneOf(delivery, undefined, Date.parse(at('12:10:00')));
  expect(steps).toEqual([
    { kind: 'due', at: Date.parse(at('13:00:00')), lengthMs: 0, text: 'Attempt 4 is due' },
  ]);
});

it('has since when a delivery is held, which its list does not tell', () => {
  const hold = { reason: 'disabled', until: null, since: null, waits_for: null } as const;
  const held = { ...delivery, status: 'held', hold } as const;
  const read = {
    ...held,
    hold: { ...hold, since: at('12:04:00') },
    superseded_by: null,
    cancel_reason: null,
    attempts: [],
  };
  const [step] = laneOf(held, read, Date.parse(at('12:10:00'))).steps;
  expect(step).toMatchObject({ kind: 'held', at: Date.parse(at('12:04:00')), lengthMs: 360_000 });
});

it('reaches from the first to the end of the last, and is never of no length', () => {
  const step = { kind: 'failed', at: 1_000, lengthMs: 500, text: '' } as const;
  expect(rangeOf([{ ...step, at: 1_200 }, step])).toEqual({ from: 1_000, to: 1_700 });
  expect(rangeOf([{ ...step, lengthMs: 0 }])).toEqual({ from: 1_000, to: 1_001 });
});
