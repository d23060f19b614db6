import { EVENT_TYPE_NAME_FORM, eventIdSchema } from '@hookferry/core/domain/event';
import { eventsSchema } from '@hookferry/core/endpoints/endpoint-options';
import {
  compilePayloadFilter,
  type Explained,
  payloadFilterSchema,
} from '@hookferry/core/endpoints/filters/payload-filter';
import type { Trial, TrySource } from '@hookferry/core/history/trials';
import { formatTime, timeSchema } from '@hookferry/core/platform/clock';
import { z } from 'zod';
import { requireScope } from '../http/authenticate';
import { defineRoute } from '../http/route';

const DEFAULT_LAST = 20;
const MOST_LAST = 100;

const bodySchema = z
  .strictObject({
    filter: payloadFilterSchema.describe('The filter to try.'),
    data: z.unknown().optional().meta({ description: 'Try the filter on this payload.' }),
    event_type: z
      .string()
      .meta(EVENT_TYPE_NAME_FORM)
      .optional()
      .meta({ description: 'Try the filter on the example of this event type.' }),
    event_id: eventIdSchema.optional().meta({ description: 'Try the filter on this event.' }),
    events: eventsSchema.optional().meta({
      description:
        'Try the filter on the latest events of these types: names, prefixes such as `order.*`, or `*`.',
    }),
    last: z
      .int()
      .min(1)
      .max(MOST_LAST)
      .optional()
      .meta({
        description: `Try the filter on so many of the latest events: 1 to ${MOST_LAST}. Default: ${DEFAULT_LAST}, unless \`data\`, \`event_type\` or \`event_id\` is given.`,
      }),
  })
  .superRefine(requireOneSource)
  .meta({ id: 'FilterTrial' });

export const explainedSchema = z
  .object({
    path: z.string().meta({ description: 'The path of the member, such as `customer.tier`.' }),
    operator: z.string().meta({ description: 'The operator of the condition.' }),
    expected: z.unknown().meta({ description: 'The value that the filter compares with.' }),
    found: z.unknown().optional().meta({
      description:
        'The value of the member in the payload, shortened if it is long. Absent: the payload has no such member.',
    }),
    holds: z.boolean().meta({ description: 'Whether the condition holds.' }),
  })
  .meta({ id: 'FilterCondition' });

const resultSchema = z
  .object({
    event_id: z
      .string()
      .nullable()
      .meta({ description: 'The id of the event. Null: the filter was not tried on a published event.' }),
    event_type: z
      .string()
      .nullable()
      .meta({ description: 'The type of the event. Null: the filter was tried on `data`.' }),
    created_at: timeSchema
      .nullable()
      .describe('When the event was accepted. Null: the filter was not tried on a published event.'),
    matches: z
      .boolean()
      .nullable()
      .meta({ description: 'Whether the event passes the filter. Null: its payload was erased.' }),
    because: z
      .array(explainedSchema)
      .readonly()
      .meta({ description: 'The conditions of the filter, each with its result.' }),
    left_out_by: z.array(explainedSchema).readonly().meta({
      description:
        'The conditions that left the event out. One that holds stands within `$not`. Empty if the event passes.',
    }),
  })
  .meta({ id: 'FilterResult' });

const triedSchema = z
  .object({
    tried: z
      .int()
      .meta({ description: 'How many results there are, without events whose payload was erased.' }),
    matched: z.int().meta({ description: 'How many of the events pass the filter.' }),
    results: z.array(resultSchema).meta({ description: 'The result for each event, newest first.' }),
  })
  .meta({ id: 'FilterTried' });

/** Try a filter, before a webhook has it or to see why an event did not come. Sends nothing. */
export const tryFilter = defineRoute({
  operationId: 'tryFilter',
  summary: 'Try a filter on data or on events',
  method: 'post',
  path: '/v1/filters/try',
  scope: 'webhooks:read',
  audit: { notAudited: 'It changes nothing.' },
  request: {
    body: bodySchema,
    hasEventData: true,
    example: { filter: { total: { gte: 100 } }, event_type: 'order.created' },
  },
  responses: {
    200: { description: 'The result for each event, with its reasons.', schema: triedSchema },
  },
  problems: ['history_unavailable'],
  isHeavy: true,
  async handle({ apiKey, body }, core) {
    const source = sourceOf(body);
    // The response shows parts of published events.
    if (source.kind === 'event' || source.kind === 'last') requireScope(apiKey, 'deliveries:read');
    const trials = await core.trials.runFilter(apiKey.accountId, compilePayloadFilter(body.filter), source);
    return { status: 200, body: presentTrials(trials) };
  },
});

type Body = z.infer<typeof bodySchema>;

/** The ways to name the data; a request uses one of them. */
const WAYS = [['data'], ['event_type'], ['event_id'], ['events', 'last']];

function requireOneSource(body: Readonly<Record<string, unknown>>, context: z.RefinementCtx): void {
  const said = WAYS.map((way) => way.filter((member) => body[member] !== undefined));
  const [first, ...others] = said.filter((members) => members.length > 0);
  for (const member of others.flat()) {
    context.addIssue({
      code: 'custom',
      path: [member],
      message: `cannot be given together with "${first?.[0]}"`,
    });
  }
}

function sourceOf({ data, event_type: type, event_id: id, events: types, last }: Body): TrySource {
  if (data !== undefined) return { kind: 'data', data };
  if (type !== undefined) return { kind: 'example', type };
  if (id !== undefined) return { kind: 'event', id };
  return { kind: 'last', types, most: last ?? DEFAULT_LAST };
}

function presentTrials(trials: readonly Trial[]): z.infer<typeof triedSchema> {
  return {
    tried: trials.filter(({ matches }) => matches !== undefined).length,
    matched: trials.filter(({ matches }) => matches === true).length,
    results: trials.map(presentTrial),
  };
}

function presentTrial({ event, type, matches, because, leftOutBy }: Trial): z.infer<typeof resultSchema> {
  return {
    event_id: event?.id ?? null,
    event_type: type ?? null,
    created_at: event === undefined ? null : formatTime(event.createdAt),
    matches: matches ?? null,
    because: because satisfies readonly Explained[],
    left_out_by: leftOutBy satisfies readonly Explained[],
  };
}
