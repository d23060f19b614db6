import type { NewSpan, TraceContext } from '../model/trace';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { TRACE_OPEN_MS, traceAttempt } from './trace-attempt';

const ACCEPTED_AT = 1_700_000_000_000;
const contextOf = (digit: string): TraceContext => ({
  traceId: digit.repeat(32),
  spanId: digit.repeat(16),
  isSampled: true,
});
const EVENT = contextOf('a');
const BEFORE = contextOf('b');

/** What the span of an attempt is begun with. */
function begunWith(afterMs: number, trace?: TraceContext, previousTrace?: TraceContext): NewSpan {
  const begun: NewSpan[] = [];
  const event = buildEvent({ acceptedAt: ACCEPTED_AT, ...(trace === undefined ? {} : { trace }) });
  traceAttempt(
    { event, endpoint: buildEndpoint(), previousTrace },
    (span) => {
      begun.push(span);
      return { context: contextOf('c'), parent: span.parent, links: [], startedAt: span.startedAt };
    },
    ACCEPTED_AT + afterMs,
  );
  const { startedAt: _startedAt, ...place } = begun[0] ?? { startedAt: 0 };
  return place as NewSpan;
}

it.each([
  ['is below its event', 0, EVENT, undefined, { parent: EVENT, links: [] }],
  ['is linked to the attempt before', TRACE_OPEN_MS - 1, EVENT, BEFORE, { parent: EVENT, links: [BEFORE] }],
  [
    'that comes late has a trace of its own, linked to its event',
    TRACE_OPEN_MS,
    EVENT,
    undefined,
    { links: [EVENT] },
  ],
  [
    'that comes late is linked to the attempt before as well',
    TRACE_OPEN_MS,
    EVENT,
    BEFORE,
    { links: [BEFORE, EVENT] },
  ],
  ['of an event without a trace has one of its own', 0, undefined, undefined, { links: [] }],
])('an attempt %s', (_what, afterMs, trace, previousTrace, place) => {
  expect(begunWith(afterMs, trace, previousTrace)).toEqual(place);
});

it.each([
  [
    'https://user:secret@hooks.example.com:8443/in/1?token=secret#secret',
    'https://hooks.example.com:8443/in/1',
  ],
  ['https://hooks.example.com', 'https://hooks.example.com/'],
])('tells nothing secret of %s', (url, told) => {
  const place = { context: EVENT, parent: undefined, links: [], startedAt: 0 };
  const endpoint = buildEndpoint({ url });
  expect(traceAttempt({ event: buildEvent(), endpoint }, () => place, 0).url).toBe(told);
});
