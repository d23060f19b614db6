import { OPEN_REMEMBERED_FOR_MS } from '../accounts/open-accounts';
import type { AccountStore } from '../accounts/redis-account-store';
import { type Account, type AccountId, accountNotFound, DEFAULT_ACCOUNT } from '../domain/account';
import type { Act } from '../domain/audit';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { LAPSES_AFTER_MS } from '../domain/moved-event';
import type { Emit } from '../domain/signal';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { EndedList } from '../events/redis-ended-list';
import type { MovedIds } from '../events/redis-moved-ids';
import type { PgDatabase } from '../history/database/pg-database';
import { eraseAccount } from '../history/database/pg-erase';
import { WRITTEN_WITHIN_MS } from '../history/database/pg-writing-lock';
import { AppError } from '../platform/app-error';
import { chunksOf } from '../platform/batches';
import type { Clock } from '../platform/clock';
import type { AccountJobs, JobsCursor } from '../queue/bullmq-account-jobs';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import type { ErasureQueue } from '../queue/bullmq-work-queues';
import type { ConfigurationCopy } from './redis-configuration-copy';
import type { EventEntry, Remains, RemainsStore, SearchCursor } from './redis-remains-store';

export interface AccountErasureParts {
  readonly accountStore: AccountStore;
  readonly endpointStore: EndpointStore;
  readonly remainsStore: RemainsStore;
  readonly erasureQueue: ErasureQueue;
  readonly deliveryQueue: DeliveryQueue;
  readonly accountJobs: AccountJobs;
  /** Absent: nothing has a copy outside of Redis. */
  readonly configurationCopy?: ConfigurationCopy | undefined;
  /** Absent, as the two below: there is no history. */
  readonly historyDatabase?: PgDatabase | undefined;
  readonly movedIds?: MovedIds | undefined;
  readonly endedList?: EndedList | undefined;
  /** How long events are kept, and with them any data that the search may have missed. */
  readonly retention: { readonly ageMs: number };
  readonly clock: Clock;
  readonly emit: Emit;
}

// In small groups, so that no command is long.
const KEYS_AT_ONCE = 100;

/**
 * The positions of the searches for data that no list leads to: first through the queues, then through all
 * keys.
 */
export interface ErasureCursor extends JobsCursor {
  readonly search?: SearchCursor | undefined;
}

/** What happens to the erasure's job next. */
export type ErasureStepResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'again'; readonly delayMs: number; readonly cursor?: ErasureCursor };

const DONE = { kind: 'done' } as const;
const AT_ONCE = { kind: 'again', delayMs: 0 } as const;

// One page for one step. Few events at the same time, and few deliveries of each: their commands share the
// connections that deliver for others.
const PAGE = 500;
const EVENTS_AT_ONCE = 25;
const DELIVERIES_AT_ONCE = 20;
// An attempt takes seconds. The erasure can only wait for it.
const BUSY_DELAY_MS = 500;

/**
 * By then, work that began before the account was marked has written its data: requests and fan-outs, a
 * worker's caches, and health, which is written a second late. Attempts are waited for one by one. A slow
 * request takes back what it makes later.
 */
const BEGUN_WORK_MS = 10_000;
// Another machine's clock marked the account.
const CLOCK_SKEW_MS = 5_000;
/**
 * A mover that has read some of it begins to write within this time, or never: it has looked whether the account is erased a
 * moment after its batch began, or a second before that. What has begun to be written is waited for in the history itself.
 */
const MOVED_WITHIN_MS = WRITTEN_WITHIN_MS + OPEN_REMEMBERED_FOR_MS;
const QUIET_AFTER_MS = Math.max(BEGUN_WORK_MS, MOVED_WITHIN_MS) + CLOCK_SKEW_MS;
/** By then, what had moved to the history has lapsed in Redis. */
const LAPSED_AFTER_MS = QUIET_AFTER_MS + LAPSES_AFTER_MS;

/** Rows of the history. */
const ROWS_AT_ONCE = 5_000;

/** Erases accounts with all that they own. */
export class AccountErasure {
  constructor(private readonly parts: AccountErasureParts) {}

