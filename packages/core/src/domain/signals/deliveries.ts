import type { AccountId } from '../account';
import type { RefusalReason } from '../address-ranges';
import {
  type AttemptOutcome,
  type AttemptTimings,
  type TransformResultKind,
  transportFailures,
} from '../attempt';
import type { DeliveryId, HoldReason, RequestTrigger, SlowReason } from '../delivery';
import type { EndStatus } from '../delivery-log';
import type { EndpointId } from '../endpoint';
import type { EventId } from '../event';
import type { TokenErrorCode } from '../receiver-auth';
import type { ReplayEndStatus, ReplayId, ReplayMode } from '../replay';
import type { AttemptSpan } from '../trace';
import { signal } from './define';
import { accountId, deliveryId, endpointId, error, eventId, replayId, type } from './sample-facts';

/** The result of a token request. */
export const tokenResults = [
  'granted',
  'refused',
  'unreadable',
  'expired',
  'unsent',
  ...transportFailures,
] as const;
export type TokenResult = (typeof tokenResults)[number];

/** What code can bring down: the instance of WebAssembly that it runs in, or the thread around that. */
export const brokenParts = ['instance', 'thread'] as const;
export type BrokenPart = (typeof brokenParts)[number];

/** Of deliveries, and of their code, tokens, breakers and replays. */
export const deliverySignals = {
  'delivery.attempted': signal<
    {
      deliveryId: DeliveryId;
      accountId: AccountId;
      eventId: EventId;
      endpointId: EndpointId;
      type: string;
      attempt: number;
      outcome: AttemptOutcome;
      responseStatus?: number;
      durationMs: number;
      /**
       * From the acceptance of the event to the start of its first attempt. Absent for later attempts, and if
       * the delivery was held.
       */
      firstLagMs?: number;
      nextDelayMs?: number;
      /** Of the request that published the event. */
      requestId?: string;
      span?: AttemptSpan;
    } & AttemptTimings
  >({
    level: { usual: 'debug', other: 'warn', isOther: ({ outcome }) => outcome !== 'delivered' },
    means:
      'A worker made an attempt. `warn` if it failed; `outcome` says how. With `next_delay_ms` there is a retry. `request_id` is that of the publish.',
    sample: {
      deliveryId,
      accountId,
      eventId,
      endpointId,
      type,
      attempt: 1,
      outcome: 'delivered',
      responseStatus: 204,
      durationMs: 30,
      firstLagMs: 40,
      connectMs: 4,
      firstByteMs: 25,
    },
  }),
  /** The code of its endpoint was run for a delivery, before it is sent. */
  'delivery.transformed': signal<{
    accountId: AccountId;
    eventId: EventId;
    endpointId: EndpointId;
    result: TransformResultKind;
    /** Of processor time. */
    tookMs: number;
  }>({
    level: 'debug',
    means: "The webhook's code ran for a delivery.",
    sample: { accountId, eventId, endpointId, result: 'made', tookMs: 2.5 },
  }),
  /** All that code has cost its account: runs and tries, and threads that had to be started because of it. */
  'transformation.charged': signal<{
    accountId: AccountId;
    /** Of processor time. */
    tookMs: number;
  }>({
    level: 'debug',
    means:
      "The processor time that an account's code has cost, with threads that were started because of it.",
    sample: { accountId, tookMs: 2.5 },
  }),
  /** Code could not be stopped in time, or brought down its sandbox. There is a new one. */
  'transformation.broke_sandbox': signal<{
    accountId: AccountId;
    part: BrokenPart;
    /** Of processor time: the run. */
    tookMs: number;
    /** For how long this process runs no code of the account. 0: it goes on. */
    pausedForMs: number;
  }>({
    // Pauses bound how often a thread is lost. An instance may be lost at each run.
    level: { usual: 'debug', other: 'warn', isOther: ({ part }) => part === 'thread' },
    means:
      "An account's code brought down the instance of WebAssembly that it ran in, or (`part`: `thread`, then `warn`) could not be stopped in time. With `paused_for_ms` this process runs no code of the account for so long.",
    act: 'Ask the account to correct its code: see [Bounds](transformations.md#bounds).',
    sample: { accountId, part: 'thread', tookMs: 110, pausedForMs: 30_000 },
  }),
  /** The proxy for deliveries was out of order. The delivery is sent later, and this was no attempt. */
  'delivery.unsent': signal<{
    endpointId: EndpointId;
    eventId: EventId;
    error: string;
    /** For how long the account's transformations are paused. Absent: they are not the reason. */
    pausedForMs?: number;
    traceId?: string;
  }>({
    level: { usual: 'warn', other: 'debug', isOther: ({ pausedForMs }) => pausedForMs !== undefined },
    means:
      'A request could not be sent, because the proxy for deliveries does not work. The delivery waits. This is no attempt. With `paused_for_ms` (`debug`), the transformations of its account are paused.',
    act: 'Repair the proxy (`DELIVERY_PROXY_URL`).',
    sample: { eventId, endpointId, error: 'The proxy responded with 407 instead of opening a tunnel.' },
  }),
  /** A delivery would have gone to a forbidden address. For operators: clients don't see it. */
  'delivery.blocked': signal<{
    /** As the URL says it: a name, or the address itself. */
    host: string;
    address: string;
    reason: RefusalReason;
  }>({
    level: 'warn',
    means: "A webhook's host has an address that deliveries may not go to. The attempt failed.",
    act: 'If the address is yours, add its range to `DELIVERY_ALLOWED_CIDRS`.',
    sample: { host: 'db.example.com', address: '10.0.0.1', reason: 'private' },
  }),
  /** An authorization server was asked for the access token of an endpoint. */
  'token.requested': signal<{
    accountId: AccountId;
    endpointId: EndpointId;
    result: TokenResult;
    responseStatus?: number;
    error?: TokenErrorCode;
    durationMs: number;
  }>({
    level: { usual: 'debug', other: 'warn', isOther: ({ result }) => result !== 'granted' },
    means:
      'A worker asked an authorization server for the access token of a webhook. `warn` if it got none; `result` says why.',
    act: 'If many webhooks use this server, check whether it works: see [When there is no token](receiver-auth.md#when-there-is-no-token).',
    sample: {
      accountId,
      endpointId,
      result: 'refused',
      responseStatus: 401,
      error: 'invalid_client',
      durationMs: 31,
    },
  }),
  'delivery.ended': signal<{
    deliveryId: DeliveryId;
    /** Absent: the job did not say. */
    accountId?: AccountId;
    eventId: EventId;
    endpointId: EndpointId;
    status: EndStatus;
    /** From the acceptance of the event, or from the last request, until now. */
    lagMs: number;
    /** Of the request that published the event. */
    requestId?: string;
    traceId?: string;
  }>({
    level: { usual: 'debug', other: 'warn', isOther: ({ status }) => status !== 'delivered' },
    means:
      'A delivery ended; `status` says how. `warn` unless it was delivered. `request_id` is that of the publish.',
    sample: { deliveryId, accountId, eventId, endpointId, status: 'delivered', lagMs: 70 },
  }),
  /** The delivery is sent apart from its schedule: once more, or for the first time. */
  'delivery.requested': signal<{
    deliveryId: DeliveryId;
    accountId: AccountId;
    endpointId: EndpointId;
    eventId: EventId;
    trigger: RequestTrigger;
  }>({
    level: 'debug',
    means:
      'A delivery is sent outside its schedule: by hand, by a replay or as a test; `trigger` says which.',
    sample: { deliveryId, accountId, eventId, endpointId, trigger: 'manual' },
  }),
  /** Some more of it was counted or sent. */
  'replay.progressed': signal<{ replayId: ReplayId; accountId: AccountId; endpointId: EndpointId }>({
    level: 'debug',
    means: 'A replay counted or sent some more deliveries.',
    sample: { replayId, accountId, endpointId },
  }),
  'replay.ended': signal<{
    replayId: ReplayId;
    accountId: AccountId;
    endpointId: EndpointId;
    mode: ReplayMode;
    status: ReplayEndStatus;
    found: number;
    enqueued: number;
  }>({
    level: 'info',
    means: 'A replay ended; `status` says how, `enqueued` how many deliveries it sent.',
    sample: { replayId, accountId, endpointId, mode: 'failed', status: 'done', found: 3, enqueued: 3 },
  }),
  /** An attempt, or a step after it, could not be written. It is tried again. */
  'delivery.follow_up_failed': signal<{ deliveryId: DeliveryId; error: unknown }>({
    level: 'warn',
    means: 'Redis did not store the result of an attempt. The worker tries to store it again.',
    act: 'If it repeats, check the memory and the disk of Redis: see [WebhooksRedisUnreachable](runbook.md#webhooksredisunreachable).',
    sample: { deliveryId, error },
  }),
  'delivery.held': signal<{
    accountId: AccountId;
    endpointId: EndpointId;
    eventId: EventId;
    reason: HoldReason;
    traceId?: string;
  }>({
    level: 'debug',
    means: 'A delivery is held, without using an attempt; `reason` says why.',
    sample: { accountId, eventId, endpointId, reason: 'disabled' },
  }),
  /** Its receiver found a request with several events too large: they go in two. */
  'delivery.batch_halved': signal<{ accountId: AccountId; endpointId: EndpointId; events: number }>({
    level: 'info',
    means:
      'A receiver responded with 413 to a request with several events. The events are sent in two requests. For ten minutes, requests to this webhook are smaller.',
    sample: { accountId, endpointId, events: 100 },
  }),
  /** An attempt now counts as slow. */
  'delivery.moved': signal<{ endpointId: EndpointId; eventId: EventId; reason: SlowReason }>({
    level: 'debug',
    means:
      'An attempt takes long. It now uses one of the slots for slow attempts, so that others need not wait for it.',
    sample: { eventId, endpointId, reason: 'slow' },
  }),
  'breaker.opened': signal<{
    accountId: AccountId;
    endpointId: EndpointId;
    /** In a row. */
    failures: number;
    openForMs: number;
  }>({
    level: 'warn',
    means:
      'A webhook failed several times in a row. Its deliveries are held for `open_for_ms`, then one is tried.',
    sample: { accountId, endpointId, failures: 5, openForMs: 1_000 },
  }),
  'breaker.closed': signal<{ accountId: AccountId; endpointId: EndpointId }>({
    level: 'info',
    means: 'A webhook accepts deliveries again. Its held deliveries are sent.',
    sample: { accountId, endpointId },
  }),
} as const;
