import * as fc from 'fast-check';
import { EVENT_HEAD_BYTES, type EventHead, REQUEST_ID_FORM, type Schedule } from '../domain/event';
import { buildEvent } from '../testing/build-event';
import { uniqueEndpointId } from '../testing/unique-ids';
import { decodeHead, decodeStored, encodeEvent, encodeStored, isNotedAsQueued } from './event-text';

const AT = 1_700_000_000_000;
const trace = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true };
const forms = ['current', 'former'] as const;

const aTime = fc.integer({ min: AT, max: AT + 10 ** 9 });
// None of these may be taken for a member of the head.
const aGroup = fc.oneof(
  fc.constantFrom('order-4711', '"state":"waiting"', '","erased_at":1,"x":"', '~1 -2,3 !4 @ &', '\\"at":5'),
  fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
    .filter((text) => !/[\p{Cc}\p{Cs}]/u.test(text)),
);
const aSchedule: fc.Arbitrary<Schedule> = fc.record({
  state: fc.constantFrom('waiting', 'due', 'cancelled'),
  publishedAt: aTime,
  deliverAt: aTime,
});
const aHead: fc.Arbitrary<EventHead> = fc
  .record(
    {
      acceptedAt: aTime,
      type: fc.constantFrom('invoice.paid', 'a.b'),
      isAimed: fc.boolean(),
      erasedAt: aTime,
      trace: fc.constant(trace),
      schedule: aSchedule,
      group: aGroup,
      requestId: fc.stringMatching(REQUEST_ID_FORM),
    },
    { requiredKeys: ['acceptedAt', 'type', 'isAimed'] },
  )
  // It takes its place in time when it is due.
  .map(({ schedule, ...head }) => {
    if (schedule === undefined) return head;
    const deliverAt = schedule.state === 'cancelled' ? schedule.deliverAt : head.acceptedAt;
    return { ...head, schedule: { ...schedule, deliverAt } };
  });

it.each(forms)('gives back each head and body, in the form %s', (form) => {
  fc.assert(
    fc.property(aHead, fc.string(), (head, body) => {
      const stored = encodeStored(head, body, form);
      // The version before does not know requests.
      const { requestId, ...known } = head;
      const read = form === 'former' || requestId === undefined ? known : { ...known, requestId };
      expect(decodeHead(stored)).toEqual(read);
      expect(decodeHead(stored.slice(0, EVENT_HEAD_BYTES))).toEqual(read);
      const { accountId, id } = buildEvent();
      const { erasedAt } = head;
      const rest = erasedAt === undefined ? { body } : { erasedAt };
      expect(decodeStored(accountId, id, stored)).toMatchObject({ id, accountId, type: head.type, ...rest });
    }),
  );
});

it.each(forms)('has the longest head in the bytes that are read of it, in the form %s', (form) => {
  const schedule = { state: 'cancelled', publishedAt: AT, deliverAt: AT } as const;
  const head = { acceptedAt: AT, type: `a.${'b'.repeat(98)}`, isAimed: true, schedule, trace, erasedAt: AT };
  const requestId = 'r'.repeat(64);
  for (const group of ['"'.repeat(256), '\\'.repeat(256), 'ü'.repeat(128)]) {
    const stored = encodeStored({ ...head, group, requestId }, 'body', form);
    expect(Buffer.byteLength(stored.slice(0, stored.indexOf('\n') + 1))).toBeLessThanOrEqual(
      EVENT_HEAD_BYTES,
    );
  }
});

it('is a line of JSON with named members, and the body', () => {
  const event = buildEvent({ acceptedAt: AT, type: 'invoice.paid', body: '{"x": 1}' });
  expect(encodeEvent(event)).toBe(`{"at":${AT},"type":"invoice.paid"}\n{"x": 1}`);
  const schedule = { state: 'waiting', publishedAt: AT - 5, deliverAt: AT } as const;
  const more = {
    endpointIds: [uniqueEndpointId()],
    isQueued: true,
    schedule,
    group: 'order-4711',
    requestId: 'req_1',
    trace,
  } as const;
  expect(encodeEvent({ ...event, ...more })).toBe(
    `{"state":"waiting","at":${AT},"type":"invoice.paid","aimed":true,"queued":true,"published_at":${AT - 5},` +
      `"group":"order-4711","req":"req_1","traceparent":"00-${trace.traceId}-${trace.spanId}-01"}\n{"x": 1}`,
  );
});

it.each(forms)('notes of an event that a worker fans it out, in the form %s', (form) => {
  const event = buildEvent({ group: '"queued":true & ' });
  expect(isNotedAsQueued(encodeEvent(event, form))).toBe(false);
  expect(isNotedAsQueued(encodeEvent({ ...event, isQueued: true }, form))).toBe(true);
});

// As the version before has stored them.
it.each<[string, string, EventHead]>([
  ['plain', `${AT} a.b\nbody`, { acceptedAt: AT, type: 'a.b', isAimed: false }],
  ['aimed and queued', `${AT} a.b @ &\nbody`, { acceptedAt: AT, type: 'a.b', isAimed: true }],
  [
    'waiting, of a group, traced',
    `${AT} a.b ~1699999999000 =order%204711 ^00-${trace.traceId}-${trace.spanId}-01\nbody`,
    {
      acceptedAt: AT,
      type: 'a.b',
      isAimed: false,
      schedule: { state: 'waiting', publishedAt: 1_699_999_999_000, deliverAt: AT },
      group: 'order 4711',
      trace,
    },
  ],
  [
    'cancelled and erased',
    `${AT} a.b -1699999999000,1700000005000 !1700000009000\n`,
    {
      acceptedAt: AT,
      type: 'a.b',
      isAimed: false,
      schedule: { state: 'cancelled', publishedAt: 1_699_999_999_000, deliverAt: 1_700_000_005_000 },
      erasedAt: 1_700_000_009_000,
    },
  ],
  [
    'due',
    `${AT} a.b +1699999999000\nbody`,
    {
      acceptedAt: AT,
      type: 'a.b',
      isAimed: false,
      schedule: { state: 'due', publishedAt: 1_699_999_999_000, deliverAt: AT },
    },
  ],
])('reads an event of the version before that is %s', (_what, stored, head) => {
  expect(decodeHead(stored)).toEqual(head);
});

it('gives an event without time and type for a text that is none', () => {
  expect(decodeHead('no event')).toEqual({ acceptedAt: Number.NaN, type: '', isAimed: false });
});
