import { AppError, type Fault } from '@webhooks/core/errors/app-error';
import { faultsOf } from '@webhooks/core/errors/zod-faults';
import type { Acceptance, AcceptEvents, PublishedEvent } from '@webhooks/core/events/accept-events';
import { textOfMember, textsOfItems } from '@webhooks/core/runtime/json-text';
import { z } from 'zod';
import { statusOf } from '../http/problem';
import { defineRoute } from '../http/route';
import { presentAccepted, publishedEventSchema, toPublishedEvent } from './published-event';

const MAX_EVENTS = 500;
const MAX_BODY_BYTES = 5 * 1024 * 1024;

/** Each event has an answer of its own, as if it had been published alone; one that is refused sinks no other. */
export function publishBatch(acceptEvents: AcceptEvents) {
  return defineRoute({
    method: 'post',
    path: '/v1/events/batch',
    scope: 'events:write',
    request: { body: z.strictObject({ events: z.array(z.unknown()).min(1).max(MAX_EVENTS) }) },
    maxBodyBytes: MAX_BODY_BYTES,
    creates: true,
    async handle({ apiKey, body, bodyText, requestId, newId, receivedAt }) {
      const texts = textsOfItems(textOfMember(bodyText, 'events') ?? '');
      const outcomes = await acceptEvents({
        accountId: apiKey.accountId,
        requestId,
        newId,
        receivedAt,
        events: body.events.map((item, index) => readItem(item, texts[index] ?? '')),
      });
      return { status: 200, body: { data: outcomes.map(presentOutcome) } };
    },
  });
}

function readItem(item: unknown, text: string): PublishedEvent | AppError {
  const parsed = publishedEventSchema.safeParse(item);
  if (parsed.success) return toPublishedEvent(parsed.data, text);
  return new AppError('invalid_request', 'The event is not valid: see "errors".', {
    faults: faultsOf(parsed.error),
  });
}

function presentOutcome(outcome: Acceptance | AppError, index: number) {
  if (!(outcome instanceof AppError)) {
    return { status: outcome.isNew ? 202 : 200, ...presentAccepted(outcome.event) };
  }
  const { code, message, faults } = outcome;
  const errors = faults.map((fault) => withinBatch(fault, index));
  return {
    status: statusOf(code),
    error: { code, detail: message, ...(errors.length === 0 ? {} : { errors }) },
  };
}

// Pointers lead into the whole body, as everywhere.
function withinBatch({ pointer, detail }: Fault, index: number): Fault {
  return { pointer: `/events/${index}${pointer}`, detail };
}
