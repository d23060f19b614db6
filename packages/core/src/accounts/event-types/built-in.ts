import { z } from 'zod';
import { attemptOutcomes } from '../../domain/attempt';
import { auditActorSchema, auditTargetSchema, fieldChangeSchema } from '../../domain/audit';
import { disabledReasons } from '../../domain/endpoint';
import { verificationErrors, verificationMethods } from '../../domain/verification';

/** An event type: its name, and the form of its data. */
export interface EventType<Name extends string = string, Data extends z.ZodType = z.ZodType> {
  /** Dotted, lower case: `<noun>.<past participle>`. */
  readonly name: Name;
  /** Raised by this service itself, and delivered only to endpoints that subscribe to it by more than `*`. */
  readonly isOperational?: true;
  readonly description: string;
  readonly data: Data;
  readonly example: z.input<Data>;
}

function defineEventType<const Name extends string, Data extends z.ZodType>(
  definition: EventType<Name, Data>,
): EventType<Name, Data> {
  return definition;
}

/**
 * A number without a fraction, of any size: the received text is delivered, so an id or a count beyond 2^53
 * is neither rounded nor refused.
 */
function wholeNumber({ min }: { readonly min: number }) {
  const words = `must be a whole number of at least ${min}`;
  return z.number().min(min, words).refine(Number.isInteger, words).meta({ type: 'integer' });
}

const briefCreated = defineEventType({
  name: 'brief.created',
  description: 'A content brief was written and is ready to be read.',
  data: z.strictObject({
    brief_id: z.string().min(1).max(200).describe("The brief's id."),
    title: z.string().min(1).max(1_000).describe("The brief's title."),
    keyword: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe('The search phrase that the brief is written for.'),
    url: z.url().max(2_048).optional().describe('The URL of the brief.'),
  }),
  example: {
    brief_id: 'brf_82h1',
    title: 'How to choose running shoes',
    keyword: 'running shoes',
    url: 'https://app.example.com/briefs/brf_82h1',
  },
});

const deliveryExhausted = defineEventType({
  name: 'delivery.exhausted',
  isOperational: true,
  description: 'The last attempt of a delivery failed. The delivery is kept, and not tried again.',
  data: z.strictObject({
    delivery_id: z.string().describe('The id of the delivery.'),
    event_id: z.string().describe('The id of the event that could not be delivered.'),
    webhook_id: z.string().describe('The id of the webhook.'),
    event_type: z.string().describe('The type of its event.'),
    attempt_count: z.int().min(1).describe('How many attempts were made.'),
  }),
  example: {
    delivery_id: 'evt_01m7z10j5c4fq3r52bewgh.wh_01m7z10j4pcztef8hye093',
    event_id: 'evt_01m7z10j5c4fq3r52bewgh',
    webhook_id: 'wh_01m7z10j4pcztef8hye093',
    event_type: 'order.created',
    attempt_count: 10,
  },
});

const importCompleted = defineEventType({
  name: 'import.completed',
  description: 'An import has ended. `failed_rows` counts the rows that could not be imported.',
  data: z.strictObject({
    import_id: z.string().min(1).max(200).describe("The import's id."),
    source: z
      .string()
      .min(1)
      .max(200)
      .describe('The source of the import, such as `search_console` or `csv`.'),
    total_rows: wholeNumber({ min: 0 }).describe('How many rows were read.'),
    failed_rows: wholeNumber({ min: 0 }).describe('How many of these rows could not be imported.'),
  }),
  example: { import_id: 'imp_4k9x', source: 'csv', total_rows: 1200, failed_rows: 3 },
});

export const keywordQuickWin = defineEventType({
  name: 'keyword.quick_win',
  description: 'A keyword was found that could rank higher in the search results with little effort.',
  data: z.strictObject({
    keyword: z.string().min(1).max(1_000).describe('The search phrase.'),
    position: wholeNumber({ min: 1 }).describe('Its present position in the search results. 1 is the top.'),
    volume: wholeNumber({ min: 0 }).describe('How many searches a month there are.'),
  }),
  example: { keyword: 'buy red shoes', position: 11, volume: 2400 },
});

const webhookDisabled = defineEventType({
  name: 'webhook.disabled',
  isOperational: true,
  description: 'A webhook was disabled. Its deliveries are held until it is enabled.',
  data: z.strictObject({
    webhook_id: z.string().describe('The id of the webhook.'),
    url: z.string().describe('The URL of the webhook.'),
    reason: z.enum(disabledReasons).describe('Why it was disabled, as in its `disabled_reason`.'),
    disabled_at: z.iso.datetime().describe('When the webhook was disabled.'),
  }),
  example: {
    webhook_id: 'wh_01m7z10j4pcztef8hye093',
    url: 'https://receiver.example.com/hooks',
    reason: 'failing',
    disabled_at: '2026-11-21T12:24:02.454Z',
  },
});

const webhookFailing = defineEventType({
  name: 'webhook.failing',
  isOperational: true,
  description: 'The fourth attempt of a delivery failed. Its retries continue as scheduled.',
  data: z.strictObject({
    webhook_id: z.string().describe('The id of the webhook.'),
    url: z.string().describe('The URL of the webhook.'),
    event_id: z.string().describe('The id of the event that could not be delivered.'),
    delivery_id: z.string().describe('The id of the delivery that failed.'),
    event_type: z.string().describe('The type of its event.'),
    attempt_count: z.int().min(1).describe('How many attempts were made so far.'),
    last_outcome: z.enum(attemptOutcomes).describe('How the last attempt ended.'),
    last_response_status: z
      .int()
      .nullable()
      .describe('The HTTP status of the last response. Null: there was none.'),
  }),
  example: {
    webhook_id: 'wh_01m7z10j4pcztef8hye093',
    url: 'https://receiver.example.com/hooks',
    event_id: 'evt_01m7z10j5c4fq3r52bewgh',
    delivery_id: 'evt_01m7z10j5c4fq3r52bewgh.wh_01m7z10j4pcztef8hye093',
    event_type: 'order.created',
    attempt_count: 4,
    last_outcome: 'http_5xx',
    last_response_status: 503,
  },
});

