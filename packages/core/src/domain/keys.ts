import type { AccountId } from './account';
import type { EndpointId, LaneName } from './endpoint';
import type { EventId } from './event';

/**
 * Every key of this product in Redis. The text in braces is the hash tag: in a Redis Cluster, keys with the
 * same tag are on one node, and no command or pipeline spans two tags.
 *
 * | Key | Kind | Holds | Kept |
 * |---|---|---|---|
 * | `accounts:{all}` | hash | account id → record | until erased |
 * | `account-ids:{all}` | sorted set | account ids, in order of creation | until erased |
 * | `erased-accounts:{all}` | sorted set | ids of erased accounts, by when the ids are free again | RETENTION, until the next one |
 * | `pauses:{all}` | hash | account or queue → who has paused it, when, and why | until resumed or erased |
 * | `disabled-endpoints:{all}` | sorted set | account/endpoint of disabled ones, by when they were disabled | until enabled or deleted |
 * | `open-breakers:{all}` | sorted set | account/endpoint of open breakers, by until when they count as open | a minute after it may be probed |
 * | `verifications-due:{all}` | sorted set | account/endpoint of those to verify, by when the next try is due | until verified, given up or deleted |
 * | `verifications-under-way:{all}` | sorted set | account/endpoint of those that a worker is trying to verify, by until when no other does | until the try ends |
 * | `requested-verifications:{host}` | hash | verifications that were asked for of webhooks at one host (by a digest of its name): of each account, and of all | an hour |
 * | `unproven-requests:{host}`, `unproven-requests:{account}` | hash | requests to one host (by a digest of its name) that has not proved that it wants them, of each account and of all; and of one account | a minute |
 * | `contact-accounts:{all}` | sorted set | accounts with contacts, by when a worker looks at them next | until the last contact is gone |
 * | `confirmations:{target}`, `confirmations:{account}`, `all-confirmations:{all}` | hash | questions to confirm to one mailbox or URL (by a digest of it), of each account and of all; of one account; of the service | an hour |
 * | `expiring-certificates:{all}` | sorted set | hosts of receivers whose certificates expire soon, by when | renewed, or a day after that |
 * | `workers:{all}`, `worker-reports:{all}` | sorted set, hash | ids of workers by their last report; id → the report | half a minute |
 * | `readings:{all}`, `readings-turn:{all}` | string | the last readings of gauges that are the same for all workers, and which worker reads now | 15 seconds, 5 seconds |
 * | `account-loads:{all}:measure:hour` | sorted set | accounts by what they used within an hour: events, bytes, or processor time | 25 hours |
 * | `operations-samples:{all}` | hash | number of five minutes → how queues and workers were then | 24 hours |
 * | `api-key:{id}` | string | an API key's record | until revoked |
 * | `api-key-used:{id}` | string | when it was last used, to the minute | until revoked |
 * | `api-key-ids:{account}` | sorted set | ids of the account's API keys, in order of creation | until revoked |
 * | `api-keys-leaving:{account}` | set | ids of admin keys that are being revoked, so that no two leave in reliance on each other | a minute after the last |
 * | `portal-session:{id}` | hash | a portal session: its record, what its page looks like, and whether its code was exchanged | until it ends, a day at most |
 * | `portal-session-ids:{account}` | sorted set | ids of the account's portal sessions, by when they end | until the last one ends |
 * | `rate-limit:{account}`, `rate-limit:{account}:key` | counter | what an account's API keys and portal sessions, and one of them, have asked for in the present window of a rate limit | until its end |
 * | `endpoints:{account}` | hash | endpoint id → record | until deleted |
 * | `endpoint-ids:{account}` | sorted set | endpoint ids, in order of creation | as above |
 * | `endpoint-uids:{account}` | hash | endpoint's uid → id | as above |
 * | `endpoints-version:{account}` | counter | grows with each change to the account's endpoints | until the account is erased |
 * | `signing-keys:{account}` | string | the key pairs that sign the account's deliveries with Ed25519 | until the account is erased |
 * | `contacts:{account}` | hash | contact's id → its record, with its address and its secret sealed | until deleted |
 * | `told:{account}` | hash | occasion and what it is about → as of what the contacts were told of it; beside them what they were told last, and a version | until the last contact is gone |
 * | `notifications:{account}`, `notification-ids:{account}` | hash, sorted set | a message's id → its record; the ids in order of creation | the newest 1,000 |
 * | `notifications-due:{account}` | sorted set | ids of messages that are still to be sent, by when | until sent or given up |
 * | `audit-log:{account}` | sorted set | what was changed and done in the account, each entry behind its id, which begins with its time | AUDIT_RETENTION, AUDIT_COUNT; with a history, until it has moved there |
 * | `audit-index:{all}` | sorted set | entry's id, account (and where it waits, if not in its log) of all logs together | as above, the newest 100,000 |
 * | `unsettled-audit:{tag}` | sorted set | in a Cluster: entries of changes on another node than their log's | until they are there |
 * | `unsettled-audits:{all}` | sorted set | in a Cluster: which changes may have such an entry, as in the index | until it is in its log, or five minutes |
 * | `audit-refusals:{account}` | sorted set | what was refused, in the same form | AUDIT_RETENTION, the newest 1,000 |
 * | `all-audit-refusals:{all}` | sorted set | the same of all accounts, and of those who have none | AUDIT_RETENTION, the newest 10,000 |
 * | `{event-types}` | hash | name → an event type that an operator added | until removed |
 * | `subscriptions:{account}` | hash | endpoint id → the part of its record that selects its events; beside them, the version of the account's endpoints that they belong to | as above |
 * | `usage:{account}` | hash | kind:time → bytes that the account stores until then, its portal sessions included | until the last of that time |
 * | `used-bytes:{account}` | counter | the sum of them, and of webhooks and API keys | as above |
 * | `code-bytes:{account}` | hash | endpoint → bytes of the versions of its code; beside them, that all were counted | until the account is erased |
 * | `quota:{account}` | string | how many bytes the account may store, if its operator has set that | until erased |
 * | `event:{account/event}` | string | the event's type, time and body, or when that was erased | RETENTION, and up to a day more |
 * | `scheduled-for:{account/event}` | hash | of an event that is to be sent later: the endpoints that it is aimed at, and the idempotent response that tells of it | RETENTION after it is due |
 * | `receivers:{account/event}` | sorted set | ids of the endpoints that the event went to | as the event |
 * | `events:{account}` | sorted set | ids of the account's events by time of acceptance | RETENTION, RETENTION_COUNT |
 * | `event-claim:{account/event}` | hash | an id that a client chose: what it stands for, and whether that is queued | RETENTION |
 * | `idempotency:{account/request}` | hash | a request with an Idempotency-Key: its hash, and its response, sealed | 24 hours |
 * | `deliveries:{endpoint}` | sorted set | event ids by time of acceptance | RETENTION, RETENTION_COUNT |
 * | `delivery:{endpoint}:event` | string | the delivery's log, a line a fact | RETENTION, RETENTION_COUNT once it has ended |
 * | `kept-longer:{account}`, `kept-longer:{endpoint}` | sorted set | ids of events that stay in `events` and `deliveries` however old they are, by until when: their deliveries were still open when their RETENTION was over | RETENTION since the last one |
 * | `replay:{replay}` | hash | a replay: its order and its progress | RETENTION since its last step |
 * | `replayed:{replay}` | sorted set | ids of the events that a replay has sent, by when they were accepted | RETENTION since its last step |
 * | `replays:{endpoint}` | sorted set | ids of the endpoint's replays | RETENTION since the last one |
 * | `running-replays:{account}` | sorted set | ids of the account's replays that may not have ended yet, by when they were asked for | RETENTION since the last one |
 * | `answer-bytes:{endpoint}` | string | how many bytes of responses were kept recently, as of when | RETENTION since the last answer |
 * | `access-token:{endpoint}` | hash | the OAuth2 access token of the endpoint, sealed; who fetches the next one; the breaker of its token URL | until the token expires, 10 minutes at least |
 * | `breaker:{endpoint}` | string | failures in a row, since when, whether its account was told, and until when its breaker is open | until the next success, 30 days at most |
 * | `permits:{endpoint}` | sorted set | one for each attempt of the last second, by when it stops counting for the rate limit | an hour |
 * | `rate-waiting:{endpoint}` | string | there if deliveries are held for the rate limit | an hour |
 * | `order:{endpoint}` | sorted set | for a strict order: ids of the events whose deliveries have jobs of their own beside the lane, by time of acceptance | until they have ended |
 * | `order:{endpoint}:line` | sorted set | the same for a group of events | as above, 400 days at most |
 * | `lines:{endpoint}` | hash | event → the line that it is beside | as above |
 * | `turn:{endpoint}`, `turn:{endpoint}:line` | string | of the former order: the event whose delivery has begun | until that has ended, 400 days at most |
 * | `order-waiting:{endpoint}` | string | of the former order: there if deliveries are held for their turn, which the end of the one before them wakes up | an hour |
 * | `ready:{endpoint}` | sorted set | of the former order: ids of the events that are first in their lines and held, by time of acceptance | until they begin |
 * | `coalescing:{endpoint}` | hash | of the former order: line → until when its events wait for newer ones, and the last one that was sent | until none is left of the line |
 * | `lines-look:{endpoint}` | hash | where to look next for deliveries beside lanes whose jobs are lost, and when that was done last | a minute |
 * | `health:{endpoint}` | hash | successes, failures and durations by the hour, the last of the first two; how many attempts each worker lets it have under way | RETENTION or DISABLE_AFTER since the last attempt, whichever is longer, and up to an hour more |
 * | `transformations:{endpoint}` | hash | version → the code of a transformation, who saved it and when; beside them the last version | until the endpoint is deleted, the newest 20 |
 * | `listener:{endpoint}` | string | the process and the stream that a listener is connected by | 15 s after the last sign of that process |
 * | `listeners:{all}` | sorted set | account/endpoint of listeners, by when to see whether they are still connected | until they are gone |
 * | `watched-accounts:{all}` | sorted set | ids of accounts whose changes somebody follows, by until when | 2 minutes after nobody follows any |
 * | `changes:{account}` | stream | the account's changes, while somebody follows them; about the last 1,000 | 2 minutes after nobody follows it |
 * | `mailbox:{process}` | list | messages between processes that serve listeners | until read, a minute |
 * | `held:{bull}:endpoint` | sorted set | ids of the events whose deliveries are held, by time of acceptance | until released |
 * | `lane:{bull}:lane` | sorted set | ids of the events whose deliveries go one after the other, by time of acceptance: they have one job together. The lane is that of an endpoint, or of a group of its events: `line.endpoint` | until they have ended |
 * | `carried:{bull}:lane` | hash | event → the request that such a delivery is to be sent for | until that has ended |
 * | `grouped:{bull}:endpoint` | sorted set | ids of all events that an endpoint has in lanes of groups, by time of acceptance | until they have ended |
 * | `lines:{bull}:endpoint` | hash | event → the line that it is in; beside them, how many lines there are, and how many events wait behind the first ones of those that are closed | the same |
 * | `batches:{bull}:endpoint` | hash | event → the name of the batch whose job has its delivery | until that has ended, or is in none |
 * | `behind-heads:{bull}` | counter | how many such deliveries wait behind the first one of their lane, where that is not held | until none does |
 * | `behind-heads:{bull}:batched` | counter | the same for lanes whose deliveries go in batches, and do not wait for each other | until none does |
 * | `looks:{bull}` | sorted set | account/endpoint of those with held deliveries, by when their wake-up is due | until none is held |
 * | `held-counts:{bull}` | hash | reason → how many deliveries are held for it | until none is |
 * | `counted-as-held:{bull}` | hash | account/endpoint → reason and number that it adds to `held-counts` | until none is held |
 * | `fair-order:{bull}:queue` | hash | where the queue's positions begin and end; beside it, with the account's id behind it, a sorted set of the account's flows by their last position | an hour after the last job |
 * | `account-weights:{bull}` | hash | account id → its weight, if it is not 1 | until erased |
 * | `put-back-events:{bull}:{account}` | sorted set | the account's jobs that the events queue was given back, by when they were added | a day |
 * | `scheduled:{bull}:account` | sorted set | ids of the account's events that are to be sent later, by when they are due | until they are due, or cancelled |
 * | `scheduled-accounts:{bull}` | sorted set | accounts with such events, by when to look for due ones | until there are none |
 * | `scheduled-count:{bull}` | counter | how many such events there are | as above |
 * | `rejected-jobs:{bull}` | sorted set | jobs on the queue `events-dead-letters`, by when they came there | until re-driven or dropped, the newest 100,000 |
 * | `write-check:{n}` | string | nothing: whether it can be written tells whether Redis takes writes; in a Cluster one for each master | a second |
 * | `epoch:{n}` | hash | a number that grows each second, when it last did, and which worker counts; in a Cluster one for each master | for ever |
 * | `rollbacks:{all}` | sorted set | from when on Redis has lost what it had, by when that was found | the newest 10 |
 * | `over:{history}` | sorted set | account/event.endpoint of deliveries that have ended, account/event. of events without any, by when that was, with a history only | until they have moved there |
 * | `moved-ids:{account}:n` | hash | ids of events that have moved to the history → when each was accepted, and a digest of it, in 1,024 parts | RETENTION |
 * | `moved:{account/event}` | hash | status → how many deliveries of an event that is still here have moved to the history; `lapsing`: all have | RETENTION, a minute once all have |
 * | `lapsing:{endpoint}:event` | string | nothing: the history has a delivery, whose log is still readable and gets nothing any more | a minute |
 * | `reach:{account}` | string | when the newest event was accepted of which something has moved to the history | until the account is erased |
 * | `attempt-reach:{account}` | string | when the newest attempt began that has moved to the history | until the account is erased |
 * | `pinned:{account/event}`, `pinned:{endpoint}:event` | counter | how many processes are about to send it again: it does not move | until it has a job, a minute at most |
 * | `set-aside:{history}` | hash | entries of `over:{history}` that the history has refused → since when, and why | until they are put back |
 * | `erasures:{history}` | counter | how many payloads were erased: a mover that finds it changed looks at what it has read again | for ever |
 * | `history-sweep:{history}` | string | which worker looks for what has ended and is in no list of it | a minute |
 * | `queue-layouts:{bull}` | sorted set | present and former numbers of the queues' shards, by since when | an hour after nothing is left |
 * | `left-layouts:{bull}` | sorted set | empty ones, by since when | as above |
 * | `served-shards:{bull}` | sorted set | prefixes of the shards that workers take jobs from, by when one last said so | 15 seconds |
 * | `resharding:{bull}` | string | which worker moves jobs to their home shards now | 2 seconds, 10 once nothing is left |
 * | `sending:{endpoint}:event` | string | the shard whose job is just being worked on while the queues are being split again | the end of the attempt, two minutes at most |
 *
 * Keys with `{bull}`, from `held` to `rejected-jobs`, exist once for each shard of the queues, with the
 * shard's own hash tag. BullMQ owns the keys below its prefix.
 */
