import { setTimeout as wait } from 'node:timers/promises';
import type { AccountId } from '../domain/account';
import {
  type Endpoint,
  type EndpointAddress,
  type EndpointUid,
  endpointNotFound,
  isAsleep,
  type Listener,
} from '../domain/endpoint';
import { hasEnded, MAX_RATE, REPLAY_ID_PREFIX, type ReplayId } from '../domain/replay';
import type { Emit } from '../domain/signal';
import { asDisabled, updateTime } from '../endpoints/disable';
import type { NewEndpoint } from '../endpoints/endpoint-input';
import type { AdmissionStore } from '../endpoints/flow/redis-admission-store';
import {
  type CreateEndpointContext,
  createEndpoint,
  type EnableEndpointContext,
  enableEndpoint,
  type RemoveEndpointContext,
  removeEndpoint,
  type UpdateEndpointContext,
  updateEndpoint,
} from '../endpoints/manage-endpoints';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { AppError } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import type { NewId } from '../platform/ids';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { type CreateReplayContext, createReplay } from '../replays/manage-replays';
import { HOLD_MS, type ListenerStore } from './redis-listener-store';

export interface ManageListenersDeps
  extends CreateReplayContext,
    CreateEndpointContext,
    UpdateEndpointContext,
    EnableEndpointContext,
    RemoveEndpointContext {
  readonly endpointStore: Pick<EndpointStore, 'create' | 'find' | 'idOf' | 'remove' | 'takeBack' | 'update'>;
  readonly admissionStore: Pick<AdmissionStore, 'clearOrder' | 'closeBreaker' | 'joinOrder' | 'remove'>;
  readonly heldDeliveries: Pick<HeldDeliveries, 'askForWakeUp' | 'pagesOf'>;
  readonly listenerStore: Pick<ListenerStore, 'findHolder' | 'watch' | 'forget'>;
  readonly newId: NewId;
  readonly clock: Clock;
}

/** What a listener is to be like. */
export interface NewListener
  extends Pick<
    NewEndpoint,
    'events' | 'secret' | 'description' | 'ordering' | 'timeoutMs' | 'retrySchedule'
  > {
  /** Names it within its account. One that is there keeps the secret that it has. */
  readonly name: string;
  /** It also gets what was published since then, and it has no delivery of. Milliseconds since the Unix epoch. */
  readonly since?: number | undefined;
}

/** How long one that was lost goes on getting events, which are held for it. */
export const LOST_MS = 60_000;
/** How long one that is asleep can go on where it was. */
export const ASLEEP_MS = 24 * 3_600_000;
// By clocks that are further ahead of ours than this nothing is accepted.
const CLOCK_SKEW_MS = 60_000;
const LOOK_AT_REPLAY_EVERY_MS = 300;

/**
 * Listeners: endpoints whose deliveries are taken by somebody who connects. One is **connected** (enabled), **lost** (disabled:
 * its deliveries are held), after a minute without a connection **asleep** (it gets no events any more and is not there for
 * clients), and a day later removed. Who comes back goes on where it was: what is held flows, and what it missed while it
 * was asleep is brought by a replay.
 */
