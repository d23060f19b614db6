import type { AccountId } from '../account';
import type { EndpointId } from '../endpoint';
import type { EventId } from '../event';
import type { Span } from '../trace';
import { signal } from './define';
import { accountId, endpointId, eventId, type } from './sample-facts';

/** The ways that an event can come in by. */
export const eventSources = ['http', 'queue'] as const;

/** Of events and their accounts. */
export const eventSignals = {
  'event.accepted': signal<{
    source: (typeof eventSources)[number];
    accountId: AccountId;
    eventId: EventId;
    type: string;
    bytes: number;
    requestId?: string;
    traceId?: string;
  }>({
    level: 'debug',
    means: 'The API or a worker accepted an event.',
    sample: { source: 'http', accountId, eventId, type, bytes: 90 },
  }),
  /** It has many receivers: a worker fans it out. */
  'event.queued': signal<{
    accountId: AccountId;
    eventId: EventId;
    type: string;
    durationMs: number;
    span?: Span;
  }>({
    level: 'debug',
    means: 'The event has many receivers. A worker creates its deliveries.',
    sample: { accountId, eventId, type, durationMs: 3 },
  }),
  /** It is sent later. Times are milliseconds since the Unix epoch. */
  'event.scheduled': signal<{ accountId: AccountId; eventId: EventId; type: string; deliverAt: number }>({
    level: 'debug',
    means: 'A scheduled event was accepted. It is sent at `deliver_at`.',
    sample: { accountId, eventId, type, deliverAt: 1_900_000_000_000 },
  }),
  'event.rescheduled': signal<{ accountId: AccountId; eventId: EventId; deliverAt: number }>({
    level: 'info',
    means: 'A scheduled event was moved to another time.',
    sample: { accountId, eventId, deliverAt: 1_900_000_000_000 },
  }),
  /** Before it was due. */
  'event.cancelled': signal<{ accountId: AccountId; eventId: EventId }>({
    level: 'info',
    means: 'A scheduled event was cancelled. It is not sent.',
    sample: { accountId, eventId },
  }),
  /** Its account is being erased, or was. */
  'event.dropped': signal<{ jobId: string; accountId: AccountId }>({
    level: 'warn',
    means:
      'An event from the queue `events` was discarded, because its account was erased or is being erased.',
    act: 'Stop the producer that still publishes for this account.',
    sample: { jobId: '17', accountId },
  }),
  'account.erasing': signal<{ accountId: AccountId }>({
    level: 'info',
    means: 'The erasure of an account began.',
    sample: { accountId },
  }),
  'account.erased': signal<{ accountId: AccountId; durationMs: number }>({
    level: 'info',
    means: 'All data of an account are erased.',
    sample: { accountId, durationMs: 12_000 },
  }),
  'event.payload_erased': signal<{ accountId: AccountId; eventId: EventId }>({
    level: 'info',
    means: 'The payload of an event is erased.',
    sample: { accountId, eventId },
  }),
  'event.rejected': signal<{ jobId: string; code: string; reason: string }>({
    level: 'warn',
    means:
      'A job on the queue `events` is not a valid event; `reason` says why. It is kept as a dead letter, and is not delivered.',
    act: 'Correct the producer: see [WebhooksDeadLetters](runbook.md#webhooksdeadletters).',
    sample: { jobId: '17', code: 'invalid_request', reason: 'no type' },
  }),
  /** An account gets an event about one of its own endpoints. */
  'operational_event.raised': signal<{ accountId: AccountId; eventId: EventId; type: string }>({
    level: 'info',
    means: "An event about one of an account's own webhooks was published to that account.",
    sample: { accountId, eventId, type: 'webhook.failing' },
  }),
  'event.fanned_out': signal<{
    accountId: AccountId;
    eventId: EventId;
    type: string;
    deliveries: number;
    /** The endpoints that it goes to: for listeners in this process, never stored. */
    receivers: readonly { id: EndpointId }[];
    acceptedAt: number;
    durationMs: number;
    span?: Span;
  }>({
    level: 'debug',
    means: 'The deliveries of an event were created; `deliveries` is their number.',
    sample: {
      accountId,
      eventId,
      type,
      deliveries: 1,
      receivers: [{ id: endpointId }],
      acceptedAt: 1_795_262_401_000,
      durationMs: 4,
    },
  }),
} as const;