export const keys = {
  accounts: 'accounts:{all}',
  accountIds: 'account-ids:{all}',
  erasedAccounts: 'erased-accounts:{all}',
  pauses: 'pauses:{all}',
  disabledEndpoints: 'disabled-endpoints:{all}',
  openBreakers: 'open-breakers:{all}',
  verificationsDue: 'verifications-due:{all}',
  verificationsUnderWay: 'verifications-under-way:{all}',
  requestedVerifications: (host: string) => `requested-verifications:{${host}}`,
  unprovenRequests: (hostOrAccount: string) => `unproven-requests:{${hostOrAccount}}`,
  contactAccounts: 'contact-accounts:{all}',
  confirmations: (targetOrAccount: string) => `confirmations:{${targetOrAccount}}`,
  allConfirmations: 'all-confirmations:{all}',
  expiringCertificates: 'expiring-certificates:{all}',
  workers: 'workers:{all}',
  workerReports: 'worker-reports:{all}',
  readings: 'readings:{all}',
  readingsTurn: 'readings-turn:{all}',
  accountLoads: (measure: string, hour: number) => `account-loads:{all}:${measure}:${hour}`,
  operationsSamples: 'operations-samples:{all}',
  apiKey: (id: string) => `api-key:{${id}}`,
  apiKeyUsed: (id: string) => `api-key-used:{${id}}`,
  apiKeyIds: (account: AccountId) => `api-key-ids:{${account}}`,
  apiKeysLeaving: (account: AccountId) => `api-keys-leaving:{${account}}`,
  portalSession: (id: string) => `portal-session:{${id}}`,
  portalSessionIds: (account: AccountId) => `portal-session-ids:{${account}}`,
  /** Of an API key or a portal session, or of the whole account. */
  rateLimit: (account: AccountId, apiKeyId?: string) =>
    apiKeyId === undefined ? `rate-limit:{${account}}` : `rate-limit:{${account}}:${apiKeyId}`,
  endpoints: (account: AccountId) => `endpoints:{${account}}`,
  endpointIds: (account: AccountId) => `endpoint-ids:{${account}}`,
  endpointUids: (account: AccountId) => `endpoint-uids:{${account}}`,
  endpointsVersion: (account: AccountId) => `endpoints-version:{${account}}`,
  signingKeys: (account: AccountId) => `signing-keys:{${account}}`,
  subscriptions: (account: AccountId) => `subscriptions:{${account}}`,
  usage: (account: AccountId) => `usage:{${account}}`,
  usedBytes: (account: AccountId) => `used-bytes:{${account}}`,
  codeBytes: (account: AccountId) => `code-bytes:{${account}}`,
  quota: (account: AccountId) => `quota:{${account}}`,
  contacts: (account: AccountId) => `contacts:{${account}}`,
  notified: (account: AccountId) => `told:{${account}}`,
  notifications: (account: AccountId) => `notifications:{${account}}`,
  notificationIds: (account: AccountId) => `notification-ids:{${account}}`,
  notificationsDue: (account: AccountId) => `notifications-due:{${account}}`,
  auditLog: (account: AccountId) => `audit-log:{${account}}`,
  auditIndex: 'audit-index:{all}',
  waitingAudit: (tag: string) => `unsettled-audit:{${tag}}`,
  waitingAudits: 'unsettled-audits:{all}',
  auditRefusals: (account: AccountId) => `audit-refusals:{${account}}`,
  allAuditRefusals: 'all-audit-refusals:{all}',
  eventTypes: '{event-types}',
  event: (account: AccountId, event: EventId) => `event:{${account}/${event}}`,
  scheduledFor: (account: AccountId, event: EventId) => `scheduled-for:{${account}/${event}}`,
  receivers: (account: AccountId, event: EventId) => `receivers:{${account}/${event}}`,
  events: (account: AccountId) => `events:{${account}}`,
  eventClaim: (account: AccountId, event: EventId) => `event-claim:{${account}/${event}}`,
  idempotency: (account: AccountId, request: string) => `idempotency:{${account}/${request}}`,
  /**
   * A pattern for the keys of an account's events and its idempotent responses. It may match keys of other
   * accounts too.
   */
  ofAnyEvent: (account: AccountId) => `*:{${account}/*`,
  deliveries: (endpoint: EndpointId) => `deliveries:{${endpoint}}`,
  replay: (replay: string) => `replay:{${replay}}`,
  replayed: (replay: string) => `replayed:{${replay}}`,
  replays: (endpoint: EndpointId) => `replays:{${endpoint}}`,
  runningReplays: (account: AccountId) => `running-replays:{${account}}`,
  answerBytes: (endpoint: EndpointId) => `answer-bytes:{${endpoint}}`,
  breaker: (endpoint: EndpointId) => `breaker:{${endpoint}}`,
  accessToken: (endpoint: EndpointId) => `access-token:{${endpoint}}`,
  recentAttempts: (endpoint: EndpointId) => `permits:{${endpoint}}`,
  rateWaiting: (endpoint: EndpointId) => `rate-waiting:{${endpoint}}`,
  order: (endpoint: EndpointId) => `order:{${endpoint}}`,
  orderWaiting: (endpoint: EndpointId) => `order-waiting:{${endpoint}}`,
  turn: (endpoint: EndpointId) => `turn:{${endpoint}}`,
  lanes: (endpoint: EndpointId) => `lines:{${endpoint}}`,
  ready: (endpoint: EndpointId) => `ready:{${endpoint}}`,
  coalescing: (endpoint: EndpointId) => `coalescing:{${endpoint}}`,
  lanesLook: (endpoint: EndpointId) => `lines-look:{${endpoint}}`,
  health: (endpoint: EndpointId) => `health:{${endpoint}}`,
  transformations: (endpoint: EndpointId) => `transformations:{${endpoint}}`,
  queueLayouts: 'queue-layouts:{bull}',
  leftLayouts: 'left-layouts:{bull}',
  servedShards: 'served-shards:{bull}',
  resharding: 'resharding:{bull}',
  sending: (endpoint: EndpointId, event: EventId) => `sending:{${endpoint}}:${event}`,
  listener: (endpoint: EndpointId) => `listener:{${endpoint}}`,
  listeners: 'listeners:{all}',
  watchedAccounts: 'watched-accounts:{all}',
  changes: (account: AccountId) => `changes:{${account}}`,
  mailbox: (process: string) => `mailbox:{${process}}`,
  writeCheck: (tag: number) => `write-check:{${tag}}`,
  epoch: (tag: number) => `epoch:{${tag}}`,
  rollbacks: 'rollbacks:{all}',
  ended: 'over:{history}',
  historyRefused: 'set-aside:{history}',
  erasures: 'erasures:{history}',
  /** Scripts build this name themselves. */
  keptLonger: (owner: AccountId | EndpointId) => `kept-longer:{${owner}}`,
  historySweep: 'history-sweep:{history}',
  lapsing: (endpoint: EndpointId, event: EventId) => `lapsing:{${endpoint}}:${event}`,
  moved: (account: AccountId, event: EventId) => `moved:{${account}/${event}}`,
  movedUntil: (account: AccountId) => `reach:{${account}}`,
  attemptsMovedUntil: (account: AccountId) => `attempt-reach:{${account}}`,
  pinnedEvent: (account: AccountId, event: EventId) => `pinned:{${account}/${event}}`,
  pinned: (endpoint: EndpointId, event: EventId) => `pinned:{${endpoint}}:${event}`,
  movedIds: (account: AccountId, part: number) => `moved-ids:{${account}}:${part}`,
  delivery: (endpoint: EndpointId, event: EventId) => `delivery:{${endpoint}}:${event}`,
  /** The prefix of the keys of an endpoint's deliveries. */
  deliveryPrefix: (endpoint: EndpointId) => `delivery:{${endpoint}}:`,
};

