import type { Act } from '../domain/audit';
import { createNewId } from '../platform/ids';

const newId = createNewId(Date.now);

/** An act of an API key, with a new id. */
export function buildAct(change: Partial<Act> = {}): Act {
  return {
    id: newId('aud'),
    at: Date.now(),
    actor: { type: 'api_key', id: '0123456789abcdef' },
    action: 'webhook.update',
    address: '192.0.2.7',
    requestId: 'req_1',
    bounds: { count: 1_000, ageMs: 86_400_000 },
    ...change,
  };
}
