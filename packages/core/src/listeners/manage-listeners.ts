import { setTimeout as wait } from 'node:timers/promises';
import type { AccountId } from '../domain/account';
import type { Act } from '../domain/audit';
import {
  ENDPOINT_ID_PREFIX,
  type Endpoint,
  type EndpointAddress,
  type EndpointId,
  endpointNotFound,
  isAsleep,
  type Listener,
} from '../domain/endpoint';
import { hasEnded, MAX_RATE, REPLAY_ID_PREFIX, type ReplayId } from '../domain/replay';
import type { EndpointUid } from '../domain/setting-schemas';
import type { Emit } from '../domain/signal';
import { asDisabled, updateTime } from '../endpoints/disable';
import type { NewEndpoint } from '../endpoints/endpoint-input';
import type { Endpoints } from '../endpoints/endpoints';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { AppError } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import type { NewId } from '../platform/ids';
import { WakeUpTimer } from '../platform/timers';
import type { ReplayStore } from '../replays/redis-replay-store';
import type { Replays } from '../replays/replays';
import { HOLD_MS, type ListenerStore } from './redis-listener-store';

export interface ChangeListenerContext {
  readonly endpointStore: Pick<EndpointStore, 'update'>;
  readonly clock: Clock;
}

interface LoseListenerContext extends ChangeListenerContext {
  readonly listenerStore: Pick<ListenerStore, 'watch'>;
}

export interface CreateListenerContext extends LoseListenerContext, CreateReplayContext {
  readonly endpoints: Endpoints;
  readonly endpointStore: Pick<EndpointStore, 'find' | 'idOf' | 'update'>;
  readonly newId: NewId;
  readonly clock: Clock;
}

/** The input of a new listener. */
export interface NewListener
  extends Pick<
    NewEndpoint,
    | 'events'
    | 'secret'
    | 'description'
    | 'ordering'
    | 'timeoutMs'
    | 'retrySchedule'
    | 'format'
    | 'cloudevents'
    | 'batch'
    | 'coalesce'
  > {
  /** Its name within its account. An existing one keeps its secret. */
  readonly name: string;
  /**
   * It also gets events published since then that it has no delivery of. Milliseconds since the Unix epoch.
   */
  readonly since?: number | undefined;
}

/** How long a lost listener still gets events, which are held for it. */
export const LOST_MS = 60_000;
/** How long a listener that is asleep can resume. */
export const ASLEEP_MS = 24 * 3_600_000;
// Nothing is accepted by clocks that are further ahead than this.
const CLOCK_SKEW_MS = 60_000;
const READ_REPLAY_EVERY_MS = 300;

/**
 * Make the account's listener of this name, or let it resume. It gets nothing before it is connected.
 *
 * A listener is an endpoint with a connected client that takes its deliveries. It is **connected** (enabled),
 * **lost** (disabled: its deliveries are held), after a minute without a connection **asleep** (it gets no
 * events any more, and clients do not find it), and a day later removed. A listener that comes back resumes:
 * held deliveries flow, and a replay sends the events that it missed while it was asleep.
 *
 * @throws AppError `conflict` when a webhook that is not a listener has the name, `limit_reached`,
 *   `replays_running` when a replay is needed and none may begin, `invalid_request`.
 */
export async function createListener(
  context: CreateListenerContext,
  accountId: AccountId,
  input: NewListener,
  act?: Act,
): Promise<Endpoint> {
  const { endpointStore, listenerStore, clock } = context;
  const { name, since, events, secret: _kept, ...patch } = input;
  const uid = uidOf(name);
  const known = await endpointStore.idOf(accountId, uid);
  const endpointId = known ?? (await make(context, accountId, uid, input, act)).id;
  const address = { accountId, endpointId };
  await listenerStore.watch(address, clock() + LOST_MS);
  const woken = await wake(context, address, events, since);
  await bringMissed(context, woken);
  if (known === undefined) return woken;
  return await context.endpoints.update(accountId, endpointId, patch, act ? { act } : {});
}