const webhookRecovered = defineEventType({
  name: 'webhook.recovered',
  isOperational: true,
  description: 'A webhook that failed accepts deliveries again. It follows `webhook.failing`.',
  data: z.strictObject({
    webhook_id: z.string().describe('The id of the webhook.'),
    url: z.string().describe('The URL of the webhook.'),
    first_failed_at: z.iso.datetime().describe('When the first attempt after its last success failed.'),
    recovered_at: z.iso.datetime().describe('When the webhook accepted a delivery again.'),
  }),
  example: {
    webhook_id: 'wh_01m7z10j4pcztef8hye093',
    url: 'https://receiver.example.com/hooks',
    first_failed_at: '2026-11-21T12:24:02.454Z',
    recovered_at: '2026-11-21T15:02:43.120Z',
  },
});

const auditRecorded = defineEventType({
  name: 'audit.recorded',
  isOperational: true,
  description: 'An entry was added to the audit log of the account.',
  data: z.strictObject({
    id: z.string().describe('The id of the entry in the audit log.'),
    created_at: z.iso.datetime().describe('When the action was done.'),
    actor: auditActorSchema.describe('The actor of the action.'),
    action: z.string().describe('The action: a noun and a verb.'),
    target: auditTargetSchema.nullable().describe('The object of the action. Null: it has none.'),
    address: z.string().nullable().describe('The IP address of the client. Null: it is not known.'),
    request_id: z
      .string()
      .nullable()
      .describe('The id of the request, which no client can choose. Null: there was no request.'),
    client_request_id: z
      .string()
      .nullable()
      .describe('The `X-Request-Id` that the client sent. Null: it sent none.'),
    changes: z
      .array(fieldChangeSchema)
      .readonly()
      .describe('The fields that the action changed, with their values unless these are secret.'),
  }),
  example: {
    id: 'aud_01m8cze70423p1gcwqh466',
    created_at: '2026-11-21T16:13:00.859Z',
    actor: { type: 'api_key', id: '4f7kq2m9x1c8v5b3', name: 'backend' },
    action: 'webhook.update',
    target: { type: 'webhook', id: 'wh_01m7z10j4pcztef8hye093' },
    address: '203.0.113.7',
    request_id: 'req_01m8cze6z30mfvndd7a3sj',
    client_request_id: null,
    changes: [{ field: 'rate_limit', from: 10, to: 50 }],
  },
});

const webhookVerificationFailed = defineEventType({
  name: 'webhook.verification_failed',
  isOperational: true,
  description: 'A webhook could not be verified. The service does not try again by itself.',
  data: z.strictObject({
    webhook_id: z.string().describe('The id of the webhook.'),
    url: z.string().describe('The URL that could not be verified.'),
    method: z.enum(verificationMethods).describe('How the receiver must prove that it wants the requests.'),
    error: z.enum(verificationErrors).describe('Why the last try failed.'),
    failed_at: z.iso.datetime().describe('When the last try failed.'),
  }),
  example: {
    webhook_id: 'wh_01m7z10j4pcztef8hye093',
    url: 'https://receiver.example.com/hooks',
    method: 'challenge',
    error: 'challenge_mismatch',
    failed_at: '2026-11-21T12:35:02.454Z',
  },
});

const webhookVerified = defineEventType({
  name: 'webhook.verified',
  isOperational: true,
  description: 'A webhook was verified: its receiver has proved that it wants the requests.',
  data: z.strictObject({
    webhook_id: z.string().describe('The id of the webhook.'),
    url: z.string().describe('The URL of the webhook.'),
    method: z.enum(verificationMethods).describe('How the receiver must prove that it wants the requests.'),
    verified_at: z.iso.datetime().describe('When the webhook was verified.'),
  }),
  example: {
    webhook_id: 'wh_01m7z10j4pcztef8hye093',
    url: 'https://receiver.example.com/hooks',
    method: 'challenge',
    verified_at: '2026-11-21T12:24:02.454Z',
  },
});

/**
 * The types that clients and producers publish. To add a type, describe it here and name it
 * here.
 */
export const publishableTypes = [keywordQuickWin, briefCreated, importCompleted] as const;

/** The types that this service raises itself about an account's webhooks. Clients can't publish them. */
export const operationalTypes = [
  webhookDisabled,
  webhookFailing,
  webhookRecovered,
  webhookVerified,
  webhookVerificationFailed,
  deliveryExhausted,
  auditRecorded,
] as const;

/** Every built-in event type. */
export const catalogue = [...publishableTypes, ...operationalTypes] as const;

type Publishable = (typeof publishableTypes)[number];
export type KnownEventType = Publishable['name'];

/** The `data` that a producer passes for a type. */
export type EventData<Name extends KnownEventType> = z.input<Extract<Publishable, { name: Name }>['data']>;

const operationalNames: ReadonlySet<string> = new Set(operationalTypes.map(({ name }) => name));

export function isOperational(type: string): boolean {
  return operationalNames.has(type);
}