export function createManageListeners(deps: ManageListenersDeps) {
  const { endpointStore, listenerStore, replayStore, newId, clock } = deps;

  async function create(accountId: AccountId, input: NewListener): Promise<Endpoint> {
    const { name, since, events, secret: _kept, ...patch } = input;
    const uid = uidOf(name);
    const known = await endpointStore.idOf(accountId, uid);
    const endpointId = known ?? (await make(accountId, uid, input)).id;
    const address = { accountId, endpointId };
    await listenerStore.watch(address, clock() + LOST_MS);
    const woken = await wake(address, events, since);
    await bringMissed(woken);
    return known === undefined ? woken : await updateEndpoint(deps, accountId, endpointId, patch);
  }

  async function make(accountId: AccountId, uid: EndpointUid, input: NewListener): Promise<Endpoint> {
    const { name, since: _since, ...rest } = input;
    // Names under `.invalid` lead nowhere (RFC 2606): what does not know of listeners can send nothing there.
    const url = `https://${name}.listener.invalid/`;
    const listener: Listener = { lostAt: clock() };
    return await createEndpoint(deps, accountId, { ...rest, uid, url, status: 'disabled', listener });
  }

  // From here on it gets events again; what it missed stays noted until a replay is under way that brings it.
  async function wake(
    address: EndpointAddress,
    events: readonly string[],
    since = Infinity,
  ): Promise<Endpoint> {
    return await change(address, (endpoint, listener) => {
      const missedSince = Math.min(listener.missedSince ?? Infinity, since);
      return {
        ...endpoint,
        events,
        listener: { ...listener, ...(missedSince === Infinity ? {} : { missedSince }) },
      };
    });
  }

  async function bringMissed({ accountId, id: endpointId, listener }: Endpoint): Promise<void> {
    if (listener?.missedSince === undefined) return;
    const now = clock();
    const replay = await createReplay(deps, accountId, endpointId, {
      id: newId(REPLAY_ID_PREFIX) as ReplayId,
      mode: 'missing',
      since: listener.missedSince,
      until: now + CLOCK_SKEW_MS,
      rate: MAX_RATE,
      isDryRun: false,
      createdAt: now,
    });
    await change({ accountId, endpointId }, (endpoint, { missedSince: _brought, ...rest }) => ({
      ...endpoint,
      listener: { ...rest, replay: replay.id },
    }));
  }

  /** @throws AppError `not_found`. */
  async function change(
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

  /** Not one that is asleep either. */
  async function isThere({ accountId, endpointId }: EndpointAddress): Promise<boolean> {
    const endpoint = await endpointStore.find(accountId, endpointId);
    return endpoint?.listener !== undefined && !isAsleep(endpoint);
  }

  async function lose(address: EndpointAddress, stream: string): Promise<void> {
    const now = clock();
    await change(address, (endpoint, listener) => {
      if (listener.stream !== stream) return endpoint;
      const { stream: _stream, ...rest } = listener;
      return { ...asDisabled(endpoint, 'disconnected', now), listener: { ...rest, lostAt: now } };
    });
    await listenerStore.watch(address, now + LOST_MS);
  }

  async function fallAsleep(address: EndpointAddress): Promise<void> {
    const now = clock();
    await change(address, (endpoint, listener) => {
      const { stream, lostAt = now, missedSince = lostAt } = listener;
      return stream === undefined
        ? { ...endpoint, events: [], listener: { ...listener, missedSince } }
        : endpoint;
    });
    await listenerStore.watch(address, now + ASLEEP_MS);
  }

  /** Sees to one whose time has come: what is due is told by its record alone. */
  async function wakeUpAfter(address: EndpointAddress): Promise<void> {
    const endpoint = await endpointStore.find(address.accountId, address.endpointId);
    if (endpoint?.listener === undefined) return await listenerStore.forget(address);
    const { stream } = endpoint.listener;
    if (stream !== undefined) {
      const holder = await listenerStore.findHolder(address.endpointId);
      if (holder?.stream === stream) return await listenerStore.watch(address, clock() + HOLD_MS);
      return await lose(address, stream);
    }
    if (!isAsleep(endpoint)) return await fallAsleep(address);
    await removeEndpoint(deps, address.accountId, address.endpointId);
    await listenerStore.forget(address);
  }

  return {
    /**
     * Makes the account's listener of this name, or has it go on where it was. It gets nothing before it is connected.
     *
     * @throws AppError `conflict` when the name is taken by a webhook that is no listener, `limit_reached`,
     *   `replays_running` when there is something to bring and no replay may begin, `invalid_request`.
     */
    create,

    isThere,

    /** @throws AppError `not_found` when there is no such listener, or it has to be made anew first. */
    async requireAwake(address: EndpointAddress): Promise<void> {
      if (!(await isThere(address))) throw listenerNotFound();
    },

    /** Waits until one that goes in order has all that it missed; others need not wait. */
    async caughtUp({ accountId, endpointId }: EndpointAddress, isOver: () => boolean): Promise<void> {
      const endpoint = await endpointStore.find(accountId, endpointId);
      if (endpoint?.ordering !== 'strict' || endpoint.listener?.replay === undefined) return;
      for (;;) {
        const replay = await replayStore.find(endpoint.listener.replay as ReplayId);
        if (!replay || hasEnded(replay) || isOver()) return;
        await wait(LOOK_AT_REPLAY_EVERY_MS);
      }
    },

    /** What is held for it flows, to this stream. */
    async connect(address: EndpointAddress, stream: string): Promise<void> {
      await listenerStore.watch(address, clock() + HOLD_MS);
      await change(address, (endpoint, { lostAt: _lost, ...listener }) => ({
        ...endpoint,
        listener: { ...listener, stream },
      }));
      await enableEndpoint(deps, address.accountId, address.endpointId);
    },

    /** From now on its deliveries are held. Does nothing if another stream has taken over. */
    disconnect: async (address: EndpointAddress, stream: string): Promise<void> => {
      await lose(address, stream).catch(ignoreNotFound);
    },

    wakeUpAfter,
  };
}

export type ManageListeners = ReturnType<typeof createManageListeners>;

function uidOf(name: string): EndpointUid {
  return `listener.${name}` as EndpointUid;
}

function notAListener(): AppError {
  return new AppError(
    'conflict',
    'A webhook of this account that is no listener has this name. Take another one.',
  );
}

function listenerNotFound(): AppError {
  return new AppError(
    'not_found',
    'There is no listener with this id, or it was gone for too long: make it anew.',
  );
}

// It was removed meanwhile.
function ignoreNotFound(error: unknown): void {
  if (!(error instanceof AppError && error.code === 'not_found')) throw error;
}

export interface WatchListenersOptions {
  readonly listeners: Pick<ManageListeners, 'wakeUpAfter'>;
  readonly listenerStore: Pick<ListenerStore, 'listDue'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

const LOOK_EVERY_MS = 5_000;
const LOOKED_AFTER_AT_ONCE = 100;

/** Looks after listeners whose time has come: whose process has died, and who were gone for too long. */
export class WatchListeners {
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();

  constructor(private readonly options: WatchListenersOptions) {}

  start(): void {
    this.#timer = setInterval(() => {
      this.#looking = this.runOnce();
    }, LOOK_EVERY_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async runOnce(): Promise<void> {
    const { listeners, listenerStore, clock, emit } = this.options;
    try {
      const due = await listenerStore.listDue(clock(), LOOKED_AFTER_AT_ONCE);
      await Promise.all(due.map((address) => listeners.wakeUpAfter(address)));
    } catch (error) {
      emit({ name: 'task.failed', task: 'look after listeners', error });
    }
  }
}