/**
 * The keys of a shard of the queues. They share the slot of BullMQ's own keys, so scripts read and write both
 * together.
 */
export function queueKeysOf(prefix: string) {
  // On one server the first shard has no hash tag: producers push there and know no tag.
  const tag = prefix.startsWith('{') ? prefix : `{${prefix}}`;
  return {
    /** Scripts build the names of lanes themselves from it. */
    tag,
    held: (endpoint: EndpointId) => `held:${tag}:${endpoint}`,
    lane: (lane: LaneName) => `lane:${tag}:${lane}`,
    carried: (lane: LaneName) => `carried:${tag}:${lane}`,
    grouped: (endpoint: EndpointId) => `grouped:${tag}:${endpoint}`,
    lines: (endpoint: EndpointId) => `lines:${tag}:${endpoint}`,
    batches: (endpoint: EndpointId) => `batches:${tag}:${endpoint}`,
    behindHeads: `behind-heads:${tag}`,
    /** Scripts build this name themselves, from the one above. */
    behindInBatches: `behind-heads:${tag}:batched`,
    wakeUps: `looks:${tag}`,
    heldCounts: `held-counts:${tag}`,
    countedAsHeld: `counted-as-held:${tag}`,
    fairOrder: (queue: string) => `fair-order:${tag}:${queue}`,
    /** Scripts build these names themselves, from the one above. */
    flows: (queue: string, account: AccountId) => `fair-order:${tag}:${queue}:${account}`,
    accountWeights: `account-weights:${tag}`,
    putBackEvents: (account: AccountId) => `put-back-events:${tag}:${account}`,
    rejectedJobs: `rejected-jobs:${tag}`,
    /** Scripts build this name themselves, from the account's id behind the name for ''. */
    scheduled: (account: AccountId | '') => `scheduled:${tag}:${account}`,
    scheduledAccounts: `scheduled-accounts:${tag}`,
    scheduledCount: `scheduled-count:${tag}`,
  };
}

export type ShardKeys = ReturnType<typeof queueKeysOf>;
