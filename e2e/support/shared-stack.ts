import { randomUUID } from 'node:crypto';
import { scopes } from '@hookferry/core/domain/account';
import { ApiClient } from './api-client';

/** The variable that says where the shared service is. */
export const SHARED_STACK = 'SHARED_STACK';

export interface SharedAddress {
  readonly baseUrl: string;
  readonly apiKey: string;
}

/**
 * Opens an account in the service that all flows share, and gives a client with a key of that account. The service has
 * the usual settings, two workers, and two retries after 100 ms each. A test that kills something, reads logs or needs
 * other settings starts its own (`Stack.start`).
 */
export async function openAccount(): Promise<ApiClient> {
  const { baseUrl, apiKey } = JSON.parse(process.env[SHARED_STACK] ?? '{}') as SharedAddress;
  const operator = new ApiClient(baseUrl, apiKey);
  const id = `flow-${randomUUID()}`;
  const isOnce = { 'idempotency-key': id };
  await operator.expect(201, 'POST', '/v1/accounts', { id }, isOnce);
  // Only a key of the operator's account may act for others.
  const key = { name: 'flow', scopes: scopes.filter((scope) => scope !== 'accounts:act') };
  const { body } = await operator.expect<{ key: string }>(201, 'POST', '/v1/api-keys', key, {
    'x-account-id': id,
    ...isOnce,
  });
  return new ApiClient(baseUrl, body.key);
}
