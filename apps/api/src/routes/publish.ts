import { type AcceptedEvent, eventStatuses, statusOfEvent } from '@hookferry/core/domain/event';
import { AppError, validationErrorSchema } from '@hookferry/core/platform/app-error';
import { formatTime, timeSchema } from '@hookferry/core/platform/clock';
import { type Acceptance, acceptEvents, type PublishedEvent } from '@hookferry/core/publish/accept-events';
import { z } from 'zod';
import type { ApiContext } from '../context';
import { codeSchema, statusOf } from '../http/problem';
import type { RouteReply, RouteRequest } from '../http/route';

/** The common part of all routes that publish. */

/** Of one request. */
export const MAX_EVENTS = 500;

export const MAX_BATCH_BYTES = 5 * 1024 * 1024;

export const acceptedSchema = z
  .object({
    id: z.string().describe('The id of the event: yours, or a generated one.'),
    type: z.string().describe('The type of the event.'),
    created_at: timeSchema.describe('When the event was accepted.'),
    status: z.enum(eventStatuses).optional().meta({
      description:
        'The status of an event with `deliver_at`: `scheduled` until it is due. Absent for all others.',
    }),
    deliver_at: timeSchema.optional().meta({ description: 'When the event is sent. Absent: at once.' }),
  })
  .meta({ id: 'AcceptedEvent' });

const acceptedOfBatchSchema = acceptedSchema
  .extend({
    status: z
      .literal([200, 202])
      .describe('202: the event is accepted. 200: an event with this id was accepted before.'),
  })
  .meta({ id: 'AcceptedOfBatch' });

const refusedOfBatchSchema = z
  .object({
    status: z.int().describe('The HTTP status of the error, as if the event had been published alone.'),
    error: z
      .object({
        code: codeSchema.describe('The kind of error, for programs.'),
        detail: z.string().describe('What is wrong with the event, in a sentence for people.'),
        errors: z
          .array(validationErrorSchema)
          .optional()
          .describe('Each fault of the event. Absent for errors that are about no member.'),
      })
      .meta({ id: 'BatchError' })
      .describe('Why the event was refused, as if it had been published alone.'),
  })
  .meta({ id: 'RefusedOfBatch' });

export const outcomesSchema = z
  .object({
    data: z
      .array(z.union([acceptedOfBatchSchema, refusedOfBatchSchema]))
      .describe('The outcome of each event, in the order of the request.'),
  })
  .meta({ id: 'BatchOutcome' });

type Outcome = Acceptance | AppError;

/** The outcome of each of the events that a request publishes. @throws AppError `clock_skewed`. */
export async function publish(
  {
    apiKey,
    endpointsVersion,
    assumption,
    requestId,
    trace,
    newId,
    receivedAt,
    answer,
    requireClaim,
  }: RouteRequest,
  context: ApiContext,
  events: readonly (PublishedEvent | AppError)[],
): Promise<Outcome[]> {
  if (!context.redisClock.isTrusted) await context.redisClock.requireTrusted();
  const { accountId } = apiKey;
  return await acceptEvents(context, {
    accountId,
    endpointsVersion,
    assumption,
    requestId,
    trace,
    newId,
    receivedAt,
    answer,
    requireClaim,
    events,
  });
}

/** Count the events of a batch by the rate limit: the request itself is counted already. */
export async function spendOnOthers({ spend }: Pick<RouteRequest, 'spend'>, count: number): Promise<void> {
  if (count > 1) await spend(count - 1);
}

/** The reply to a request with one event. @throws AppError its own. */
export function presentSingle(outcome: Outcome | undefined): RouteReply {
  if (outcome === undefined || outcome instanceof AppError) throw outcome;
  return { status: outcome.isNew ? 202 : 200, body: presentAccepted(outcome.event) };
}

function presentAccepted(event: AcceptedEvent): z.infer<typeof acceptedSchema> {
  const { id, type, acceptedAt, schedule } = event;
  if (schedule === undefined) return { id, type, created_at: formatTime(acceptedAt) };
  const { publishedAt, deliverAt } = schedule;
  const status = statusOfEvent(event);
  return { id, type, created_at: formatTime(publishedAt), status, deliver_at: formatTime(deliverAt) };
}

/**
 * The outcome of each event of a batch.
 *
 * @param at where the list of events is in the body: pointers lead into the whole body, as everywhere.
 */
export function presentOutcomes(outcomes: readonly Outcome[], at: string): z.infer<typeof outcomesSchema> {
  return { data: outcomes.map((outcome, index) => presentOutcome(outcome, `${at}/${index}`)) };
}

function presentOutcome(outcome: Outcome, at: string): z.infer<typeof outcomesSchema>['data'][number] {
  if (!(outcome instanceof AppError)) {
    return { ...presentAccepted(outcome.event), status: outcome.isNew ? 202 : 200 };
  }
  const { code, message, validationErrors } = outcome;
  const errors = validationErrors.map((fault) => ({ ...fault, pointer: at + fault.pointer }));
  return {
    status: statusOf(code),
    error: { code, detail: message, ...(errors.length === 0 ? {} : { errors }) },
  };
}
