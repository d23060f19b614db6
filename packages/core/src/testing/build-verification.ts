import { AccountStore } from '../accounts/redis-account-store';
import type { EndpointVerification } from '../domain/verification';
import { UnprovenRequests } from '../endpoints/verification/redis-unproven-requests';
import { VerificationStore } from '../endpoints/verification/redis-verification-store';
import { VerificationPolicy } from '../endpoints/verification/verify';
import type { RedisClient } from '../platform/redis-connect';

export const TEST_ORIGIN = 'hooks.example.com';

/** What decides whether endpoints have to be verified, and when tries are due. */
export function buildVerification(redis: RedisClient, byDefault: EndpointVerification = 'off') {
  return {
    verificationPolicy: new VerificationPolicy(new AccountStore(redis), {
      ENDPOINT_VERIFICATION: byDefault,
      WEBHOOK_REQUEST_ORIGIN: TEST_ORIGIN,
    }),
    verificationStore: new VerificationStore(redis),
    unprovenRequests: new UnprovenRequests(redis),
  };
}