  /**
   * Begin to erase an account with all that it owns. Once the promise has resolved, its API keys and portal
   * sessions are invalid and its endpoints get nothing any more. A worker removes the rest step by step.
   * Calling it again resumes where it broke off.
   *
   * @throws AppError `not_found`; `conflict` for the operator's own account.
   */
  async begin(id: AccountId, act?: Act): Promise<Account> {
    const { accountStore, endpointStore, remainsStore, erasureQueue, configurationCopy, clock, emit } =
      this.parts;
    if (id === DEFAULT_ACCOUNT) {
      throw new AppError(
        'conflict',
        `The account "${DEFAULT_ACCOUNT}" is the operator's and can't be erased. Delete its webhooks and API keys one by one instead.`,
      );
    }
    const account = await accountStore.markErasing(id, clock(), act);
    if (!account) throw accountNotFound(id);
    // Queue it before the rest, which the worker repeats: no crash in between leaves the account without an
    // erasure.
    await erasureQueue.add(id);
    await configurationCopy?.eraseAccount(id);
    await endpointStore.removeAll(id);
    await remainsStore.removeSigningKeys(id);
    while ((await remainsStore.removeApiKeys(id, KEYS_AT_ONCE)) > 0);
    while ((await remainsStore.removePortalSessions(id, KEYS_AT_ONCE)) > 0);
    emit({ name: 'account.erasing', accountId: id });
    return account;
  }

  /** Read how much is left of an account that is being erased; `undefined` for any other. */
  async remains({ id, erasingSince }: Account): Promise<Remains | undefined> {
    return erasingSince === undefined ? undefined : await this.parts.remainsStore.count(id);
  }

  /**
   * Remove the next part of an account that is being erased. Each step is short. A step that broke off is
   * repeated.
   *
   * @throws AppError `history_unavailable` while the history, which may have some of it, is away.
   */
  async step(accountId: AccountId, cursor: ErasureCursor = { queue: 0 }): Promise<ErasureStepResult> {
    const { accountStore, endpointStore, remainsStore, accountJobs, clock } = this.parts;
    const account = await accountStore.find(accountId);
    if (account?.erasingSince === undefined) return DONE;
    // Requests may have created some when the account was marked.
    await endpointStore.removeAll(accountId);
    if ((await remainsStore.removeApiKeys(accountId, PAGE)) > 0) return AT_ONCE;
    if ((await remainsStore.removePortalSessions(accountId, PAGE)) > 0) return AT_ONCE;
    await remainsStore.removeAuditLog(accountId);
    const events = await removeSomeEvents(this.parts, accountId);
    if (events) return events;
    const untilQuietMs = account.erasingSince + QUIET_AFTER_MS - clock();
    if (untilQuietMs > 0) return { kind: 'again', delayMs: untilQuietMs };
    const endpoint = await removeSomeOfEndpoint(this.parts, accountId);
    if (endpoint) return endpoint;
    const next = cursor.search ? undefined : await accountJobs.removeSome(accountId, cursor);
    if (next) return { ...AT_ONCE, cursor: next };
    const stray = await removeStrays(this.parts, accountId, cursor);
    if (stray) return stray;
    if (await removeSomeMoved(this.parts, accountId)) return { ...AT_ONCE, cursor };
    const untilLapsedMs = this.parts.historyDatabase ? account.erasingSince + LAPSED_AFTER_MS - clock() : 0;
    if (untilLapsedMs > 0) return { kind: 'again', delayMs: untilLapsedMs, cursor };
    return await this.#finish(account, account.erasingSince);
  }

  async #finish(account: Account, erasingSince: number): Promise<ErasureStepResult> {
    const { accountStore, remainsStore, retention, clock, emit } = this.parts;
    const now = clock();
    await remainsStore.removeRest(account.id, now);
    // Again: a request that was slow may have made something since.
    await this.parts.configurationCopy?.eraseAccount(account.id);
    await accountStore.remove(account, now, now + retention.ageMs);
    emit({ name: 'account.erased', accountId: account.id, durationMs: now - erasingSince });
    return DONE;
  }
}

async function removeSomeEvents(
  parts: AccountErasureParts,
  accountId: AccountId,
): Promise<ErasureStepResult | undefined> {
  const { remainsStore } = parts;
  // Waiting jobs first, so that none of them becomes due meanwhile.
  const scheduled = await remainsStore.scheduledEventsOf(accountId, PAGE);
  if (scheduled.length > 0) {
    const { gone } = await removeEvents(parts, accountId, scheduled);
    await remainsStore.forgetScheduledEvents(accountId, gone);
    return again(gone.length === 0);
  }
  const entries = await remainsStore.eventsOf(accountId, PAGE);
  if (entries.length === 0) return undefined;
  const { gone, isBusy } = await removeEvents(parts, accountId, entries);
  if (gone.length > 0) await remainsStore.forgetEvents(accountId, gone);
  return again(isBusy);
}

