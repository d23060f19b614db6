import { ListenerStreams } from '@hookferry/core/listeners/listener-streams';
import { Listeners, WatchListeners } from '@hookferry/core/listeners/listeners';
import { ListenerStore } from '@hookferry/core/listeners/redis-listener-store';
import { RedisMailbox } from '@hookferry/core/listeners/redis-mailbox';
import { Contacts } from '@hookferry/core/notifications/contacts';
import { ContactStore } from '@hookferry/core/notifications/redis-contact-store';
import { NotificationStore } from '@hookferry/core/notifications/redis-notification-store';
import { AccountLoads } from '@hookferry/core/operations/account-loads';
import { API_GATHER_MS, ChangeFeed } from '@hookferry/core/stream/change-feed';
import { ChangeStreams } from '@hookferry/core/stream/change-streams';
import { ChangeStore } from '@hookferry/core/stream/redis-change-store';
import { createProcessRegistry } from '@hookferry/core/telemetry/prom-registry';
import { apiSignalMetrics, registerPromSignalMetrics } from '@hookferry/core/telemetry/prom-signal-metrics';
import { type ListedCapability, withRoutes } from './http/capability';
import { mountContactPages } from './http/contact-pages';
import { mountMetrics } from './http/probes';
import {
  askContactAgain,
  createContact,
  deleteContact,
  listContacts,
  listNotifications,
  type NotificationModules,
  testContact,
  updateContact,
} from './routes/contacts';
import { createListener, type ListenerModules, respondToListener, streamListener } from './routes/listeners';
import { type StreamModules, streamChanges } from './routes/stream';

const metrics: ListedCapability = {
  open(core) {
    const registry = createProcessRegistry(core, {
      service: 'api',
      revision: core.config.HOOKFERRY_REVISION,
    });
    return {
      name: 'metrics',
      listen: registerPromSignalMetrics(registry, apiSignalMetrics),
      mount: (app) => mountMetrics(app, registry, core.probes.scrapes),
    };
  },
};

const accountLoads: ListedCapability = { open: (core) => new AccountLoads(core) };

const notifications = withRoutes<NotificationModules>({
  routes: [
    createContact, //     POST   /v1/contacts
    listContacts, //      GET    /v1/contacts
    updateContact, //     PATCH  /v1/contacts/:id
    askContactAgain, //   POST   /v1/contacts/:id/ask-again
    testContact, //       POST   /v1/contacts/:id/test
    deleteContact, //     DELETE /v1/contacts/:id
    listNotifications, // GET    /v1/notifications
  ],
  open(core) {
    const { config, redis, atomic, sealer } = core;
    const contacts = new Contacts({
      ...core,
      contactStore: new ContactStore(redis, sealer),
      notificationStore: new NotificationStore(redis, atomic),
      sendsMail: config.MAIL_FROM !== undefined,
      hasPublicUrl: config.PUBLIC_URL !== undefined,
    });
    return {
      name: 'notifications',
      modules: { contacts },
      mount: (app) => mountContactPages(app, contacts, core),
    };
  },
});

const listeners = withRoutes<ListenerModules>({
  routes: [
    createListener, // POST /v1/listeners
    streamListener, // GET  /v1/listeners/:id/stream
    respondToListener, // POST /v1/listeners/:id/responses
  ],
  open(core) {
    const listenerStore = new ListenerStore(core.redis);
    const mailbox = new RedisMailbox(core);
    const all = new Listeners({ ...core, listenerStore });
    const watch = new WatchListeners(all, core.emit);
    const parts = { listeners: all, listenerStore, mailbox, emit: core.emit };
    const listenerStreams = new ListenerStreams(parts);
    return {
      name: 'listeners',
      modules: { listeners: all, listenerStreams },
      start: () => watch.start(),
      async stop() {
        listenerStreams.stop();
        await watch.stop();
        await mailbox.close();
      },
    };
  },
});

const stream = withRoutes<StreamModules>({
  routes: [
    streamChanges, // GET /v1/stream
  ],
  open({ redis, clock, emit }) {
    const changeStore = new ChangeStore(redis);
    const changeFeed = new ChangeFeed({ changeStore, gatherMs: API_GATHER_MS, clock, emit });
    const changeStreams = new ChangeStreams({ changeStore, emit });
    return {
      name: 'stream of changes',
      modules: { changeStreams },
      listen: changeFeed.listen,
      stop: async () => changeStreams.stop(),
      close: () => changeFeed.stop(),
    };
  },
});

/** All that this API can do beside its core. Nothing else names them. */
export const capabilities: readonly ListedCapability[] = [
  metrics,
  accountLoads,
  notifications,
  listeners,
  stream,
];
