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

export interface ListenersParts {
  readonly listenerStore: ListenerStore;
  readonly endpointStore: EndpointStore;
  readonly replayStore: ReplayStore;
  readonly endpoints: Endpoints;
  readonly replays: Replays;
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

export interface CreatedListener {
  readonly endpoint: Endpoint;
  /** Whether no listener had its name before. */
  readonly isNew: boolean;
}

/** How long a lost listener still gets events, which are held for it. */
export const LOST_MS = 60_000;
/** How long a listener that is asleep can resume. */
export const ASLEEP_MS = 24 * 3_600_000;
// Nothing is accepted by clocks that are further ahead than this.
const CLOCK_SKEW_MS = 60_000;
const READ_REPLAY_EVERY_MS = 300;
const DUE_AT_ONCE = 100;

/**
 * Endpoints with a connected client that takes their deliveries.
 *
 * A listener is **connected** (enabled), **lost** (disabled: its deliveries are held), after a minute without a
 * connection **asleep** (it gets no events any more, and clients do not find it), and a day later removed. A
 * listener that comes back resumes: held deliveries flow, and a replay sends the events that it missed while it
 * was asleep.
 */
export class Listeners {
  constructor(private readonly parts: ListenersParts) {}

  /**
   * Make the account's listener of this name, or let it resume. It gets nothing before it is connected.
   *
   * @throws AppError `conflict` when a webhook that is not a listener has the name, `limit_reached`,
   *   `replays_running` when a replay is needed and none may begin, `invalid_request`.
   */
  async create(accountId: AccountId, input: NewListener, act?: Act): Promise<CreatedListener> {
    const { endpoints, endpointStore, listenerStore, clock } = this.parts;
    const { name, since, events, secret: _kept, ...patch } = input;
    const uid = uidOf(name);
    const known = await endpointStore.idOf(accountId, uid);
    const endpointId = known ?? (await this.#make(accountId, uid, input, act)).id;
    const address = { accountId, endpointId };
    await listenerStore.watch(address, clock() + LOST_MS);
    const woken = await this.#wake(address, events, since);
    await this.#bringMissed(woken);
    if (known === undefined) return { endpoint: woken, isNew: true };
    const endpoint = await endpoints.update(accountId, endpointId, patch, act ? { act } : {});
    return { endpoint, isNew: false };
  }

  /** Whether such a listener exists, and is not asleep. */
  async isAwake({ accountId, endpointId }: EndpointAddress): Promise<boolean> {
    const endpoint = await this.parts.endpointStore.find(accountId, endpointId);
    return endpoint?.listener !== undefined && !isAsleep(endpoint);
  }

  /** @throws AppError `not_found` when no such listener exists, or it has to be created again first. */
  async requireAwake(address: EndpointAddress): Promise<void> {
    if (!(await this.isAwake(address))) throw listenerNotFound();
  }

  /** Wait until a listener with strict order has everything that it missed; others need not wait. */
  async untilCaughtUp(
    { accountId, endpointId }: EndpointAddress,
    hasStreamEnded: () => boolean,
  ): Promise<void> {
    const { endpointStore, replayStore } = this.parts;
    const endpoint = await endpointStore.find(accountId, endpointId);
    if (endpoint?.ordering !== 'strict' || endpoint.listener?.replay === undefined) return;
    for (;;) {
      const replay = await replayStore.find(endpoint.listener.replay as ReplayId);
      if (!replay || hasEnded(replay) || hasStreamEnded()) return;
      await wait(READ_REPLAY_EVERY_MS);
    }
  }

  /** Let its held deliveries flow to this stream. */
  async connect(address: EndpointAddress, stream: string): Promise<void> {
    const { endpoints, listenerStore, clock } = this.parts;
    await listenerStore.watch(address, clock() + HOLD_MS);
    await this.#change(address, (endpoint, { lostAt: _lost, ...listener }) => ({
      ...endpoint,
      listener: { ...listener, stream },
    }));
    await endpoints.enable(address.accountId, address.endpointId);
  }

  /** From now on its deliveries are held. Do nothing if another stream has taken over. */
  async disconnect(address: EndpointAddress, stream: string): Promise<void> {
    try {
      await this.#lose(address, stream);
    } catch (error) {
      // It was removed meanwhile.
      if (!(error instanceof AppError && error.code === 'not_found')) throw error;
    }
  }

  /** Handle those that are due: their process has died, or they were gone for too long. */
  async handleDue(): Promise<void> {
    const { listenerStore, clock } = this.parts;
    const due = await listenerStore.listDue(clock(), DUE_AT_ONCE);
    await Promise.all(due.map((address) => this.handleOneDue(address)));
  }

  /** Its record alone decides what to do. */
  async handleOneDue(address: EndpointAddress): Promise<void> {
    const { endpoints, endpointStore, listenerStore, clock } = this.parts;
    const endpoint = await endpointStore.find(address.accountId, address.endpointId);
    if (endpoint?.listener === undefined) return await listenerStore.forget(address);
    const { stream } = endpoint.listener;
    if (stream !== undefined) {
      const holder = await listenerStore.findHolder(address.endpointId);
      if (holder?.stream === stream) return await listenerStore.watch(address, clock() + HOLD_MS);
      return await this.#lose(address, stream);
    }
    if (!isAsleep(endpoint)) return await this.#fallAsleep(address);
    await endpoints.remove(address.accountId, address.endpointId);
    await listenerStore.forget(address);
  }

  async #make(
    accountId: AccountId,
    uid: EndpointUid,
    input: NewListener,
    act: Act | undefined,
  ): Promise<Endpoint> {
    const { endpoints, newId } = this.parts;
    const { name, since: _since, ...rest } = input;
    // Names under `.invalid` lead nowhere (RFC 2606): code that does not know of listeners can send nothing
    // there.
    const url = `https://${name}.listener.invalid/`;
    const listener: Listener = { lostAt: this.parts.clock() };
    const endpoint = { ...rest, uid, url, status: 'disabled', listener } as const;
    const id = newId(ENDPOINT_ID_PREFIX) as EndpointId;
    return await endpoints.create(accountId, endpoint, id, act);
  }

  // From here on it gets events again. The missed range stays noted until a replay of it is running.
  async #wake(address: EndpointAddress, events: readonly string[], since = Infinity): Promise<Endpoint> {
    return await this.#change(address, (endpoint, listener) => {
      const missedSince = Math.min(listener.missedSince ?? Infinity, since);
      return {
        ...endpoint,
        events,
        listener: { ...listener, ...(missedSince === Infinity ? {} : { missedSince }) },
      };
    });
  }

  async #bringMissed({ accountId, id: endpointId, listener }: Endpoint): Promise<void> {
    if (listener?.missedSince === undefined) return;
    const { replays, newId, clock } = this.parts;
    const now = clock();
    const replay = await replays.create(accountId, endpointId, {
      id: newId(REPLAY_ID_PREFIX) as ReplayId,
      mode: 'missing',
      since: listener.missedSince,
      until: now + CLOCK_SKEW_MS,
      rate: MAX_RATE,
      isDryRun: false,
      createdAt: now,
    });
    await this.#change({ accountId, endpointId }, (endpoint, { missedSince: _brought, ...rest }) => ({
      ...endpoint,
      listener: { ...rest, replay: replay.id },
    }));
  }

  async #lose(address: EndpointAddress, stream: string): Promise<void> {
    const now = this.parts.clock();
    await this.#change(address, (endpoint, listener) => {
      if (listener.stream !== stream) return endpoint;
      const { stream: _stream, ...rest } = listener;
      return { ...asDisabled(endpoint, 'disconnected', now), listener: { ...rest, lostAt: now } };
    });
    await this.parts.listenerStore.watch(address, now + LOST_MS);
  }

  async #fallAsleep(address: EndpointAddress): Promise<void> {
    const now = this.parts.clock();
    await this.#change(address, (endpoint, listener) => {
      const { stream, lostAt = now, missedSince = lostAt } = listener;
      return stream === undefined
        ? { ...endpoint, events: [], listener: { ...listener, missedSince } }
        : endpoint;
    });
    await this.parts.listenerStore.watch(address, now + ASLEEP_MS);
  }

  /** @throws AppError `not_found`. */
  async #change(
    { accountId, endpointId }: EndpointAddress,
    how: (endpoint: Endpoint, listener: Listener) => Endpoint,
  ): Promise<Endpoint> {
    const { endpointStore, clock } = this.parts;
    const changed = await endpointStore.update(accountId, endpointId, (endpoint) => {
      if (endpoint.listener === undefined) throw notAListener();
      const next = how(endpoint, endpoint.listener);
      return next === endpoint ? endpoint : { ...next, updatedAt: updateTime(endpoint, clock()) };
    });
    if (!changed) throw endpointNotFound();
    return changed;
  }
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

const HANDLE_EVERY_S = 5;

/** Handles the listeners that are due, every five seconds. */
export class WatchListeners {
  readonly #timer = new WakeUpTimer(async () => {
    await this.#handleDue();
    this.start();
  });

  constructor(
    private readonly listeners: Listeners,
    private readonly emit: Emit,
  ) {}

  start(): void {
    this.#timer.wakeUpInAbout(HANDLE_EVERY_S);
  }

  async stop(): Promise<void> {
    await this.#timer.stop();
  }

  async #handleDue(): Promise<void> {
    try {
      await this.listeners.handleDue();
    } catch (error) {
      this.emit({ name: 'task.failed', task: 'expire listeners', error });
    }
  }
}
