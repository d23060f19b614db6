import { deliveryIdOf } from '../model/delivery';
import type { Signal } from '../model/signal';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from './unique-ids';

type Named<Name extends Signal['name']> = Extract<Signal, { readonly name: Name }>;

const eventId = uniqueEventId();
const endpointId = uniqueEndpointId();
const accountId = uniqueAccountId();
const deliveryId = deliveryIdOf({ eventId, endpointId });
const type = 'keyword.quick_win';

/** One signal of each name. */
export const signalSamples: { readonly [Name in Signal['name']]: Named<Name> } = {
  'request.completed': {
    name: 'request.completed',
    requestId: 'req_1',
    method: 'GET',
    route: '/v1/webhooks/:id',
    status: 200,
    durationMs: 12,
    clientAddress: '192.0.2.1',
    accountId,
    keyId: '0123456789abcdef',
    code: 'invalid_request',
  },
  'library.warned': { name: 'library.warned', text: 'IMPORTANT! Eviction policy is allkeys-lru.' },
  'redis.back': { name: 'redis.back', connection: 'api', awayMs: 1_200 },
  'connection.refused': { name: 'connection.refused', reason: 'too_slow', clientAddress: '192.0.2.1' },
  'request.failed': { name: 'request.failed', requestId: 'req_1', error: new Error('no luck') },
  'event.accepted': { name: 'event.accepted', source: 'http', accountId, eventId, type, bytes: 90 },
  'event.queued': { name: 'event.queued', accountId, eventId, type, durationMs: 3 },
  'event.dropped': { name: 'event.dropped', jobId: '17', accountId },
  'account.erasing': { name: 'account.erasing', accountId },
  'account.erased': { name: 'account.erased', accountId, durationMs: 12_000 },
  'event.payload_erased': { name: 'event.payload_erased', accountId, eventId },
  'event.rejected': { name: 'event.rejected', jobId: '17', code: 'invalid_request', reason: 'no type' },
  'operational_event.raised': {
    name: 'operational_event.raised',
    accountId,
    eventId,
    type: 'webhook.failing',
  },
  'event.fanned_out': { name: 'event.fanned_out', accountId, eventId, type, deliveries: 3, durationMs: 4 },
  'delivery.attempted': {
    name: 'delivery.attempted',
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
  'delivery.requested': { name: 'delivery.requested', deliveryId, eventId, endpointId, trigger: 'manual' },
  'replay.ended': {
    name: 'replay.ended',
    replayId: 'rpl_1',
    endpointId,
    mode: 'failed',
    status: 'done',
    found: 3,
    enqueued: 3,
  },
  'delivery.blocked': {
    name: 'delivery.blocked',
    host: 'db.example.com',
    address: '10.0.0.1',
    reason: 'private',
  },
  'listener.connected': { name: 'listener.connected', endpointId },
  'listener.lost': { name: 'listener.lost', endpointId, reason: 'it hung up' },
  'delivery.unsent': {
    name: 'delivery.unsent',
    eventId,
    endpointId,
    error: 'The proxy answered 407 instead of opening a tunnel.',
  },
  'delivery.ended': {
    name: 'delivery.ended',
    deliveryId,
    eventId,
    endpointId,
    status: 'delivered',
    lagMs: 70,
  },
  'delivery.follow_up_failed': {
    name: 'delivery.follow_up_failed',
    deliveryId,
    error: new Error('no luck'),
  },
  'delivery.held': { name: 'delivery.held', eventId, endpointId, reason: 'disabled' },
  'delivery.moved': { name: 'delivery.moved', eventId, endpointId, reason: 'slow' },
  'breaker.opened': { name: 'breaker.opened', endpointId, failures: 5, openForMs: 1_000 },
  'breaker.closed': { name: 'breaker.closed', endpointId },
  'endpoint.disabled': { name: 'endpoint.disabled', endpointId, reason: 'gone' },
  'job.interrupted': { name: 'job.interrupted', queue: 'events', jobId: '17', error: new Error('no luck') },
  'job.failed': {
    name: 'job.failed',
    queue: 'events',
    jobId: '17',
    error: new Error('no luck'),
    isForGood: true,
  },
  'job.too_new': { name: 'job.too_new', queue: 'deliveries', jobId: '17', version: 2 },
  'dead_letter.redriven': { name: 'dead_letter.redriven', queue: 'events', jobId: '17' },
  'dead_letter.dropped': { name: 'dead_letter.dropped', queue: 'events', jobId: '17' },
  'dead_letter.displaced': { name: 'dead_letter.displaced', queue: 'events', jobId: '17' },
  'task.failed': { name: 'task.failed', task: 'record health', error: new Error('no luck') },
  'shards.changed': { name: 'shards.changed', inForce: 4 },
  'shards.disagree': { name: 'shards.disagree', wanted: 1, inForce: 4 },
  'shards.unserved': { name: 'shards.unserved', shards: '1,3' },
  'quota.exceeded': { name: 'quota.exceeded', accountId, door: 'queue' },
  'attempts.archived': { name: 'attempts.archived', count: 20 },
  'archive.failed': { name: 'archive.failed', error: new Error('no luck') },
  'archive.refused': { name: 'archive.refused', entryId: '1795262401000-0', reason: '22P05: no luck' },
  'redis.error': { name: 'redis.error', connection: 'api-store', error: new Error('no luck') },
  'worker.stalled': { name: 'worker.stalled', queue: 'deliveries', forMs: 60_000 },
  'redis.unsafe': { name: 'redis.unsafe', detail: 'appendonly is no.' },
  'secrets.unprotected': {
    name: 'secrets.unprotected',
    detail:
      'INSECURE_UNENCRYPTED_SECRETS is set, and no SECRETS_ENCRYPTION_KEY: secrets are stored as plain text.',
  },
  'process.started': { name: 'process.started', detail: 'API on http://0.0.0.0:3000' },
  'process.stopping': { name: 'process.stopping', detail: 'SIGTERM' },
  'process.stopped': { name: 'process.stopped' },
  'process.fault': {
    name: 'process.fault',
    detail: 'Stopping the queue failed.',
    error: new Error('no luck'),
  },
};