async function make(
  context: CreateListenerContext,
  accountId: AccountId,
  uid: EndpointUid,
  input: NewListener,
  act: Act | undefined,
): Promise<Endpoint> {
  const { name, since: _since, ...rest } = input;
  // Names under `.invalid` lead nowhere (RFC 2606): code that does not know of listeners can send nothing
  // there.
  const url = `https://${name}.listener.invalid/`;
  const listener: Listener = { lostAt: context.clock() };
  const endpoint = { ...rest, uid, url, status: 'disabled', listener } as const;
  const id = context.newId(ENDPOINT_ID_PREFIX) as EndpointId;
  return await context.endpoints.create(accountId, endpoint, id, act);
}

// From here on it gets events again. The missed range stays noted until a replay of it is running.
async function wake(
  context: ChangeListenerContext,
  address: EndpointAddress,
  events: readonly string[],
  since = Infinity,
): Promise<Endpoint> {
  return await change(context, address, (endpoint, listener) => {
    const missedSince = Math.min(listener.missedSince ?? Infinity, since);
    return {
      ...endpoint,
      events,
      listener: { ...listener, ...(missedSince === Infinity ? {} : { missedSince }) },
    };
  });
}

async function bringMissed(
  context: CreateListenerContext,
  { accountId, id: endpointId, listener }: Endpoint,
): Promise<void> {
  if (listener?.missedSince === undefined) return;
  const now = context.clock();
  const replay = await context.replays.create(accountId, endpointId, {
    id: context.newId(REPLAY_ID_PREFIX) as ReplayId,
    mode: 'missing',
    since: listener.missedSince,
    until: now + CLOCK_SKEW_MS,
    rate: MAX_RATE,
    isDryRun: false,
    createdAt: now,
  });
  await change(context, { accountId, endpointId }, (endpoint, { missedSince: _brought, ...rest }) => ({
    ...endpoint,
    listener: { ...rest, replay: replay.id },
  }));
}

/** @throws AppError `not_found`. */
async function change(
  { endpointStore, clock }: ChangeListenerContext,
  { accountId, endpointId }: EndpointAddress,
  how: (endpoint: Endpoint, listener: Listener) => Endpoint,
): Promise<Endpoint> {
  const changed = await endpointStore.update(accountId, endpointId, (endpoint) => {
    if (endpoint.listener === undefined) throw notAListener();
    const next = how(endpoint, endpoint.listener);
    return next === endpoint ? endpoint : { ...next, updatedAt: updateTime(endpoint, clock()) };
  });
  if (!changed) throw endpointNotFound();
  return changed;
}

export interface FindListenerContext {
  readonly endpointStore: Pick<EndpointStore, 'find'>;
}

/** Whether such a listener exists, and is not asleep. */
export async function isAwake(
  { endpointStore }: FindListenerContext,
  { accountId, endpointId }: EndpointAddress,
): Promise<boolean> {
  const endpoint = await endpointStore.find(accountId, endpointId);
  return endpoint?.listener !== undefined && !isAsleep(endpoint);
}

/** @throws AppError `not_found` when no such listener exists, or it has to be created again first. */
export async function requireAwake(context: FindListenerContext, address: EndpointAddress): Promise<void> {
  if (!(await isAwake(context, address))) throw listenerNotFound();
}

export interface CaughtUpContext extends FindListenerContext {
  readonly replayStore: Pick<ReplayStore, 'find'>;
}

/** Wait until a listener with strict order has everything that it missed; others need not wait. */
export async function caughtUp(
  { endpointStore, replayStore }: CaughtUpContext,
  { accountId, endpointId }: EndpointAddress,
  isOver: () => boolean,
): Promise<void> {
  const endpoint = await endpointStore.find(accountId, endpointId);
  if (endpoint?.ordering !== 'strict' || endpoint.listener?.replay === undefined) return;
  for (;;) {
    const replay = await replayStore.find(endpoint.listener.replay as ReplayId);
    if (!replay || hasEnded(replay) || isOver()) return;
    await wait(READ_REPLAY_EVERY_MS);
  }
}

export interface ConnectListenerContext extends LoseListenerContext {
  readonly endpoints: Endpoints;
  readonly clock: Clock;
}

