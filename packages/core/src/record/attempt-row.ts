import { z } from 'zod';
import { formatTime } from '../kernel/clock';
import type { Attempt } from '../model/attempt';
import { deliveryIdOf } from '../model/delivery';
import { readLog } from '../model/delivery-log';
import { endpointIdSchema } from '../model/endpoint';
import { accountIdSchema, eventIdSchema } from '../model/event';

/** A row of the archive, by its columns. */
export type AttemptRow = Readonly<Record<string, unknown>> & { readonly started_at: string };

// Beyond it a time is written with more digits, which stand for something else in PostgreSQL.
const LATEST = Date.UTC(9999, 11, 31);
const timeSchema = z.coerce.number().int().min(0).max(LATEST).transform(formatTime);

const recordSchema = z.object({
  account: accountIdSchema,
  event: eventIdSchema,
  endpoint: endpointIdSchema,
  type: z.string(),
  accepted: timeSchema,
  status: z.string(),
  attempt: z.string(),
});

/** What an entry of the stream is in the archive. @throws Error when it is no record of an attempt. */
export function readAttemptRow(fields: readonly string[]): AttemptRow {
  const record = recordSchema.parse(toObject(fields));
  const { attempts, nextAttemptAt } = readLog(record.attempt);
  const [attempt] = attempts;
  if (!attempt) throw new Error('It holds no attempt.');
  return {
    account_id: record.account,
    delivery_id: deliveryIdOf({ eventId: record.event, endpointId: record.endpoint }),
    event_id: record.event,
    webhook_id: record.endpoint,
    type: storable(record.type),
    accepted_at: record.accepted,
    status: record.status,
    next_attempt_at: nextAttemptAt === undefined ? null : timeSchema.parse(nextAttemptAt),
    ...columnsOf(attempt),
  };
}

function columnsOf({ timings = {}, responseHeaders, ...attempt }: Attempt) {
  return {
    number: attempt.number,
    trigger: attempt.trigger ?? 'schedule',
    worker: attempt.worker ?? null,
    started_at: timeSchema.parse(attempt.startedAt),
    duration_ms: attempt.durationMs,
    dns_ms: timings.dnsMs ?? null,
    connect_ms: timings.connectMs ?? null,
    tls_ms: timings.tlsMs ?? null,
    first_byte_ms: timings.firstByteMs ?? null,
    outcome: attempt.outcome,
    added_headers: attempt.addedHeaders?.map(storable) ?? null,
    response_status: attempt.responseStatus ?? null,
    response_headers: responseHeaders === undefined ? null : storableValues(responseHeaders),
    response_body: attempt.responseBody === undefined ? null : storable(attempt.responseBody),
    error: attempt.error === undefined ? null : storable(attempt.error),
  };
}

// PostgreSQL takes neither NUL nor half a surrogate pair, which a receiver's answer may well hold.
const UNSTORABLE = /\p{Surrogate}|\0/gu;
const REPLACEMENT = '\uFFFD';

function storable(text: string): string {
  return text.replace(UNSTORABLE, REPLACEMENT);
}

function storableValues(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, storable(text)]));
}

function toObject(fields: readonly string[]): Record<string, string | undefined> {
  const object: Record<string, string | undefined> = {};
  for (let i = 0; i < fields.length; i += 2) object[String(fields[i])] = fields[i + 1];
  return object;
}
