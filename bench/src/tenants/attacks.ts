import type { Attack } from './attack';
import { portalSessions, revokedStreams } from './credential-attacks';
import { burst, fanOut, hangingEndpoints, replays } from './delivery-attacks';
import { compressedBodies, halfRequests, wrongKeys } from './entry-attacks';
import { listsBehindStreams, unreadDescriptions, unreadLists } from './pipelining-attacks';
import {
  batches,
  customSchemas,
  deepJson,
  idempotentAnswers,
  manyItems,
  paddedBatches,
  webhookIds,
} from './publishing-attacks';
import { deliveryExports, eventDetails, fatPatches, filteredLists } from './reading-attacks';

/** All attacks, by the names that the command line knows them by. */
export const attacks: ReadonlyMap<string, Attack> = new Map([
  ['batches', batches],
  ['compressed', compressedBodies],
  ['deep-json', deepJson],
  ['many-items', manyItems],
  ['webhook-ids', webhookIds],
  ['filtered-lists', filteredLists],
  ['fat-patches', fatPatches],
  ['idempotent-answers', idempotentAnswers],
  ['replays', replays],
  ['schemas', customSchemas],
  ['wrong-keys', wrongKeys],
  ['event-details', eventDetails],
  ['exports', deliveryExports],
  ['burst', burst],
  ['hanging', hangingEndpoints],
  ['fan-out', fanOut],
  ['half-requests', halfRequests],
  ['portal-sessions', portalSessions],
  ['revoked-streams', revokedStreams],
  ['behind-streams', listsBehindStreams],
  ['unread-lists', unreadLists],
  ['unread-docs', unreadDescriptions],
  ['padded-batches', paddedBatches],
]);
