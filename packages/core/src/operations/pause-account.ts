import type { AccountId } from '../domain/account';
import type { Act } from '../domain/audit';
import type { Endpoint, EndpointId } from '../domain/endpoint';
import { type DisableParts, disable } from '../endpoints/disable';
import type { Endpoints } from '../endpoints/endpoints';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';

interface PausedRecords {
  readonly endpointStore: EndpointStore;
}

/** Endpoints of a page. */
const PAGE = 100;

/**
 * Disable all endpoints of an account that are enabled, as its operator's wish: what they would get is held. Its events are
 * accepted as before. Repeat it if it broke off. Listeners are left alone: their deliveries go to who is connected.
 *
 * @param actOf makes the audit log's entry for each.
 * @returns how many this call disabled.
 */
export async function pauseAccount(
  context: PausedRecords & DisableParts,
  accountId: AccountId,
  actOf: () => Act,
): Promise<number> {
  let count = 0;
  for await (const endpoint of eachEndpoint(context, accountId)) {
    if (endpoint.status === 'disabled' || endpoint.listener) continue;
    const { hasChanged } = await disable(context, accountId, endpoint.id, 'operator', undefined, actOf());
    if (hasChanged) count += 1;
  }
  return count;
}

/**
 * Enable the endpoints that a pause has disabled, and no others. Their held deliveries are sent.
 *
 * @returns how many this call enabled.
 */
export async function resumeAccount(
  context: PausedRecords & { readonly endpoints: Endpoints },
  accountId: AccountId,
  actOf: () => Act,
): Promise<number> {
  let count = 0;
  for await (const { id, disabledReason } of eachEndpoint(context, accountId)) {
    if (disabledReason !== 'operator') continue;
    await context.endpoints.enable(accountId, id, actOf());
    count += 1;
  }
  return count;
}

async function* eachEndpoint(
  { endpointStore }: PausedRecords,
  accountId: AccountId,
): AsyncGenerator<Endpoint> {
  let before: EndpointId | undefined;
  do {
    const page = await endpointStore.list(accountId, PAGE, before);
    yield* page.endpoints;
    before = page.nextCursor;
  } while (before !== undefined);
}
