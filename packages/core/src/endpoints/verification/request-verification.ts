import type { AccountId } from '../../domain/account';
import type { Act } from '../../domain/audit';
import { type Endpoint, type EndpointRef, endpointNotFound, isAsleep } from '../../domain/endpoint';
import type { Emit } from '../../domain/signal';
import { hostOf } from '../../domain/target-url';
import { AppError } from '../../platform/app-error';
import type { Clock } from '../../platform/clock';
import type { EndpointStore } from '../redis-endpoint-store';
import { ASKED_AN_HOUR, type VerificationStore } from './redis-verification-store';
import { withAnotherTry } from './verify';

/** A change of an endpoint's record may take this long. */
export const CHANGE_MS = 3_000;

export interface RequestVerificationContext {
  readonly endpointStore: Pick<EndpointStore, 'idOf' | 'find' | 'update'>;
  readonly verificationStore: Pick<VerificationStore, 'ask' | 'takeFromHost'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

/**
 * Try once more to verify an endpoint, now. Of all endpoints at one host only a few an hour, and fewer of one account: otherwise this
 * would be a way to send requests to somebody who never asked for any.
 *
 * @throws AppError `not_found`, `conflict` when there is nothing to verify or it is disabled, `rate_limited`.
 */
export async function requestVerification(
  context: RequestVerificationContext,
  accountId: AccountId,
  ref: EndpointRef,
  act?: Act,
): Promise<Endpoint> {
  const { endpointStore, verificationStore, clock, emit } = context;
  const id = await endpointStore.idOf(accountId, ref);
  const endpoint = mustExist(id && (await endpointStore.find(accountId, id)));
  // Requests that are refused anyway must not count.
  withAnotherTry(endpoint, clock());
  const address = { accountId, endpointId: endpoint.id };
  await takeFromHost(context, endpoint);
  // Ask first: the try comes even if this process ends right after the change.
  await verificationStore.ask(address, clock() + CHANGE_MS);
  const tryAgain = (current: Endpoint) => withAnotherTry(mustExist(current), clock());
  const asked = await endpointStore.update(accountId, endpoint.id, tryAgain, act);
  await verificationStore.ask(address, clock());
  emit({ name: 'endpoint.updated', ...address });
  return mustExist(asked);
}

async function takeFromHost(
  { verificationStore }: RequestVerificationContext,
  { accountId, url }: Endpoint,
): Promise<void> {
  const retryAfterMs = await verificationStore.takeFromHost(accountId, hostOf(new URL(url)));
  if (retryAfterMs === 0) return;
  throw new AppError(
    'rate_limited',
    `Webhooks at one host are verified at most ${ASKED_AN_HOUR.ofAccount} times an hour on request for one account, and ${ASKED_AN_HOUR.ofAll} times for all together. Try again later.`,
    { retryAfterMs },
  );
}

function mustExist(endpoint: Endpoint | '' | undefined): Endpoint {
  if (!endpoint || isAsleep(endpoint)) throw endpointNotFound();
  return endpoint;
}
