import type { ManageEndpoints } from '@hookferry/core/endpoints/manage-endpoints';
import { ListenerStreams } from '@hookferry/core/listeners/listener-streams';
import { createManageListeners, WatchListeners } from '@hookferry/core/listeners/manage-listeners';
import { createRedisListenerStore } from '@hookferry/core/listeners/redis-listener-store';
import { MAILBOX_SILENCE_MS, RedisMailbox } from '@hookferry/core/listeners/redis-mailbox';
import type { NewId } from '@hookferry/core/platform/ids';
import { connectRedis } from '@hookferry/core/platform/redis-connect';
import type { ConnectionHealth } from '@hookferry/core/platform/redis-keeper';
import type { Stoppable } from '@hookferry/core/platform/timers';
import type { ManageReplays } from '@hookferry/core/replays/manage-replays';
import type { Stores, StoresContext } from './open-stores';

interface ListenersContext extends StoresContext, Stores {
  readonly connectionHealth: ConnectionHealth;
  readonly endpoints: ManageEndpoints;
  readonly replays: ManageReplays;
  readonly newId: NewId;
}

/** What takes deliveries to those who listen for them. */
export function composeListeners(context: ListenersContext) {
  const { config, redis, connectionHealth, emit } = context;
  const connection = { url: config.REDIS_URL, role: 'working', health: connectionHealth, emit } as const;
  const deps = { ...context, listenerStore: createRedisListenerStore(redis) };
  const mailbox = new RedisMailbox({
    redis,
    connect: () => connectRedis({ ...connection, name: 'api-mailbox', silenceMs: MAILBOX_SILENCE_MS }),
    emit,
  });
  const listeners = createManageListeners(deps);
  const listenerStreams = new ListenerStreams({ ...deps, listeners, mailbox });
  const watch = new WatchListeners({ ...deps, listeners });
  watch.start();
  const parts: readonly Stoppable[] = [
    { name: 'listeners', stop: async () => listenerStreams.stop() },
    { name: 'watch of listeners', stop: () => watch.stop() },
    { name: 'mailbox', stop: () => mailbox.close() },
  ];
  return { listeners, listenerStreams, parts };
}