async function removeSomeOfEndpoint(
  parts: AccountErasureParts,
  accountId: AccountId,
): Promise<ErasureStepResult | undefined> {
  const { remainsStore } = parts;
  const endpointId = await remainsStore.anyEndpoint(accountId);
  if (endpointId === undefined) return undefined;
  const entries = await remainsStore.eventsOfEndpoint(endpointId, PAGE);
  if (entries.length > 0) {
    const { gone, isBusy } = await removeEvents(parts, accountId, entries, endpointId);
    if (gone.length > 0) await remainsStore.forgetEventsOfEndpoint(endpointId, gone);
    return again(isBusy);
  }
  if ((await remainsStore.removeReplays(endpointId, PAGE)) > 0) return AT_ONCE;
  await remainsStore.removeEndpoint(accountId, endpointId);
  return AT_ONCE;
}

async function removeStrays(
  parts: AccountErasureParts,
  accountId: AccountId,
  cursor: ErasureCursor,
): Promise<ErasureStepResult | undefined> {
  const { remainsStore } = parts;
  const { entries, responses, next } = await remainsStore.findStrays(accountId, cursor.search);
  await remainsStore.removeResponses(accountId, responses);
  const { gone, isBusy } = await removeEvents(parts, accountId, entries);
  if (gone.length < entries.length) return { ...again(isBusy), cursor };
  return next && { ...AT_ONCE, cursor: { ...cursor, search: next } };
}

// What movers had read before the account was marked is written, is being written, or never will be.
async function removeSomeMoved(
  { historyDatabase, movedIds }: AccountErasureParts,
  accountId: AccountId,
): Promise<boolean> {
  await movedIds?.removeAll(accountId);
  return historyDatabase !== undefined && (await eraseAccount(historyDatabase, accountId, ROWS_AT_ONCE)) > 0;
}

function again(isBusy: boolean) {
  return { kind: 'again', delayMs: isBusy ? BUSY_DELAY_MS : 0 } as const;
}

/** Give the events of which nothing is left, and whether only attempts under way keep the others. */
async function removeEvents(
  parts: AccountErasureParts,
  accountId: AccountId,
  entries: readonly EventEntry[],
  receiver?: EndpointId,
) {
  const outcomes: ('gone' | 'busy' | 'more')[] = [];
  for (const some of chunksOf(entries, EVENTS_AT_ONCE)) {
    outcomes.push(
      ...(await Promise.all(some.map(({ eventId }) => removeEvent(parts, accountId, eventId, receiver)))),
    );
  }
  const gone = entries.filter((_, i) => outcomes[i] === 'gone');
  return { gone, isBusy: gone.length === 0 && outcomes.every((outcome) => outcome === 'busy') };
}

// Remove the payload first: without it and its endpoint, a delivery that begins now ends without a trace. One
// that has begun will still record its attempt.
async function removeEvent(
  { remainsStore, deliveryQueue, endedList }: AccountErasureParts,
  accountId: AccountId,
  eventId: EventId,
  receiver?: EndpointId,
): Promise<'gone' | 'busy' | 'more'> {
  await remainsStore.removePayload(accountId, eventId);
  const receivers = await remainsStore.receiversOf(accountId, eventId, DELIVERIES_AT_ONCE);
  const endpointIds = [...new Set(receiver === undefined ? receivers : [...receivers, receiver])];
  const busy = await deliveryQueue.removeIdle(endpointIds.map((endpointId) => ({ endpointId, eventId })));
  const isBusy = new Set(busy.map(({ endpointId }) => endpointId));
  const idle = endpointIds.filter((id) => !isBusy.has(id));
  await remainsStore.removeDeliveries(accountId, eventId, idle);
  const event = { accountId, eventId };
  await endedList?.forget([event, ...idle.map((endpointId) => ({ ...event, endpointId }))]);
  if (isBusy.size > 0) return 'busy';
  return receivers.length < DELIVERIES_AT_ONCE ? 'gone' : 'more';
}
