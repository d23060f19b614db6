import { formatTraceparent, parseTraceparent } from './trace';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN_ID = 'b7ad6b7169203331';

it.each([
  ['01', true],
  ['00', false],
  // Other bits than the last say nothing of whether it is sampled.
  ['03', true],
  ['02', false],
])('reads a traceparent with the flags %s', (flags, isSampled) => {
  const text = `00-${TRACE_ID}-${SPAN_ID}-${flags}`;
  expect(parseTraceparent(text)).toEqual({ traceId: TRACE_ID, spanId: SPAN_ID, isSampled });
});

it('reads a later version, whatever follows', () => {
  const context = { traceId: TRACE_ID, spanId: SPAN_ID, isSampled: true };
  expect(parseTraceparent(`cc-${TRACE_ID}-${SPAN_ID}-01-what-the-future-brings`)).toEqual(context);
});

it.each([
  undefined,
  '',
  TRACE_ID,
  `ff-${TRACE_ID}-${SPAN_ID}-01`,
  `00-${TRACE_ID}-${SPAN_ID}-01-more`,
  `00-${'0'.repeat(32)}-${SPAN_ID}-01`,
  `00-${TRACE_ID}-${'0'.repeat(16)}-01`,
  `00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`,
  `00-${TRACE_ID}-${SPAN_ID}-01\r\nx-injected: 1`,
  ` 00-${TRACE_ID}-${SPAN_ID}-01`,
])('takes %j for none', (text) => {
  expect(parseTraceparent(text)).toBeUndefined();
});

it.each([true, false])('writes what it reads, sampled: %s', (isSampled) => {
  const context = { traceId: TRACE_ID, spanId: SPAN_ID, isSampled };
  expect(parseTraceparent(formatTraceparent(context))).toEqual(context);
});
