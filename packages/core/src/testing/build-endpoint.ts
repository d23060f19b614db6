import type { Endpoint } from '../domain/endpoint';
import { newSecret } from '../endpoints/rotate-secret';
import { uniqueAccountId, uniqueEndpointId } from './unique-ids';

/** An endpoint that subscribes to everything, in an account of its own unless `change` names one. */
export function buildEndpoint(change: Partial<Endpoint> = {}): Endpoint {
  return {
    id: uniqueEndpointId(),
    accountId: uniqueAccountId(),
    url: 'https://receiver.example.com/hooks',
    events: ['*'],
    status: 'enabled',
    ordering: 'none',
    signing: 'hmac',
    format: 'native',
    rateLimitUnit: 'requests',
    whileDisabled: 'hold',
    secrets: [{ secret: newSecret(), createdAt: 1_700_000_000_000 }],
    createdAt: 1_700_000_000_000,
    updatedAt: 1_700_000_000_000,
    ...change,
  };
}
