import type { AccountId } from '../account';
import type { EndpointId } from '../endpoint';
import type { EventId } from '../event';
import type { Span } from '../trace';
import { signal } from './define';
import { accountId, endpointId, error, eventId, type } from './sample-facts';

/** The ways that an event can come in by. */
export const eventSources = ['http', 'queue'] as const;

export const intakeResults = ['committed', 'failed'] as const;

export const intakeGivenUp = ['too_old', 'no_webhook'] as const;
export type IntakeGivenUp = (typeof intakeGivenUp)[number];

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
  /** With `INTAKE=durable`: PostgreSQL was asked to keep events before they are accepted. */
  'intake.committed': signal<{ result: (typeof intakeResults)[number]; events: number; durationMs: number }>({
    level: 'debug',
    means:
      'PostgreSQL kept events before they were accepted, or with `result` `failed` did not: their requests got 503.',
    sample: { result: 'committed', events: 3, durationMs: 2 },
  }),
  /** Redis did not answer after PostgreSQL had kept the events. */
  'intake.left': signal<{ accountId: AccountId; count: number; error: unknown }>({
    level: 'warn',
    means:
      'Redis did not respond when it was to store accepted events. PostgreSQL has them, and a worker sends them.',
    sample: { accountId, count: 1, error },
  }),
  'intake.sent_again': signal<{ count: number }>({
    level: 'warn',
    means: 'Redis had lost accepted events. A worker took them from PostgreSQL, and sends them.',
    act: 'Find out what Redis lost: see [what Redis may lose](reliability.md#what-redis-may-lose).',
    sample: { count: 17 },
  }),
  'intake.given_up': signal<{ accountId: AccountId; eventId: EventId; reason: IntakeGivenUp }>({
    level: 'error',
    means:
      'Redis had lost an accepted event, and it is not sent again: it is older than half of `RETENTION` (`too_old`), or Redis no longer has some of its webhooks, or none for a day (`no_webhook`).',
    act: 'If it is still wanted, publish it again under another id.',
    sample: { accountId, eventId, reason: 'no_webhook' },
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