/** Let its held deliveries flow to this stream. */
export async function connectListener(
  context: ConnectListenerContext,
  address: EndpointAddress,
  stream: string,
): Promise<void> {
  await context.listenerStore.watch(address, context.clock() + HOLD_MS);
  await change(context, address, (endpoint, { lostAt: _lost, ...listener }) => ({
    ...endpoint,
    listener: { ...listener, stream },
  }));
  await context.endpoints.enable(address.accountId, address.endpointId);
}

/** From now on its deliveries are held. Do nothing if another stream has taken over. */
export async function disconnectListener(
  context: LoseListenerContext,
  address: EndpointAddress,
  stream: string,
): Promise<void> {
  try {
    await lose(context, address, stream);
  } catch (error) {
    // It was removed meanwhile.
    if (!(error instanceof AppError && error.code === 'not_found')) throw error;
  }
}

async function lose(context: LoseListenerContext, address: EndpointAddress, stream: string): Promise<void> {
  const now = context.clock();
  await change(context, address, (endpoint, listener) => {
    if (listener.stream !== stream) return endpoint;
    const { stream: _stream, ...rest } = listener;
    return { ...asDisabled(endpoint, 'disconnected', now), listener: { ...rest, lostAt: now } };
  });
  await context.listenerStore.watch(address, now + LOST_MS);
}

export interface WakeUpListenerContext extends LoseListenerContext {
  readonly endpoints: Endpoints;
  readonly endpointStore: Pick<EndpointStore, 'find' | 'update'>;
  readonly listenerStore: Pick<ListenerStore, 'findHolder' | 'forget' | 'watch'>;
  readonly clock: Clock;
}

/** Handle one that is due: its record alone decides what to do. */
export async function wakeUpListener(
  context: WakeUpListenerContext,
  address: EndpointAddress,
): Promise<void> {
  const { endpointStore, listenerStore, clock } = context;
  const endpoint = await endpointStore.find(address.accountId, address.endpointId);
  if (endpoint?.listener === undefined) return await listenerStore.forget(address);
  const { stream } = endpoint.listener;
  if (stream !== undefined) {
    const holder = await listenerStore.findHolder(address.endpointId);
    if (holder?.stream === stream) return await listenerStore.watch(address, clock() + HOLD_MS);
    return await lose(context, address, stream);
  }
  if (!isAsleep(endpoint)) return await fallAsleep(context, address);
  await context.endpoints.remove(address.accountId, address.endpointId);
  await listenerStore.forget(address);
}

async function fallAsleep(context: LoseListenerContext, address: EndpointAddress): Promise<void> {
  const now = context.clock();
  await change(context, address, (endpoint, listener) => {
    const { stream, lostAt = now, missedSince = lostAt } = listener;
    return stream === undefined
      ? { ...endpoint, events: [], listener: { ...listener, missedSince } }
      : endpoint;
  });
  await context.listenerStore.watch(address, now + ASLEEP_MS);
}

function uidOf(name: string): EndpointUid {
  return `listener.${name}` as EndpointUid;
}

function notAListener(): AppError {
  return new AppError('conflict', 'A webhook of this account has this name already. Choose another one.');
}

function listenerNotFound(): AppError {
  return new AppError(
    'not_found',
    'There is no listener with this id. It may have expired: create it again.',
  );
}

export interface WatchListenersContext extends WakeUpListenerContext {
  readonly listenerStore: Pick<ListenerStore, 'findHolder' | 'forget' | 'listDue' | 'watch'>;
  readonly emit: Emit;
}

const WAKE_UP_EVERY_S = 5;
const WOKEN_UP_AT_ONCE = 100;

/** Handles listeners that are due: their process has died, or they were gone for too long. */
export class WatchListeners {
  readonly #timer = new WakeUpTimer(async () => {
    await this.runOnce();
    this.start();
  });

  constructor(private readonly context: WatchListenersContext) {}

  start(): void {
    this.#timer.wakeUpInAbout(WAKE_UP_EVERY_S);
  }

  async stop(): Promise<void> {
    await this.#timer.stop();
  }

  async runOnce(): Promise<void> {
    const { listenerStore, clock, emit } = this.context;
    try {
      const due = await listenerStore.listDue(clock(), WOKEN_UP_AT_ONCE);
      await Promise.all(due.map((address) => wakeUpListener(this.context, address)));
    } catch (error) {
      emit({ name: 'task.failed', task: 'expire listeners', error });
    }
  }
}
