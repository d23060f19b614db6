// @ts-check

/**
 * The folders of `packages/core/src`, in the order in which data flows: each imports from those above it only.
 * @type {readonly (readonly [name: string, what: string])[]}
 */
export const folders = [
  ['kernel', 'errors, clock, ids, JSON, settings, the connection to Redis: knows nothing of webhooks'],
  [
    'model',
    'what there is: account, endpoint, event, delivery, attempt; their ids, rules, keys in Redis, and signals',
  ],
  ['egress', 'where a request may go, and by which sockets'],
  ['catalogue', 'event types: those built in, and those that an operator adds'],
  ['accounts', 'accounts, API keys, what an account may ask for and store'],
  ['endpoints', 'endpoints with their secrets and health, and who asked for an event type'],
  ['record', 'what is kept: events, the log of each delivery, the archive'],
  ['intake', 'an event comes in: checked, stored, fanned out to deliveries'],
  [
    'admission',
    'whether an attempt may begin: breaker, concurrency, rate, order; held deliveries and their release',
  ],
  [
    'attempt',
    'one attempt: load, prepare, send, judge, decide, record; `deliver.ts` is all of it on one page',
  ],
  ['history', 'reading what happened'],
  ['recovery', 'sending again: redelivery, replays, dead letters'],
  ['manage', 'what operators and owners do to accounts and endpoints, erasure included'],
  ['listeners', 'endpoints whose deliveries are taken by whoever connects, and the way there'],
  [
    'changes',
    'what changes, told to those who follow it: collected from signals, passed on by Redis, read as streams',
  ],
  ['queue', 'all of BullMQ: its queues, jobs and keys, behind the ports of the folders above'],
  ['telemetry', 'listens to signals: log lines, metrics, traces; runs a process'],
];

/** The folders of `apps/portal/src`, in the same way. `main.tsx` stands beside them and puts them together. */
export const portalFolders = ['api', 'components', 'session', 'live', 'pages', 'app'];
