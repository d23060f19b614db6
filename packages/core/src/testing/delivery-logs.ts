import * as fc from 'fast-check';
import { type Attempt, type AttemptOutcome, attemptOutcomes } from '../domain/attempt';
import { holdReasons, triggers } from '../domain/delivery';
import { type DeliveryFact, encodeFact, eraseAnswers } from '../domain/delivery-fact';
import type { EventId } from '../domain/event';
import { tokenErrorCodes } from '../domain/receiver-auth';

// Receivers answer anything.
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom('', '\0', '\ud800', '\udc00x', '\uFFFD', '🚀', '{"z":', 'a\nb', '\\', '"'),
);
const trace = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', isSampled: true };

const transformed = fc.record({
  version: fc.integer({ min: 1, max: 3 }),
  body: text,
  headers: fc.dictionary(fc.constantFrom('content-type', 'x-kind'), text),
});

function attemptedFact(eventType: string) {
  return fc
    .record({
      attempt: fc.record(
        {
          number: fc.integer({ min: 1, max: 4 }),
          startedAt: fc.integer({ min: 1_700_000_000_000, max: 1_700_000_500_000 }),
          durationMs: fc.double({ min: 0, max: 60_000, noNaN: true }),
          outcome: fc.constantFrom<AttemptOutcome>(...attemptOutcomes),
          trigger: fc.constantFrom(...triggers),
          worker: fc.stringMatching(/^[0-9a-f]{6}$/),
          holds: fc.array(
            fc.record({
              reason: fc.constantFrom(...holdReasons),
              since: fc.integer({ min: 1_700_000_000_000, max: 1_700_000_500_000 }),
            }),
            { minLength: 1, maxLength: 3 },
          ),
          remoteAddress: fc.oneof(
            fc.ipV4(),
            fc.ipV6(),
            fc.constantFrom('2001:db8::1:0:0:1', '::ffff:10.0.0.1', 'fe80::1%eth0', '::'),
            text,
          ),
          responseStatus: fc.integer({ min: 100, max: 599 }),
          error: text,
          responseBody: text,
          responseHeaders: fc.dictionary(fc.constantFrom('server', 'date', 'content-type'), text),
          contentHeaders: fc.dictionary(fc.constantFrom('content-type', 'ce-id', 'ce-source'), text),
          addedHeaders: fc.array(fc.stringMatching(/^[a-z-]{1,8}$/), { minLength: 1, maxLength: 3 }),
          timings: fc.record(
            {
              dnsMs: fc.nat(9),
              connectMs: fc.nat(9),
              tlsMs: fc.nat(9),
              firstByteMs: fc.double({ noNaN: true, min: 0, max: 9 }),
            },
            { requiredKeys: [] },
          ),
          trace: fc.constant(trace),
          batchId: fc.stringMatching(/^msg_[0-9a-z]{5}$/),
          tokenError: fc.record(
            { status: fc.integer({ min: 100, max: 599 }), code: fc.constantFrom(...tokenErrorCodes) },
            { requiredKeys: [] },
          ),
          transformed,
        } satisfies Record<keyof Attempt, fc.Arbitrary<unknown>>,
        { requiredKeys: ['number', 'startedAt', 'durationMs', 'outcome'] },
      ),
      nextAttemptAt: fc.option(fc.integer({ min: 1_700_000_000_000, max: 1_700_000_900_000 }), {
        nil: undefined,
      }),
      isAborted: fc.boolean(),
      isLate: fc.boolean(),
      round: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
      hasType: fc.boolean(),
    })
    .map(
      ({ hasType, round, ...fact }): DeliveryFact => ({
        kind: 'attempted',
        ...fact,
        ...(round === undefined ? {} : { round }),
        ...(hasType ? { eventType } : {}),
      }),
    );
}

const otherFact: fc.Arbitrary<DeliveryFact> = fc.oneof(
  text.map((reason) => ({ kind: 'cancelled' as const, reason })),
  fc.constant({ kind: 'superseded' as const, by: 'evt_newer' as EventId }),
  transformed.map((made) => ({ kind: 'transformed' as const, transformed: made })),
  fc.record({
    kind: fc.constant('requested' as const),
    requestId: fc.stringMatching(/^[a-z0-9]{1,9}$/),
    trigger: fc.constantFrom('manual' as const, 'replay' as const),
    requestedAt: fc.integer({ min: 1_700_000_000_000, max: 1_700_000_500_000 }),
  }),
);

/** Logs of deliveries of an event of this type, also such as no worker would write. */
export function deliveryLog(eventType: string): fc.Arbitrary<string> {
  const facts = fc.array(fc.oneof({ weight: 3, arbitrary: attemptedFact(eventType) }, otherFact), {
    maxLength: 5,
  });
  return fc.tuple(facts, fc.boolean()).map(([some, isErased]) => {
    const log = some.map(encodeFact).join('');
    return isErased ? eraseAnswers(log, 1_700_000_600_000) : log;
  });
}
