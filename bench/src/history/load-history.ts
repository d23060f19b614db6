import type { AccountId } from '@hookferry/core/domain/account';
import type { Attempt } from '@hookferry/core/domain/attempt';
import type { EndpointId } from '@hookferry/core/domain/endpoint';
import type { AcceptedEvent, EventId } from '@hookferry/core/domain/event';
import { DeliveryStore } from '@hookferry/core/events/redis-delivery-store';
import type { EndedList } from '@hookferry/core/events/redis-ended-list';
import { EventStore } from '@hookferry/core/events/redis-event-store';
import { createNewId } from '@hookferry/core/platform/ids';
import { atomicAsOne } from '@hookferry/core/platform/redis-atomic';
import type { RedisClient } from '@hookferry/core/platform/redis-connect';
import { buildAcceptedAttempt, buildAttempt } from '@hookferry/core/testing/build-attempt';
import { buildEvent } from '@hookferry/core/testing/build-event';
import { buildNewDeliveries } from '@hookferry/core/testing/build-new-deliveries';

export interface LoadOptions {
  readonly redis: RedisClient;
  readonly accountId: AccountId;
  readonly deliveries: number;
  /** Those that get them in turn. */
  readonly endpointIds: readonly EndpointId[];
  /** The type and body of each event. */
  readonly contentOf?: (i: number) => Pick<AcceptedEvent, 'type' | 'body'>;
  /** One delivery in so many never arrives, after three attempts that were answered with an error page; 0: none. */
  readonly failingShare: number;
  /** The time over which they are spread. Milliseconds since the Unix epoch. */
  readonly since: number;
  readonly until: number;
  /** What else is to be done about each event, before it is over. */
  readonly onPut?: (event: AcceptedEvent) => Promise<void>;
  /** Told of all of them when they are on record: what has ended moves to the history. */
  readonly endedList?: EndedList;
}

const DAY_MS = 86_400_000;
// The services' own, so that those of another day are still kept.
const RETENTION_MS = 14 * DAY_MS;
const MOST_KEPT = 2_000_000;
// So few that what is under way is soon gone from memory, and more than one, so that neither side waits for the other.
const TOGETHER = 100;
const LOADERS = 4;
const TOLD_EVERY = 50_000;
const ERROR_PAGE = '<h1>Internal Server Error</h1>'.repeat(10);

/** Puts as many deliveries on record, by the service's own stores: an event each. */
export async function loadHistory(options: LoadOptions): Promise<void> {
  const { redis, accountId, deliveries, endpointIds, contentOf, endedList, failingShare, since, until } =
    options;
  const retention = { ageMs: RETENTION_MS, count: Math.max(deliveries, MOST_KEPT) };
  const events = new EventStore(redis, retention);
  const log = new DeliveryStore(redis, retention);
  const atomic = atomicAsOne(redis);
  let now = since;
  const newId = createNewId(() => now);

  async function put(i: number): Promise<void> {
    now = since + Math.floor((i / deliveries) * (until - since));
    const id = newId('evt') as EventId;
    const endpointId = endpointIds[i % endpointIds.length];
    if (endpointId === undefined) return;
    const acceptedAt = now;
    const parts = { eventId: id, endpointId };
    const event = buildEvent({ id, accountId, acceptedAt, ...contentOf?.(i) });
    const isFailing = failingShare > 0 && i % failingShare === 0;
    const [first, ...rest] = attemptsOf(isFailing, acceptedAt, event.type);
    // As one command for all that are put together.
    await atomic([
      events.save(event, [endpointId]),
      log.enlistAll(buildNewDeliveries(id, [endpointId], acceptedAt)),
      events.enlistAll([{ event, deliveries: 1 }]),
    ]);
    if (first) await log.append(parts, first);
    for (const fact of rest) await log.append(parts, fact);
    await options.onPut?.(event);
    if (endedList) await atomic([endedList.addAll([{ accountId, ...parts }], acceptedAt)]);
  }

  let next = 0;
  let done = 0;
  async function putRest(): Promise<void> {
    while (next < deliveries) {
      const first = next;
      const count = Math.min(TOGETHER, deliveries - first);
      next += count;
      await Promise.all(Array.from({ length: count }, (_, i) => put(first + i)));
      done += count;
      if (done % TOLD_EVERY === 0) process.stderr.write(`  ${done} of ${deliveries} on record\n`);
    }
  }
  await Promise.all(Array.from({ length: LOADERS }, putRest));
}

function attemptsOf(isFailing: boolean, startedAt: number, eventType: string) {
  const common: Partial<Attempt> = { startedAt, timings: { firstByteMs: 38 }, worker: 'f00d42' };
  if (!isFailing) return [{ ...attempted(buildAcceptedAttempt(common)), eventType }];
  const attempts = [1, 2, 3].map((number) => buildAttempt({ ...common, number, responseBody: ERROR_PAGE }));
  const facts = attempts.map((attempt) =>
    attempted(attempt, attempt.number < 3 ? startedAt + 1_000 : undefined),
  );
  return facts.map((fact) => (fact.attempt.number === 1 ? { ...fact, eventType } : fact));
}

function attempted(attempt: Attempt, nextAttemptAt?: number) {
  return { kind: 'attempted', attempt, nextAttemptAt } as const;
}
