import type { ShownAccount } from '../accounts/accounts';
import type { AccountStore } from '../accounts/redis-account-store';
import type { PauseStore } from '../accounts/redis-pause-store';
import { type AccountId, accountNotFound, isThere } from '../domain/account';
import { type Act, AUDIT_ID_PREFIX } from '../domain/audit';
import type { Endpoint, EndpointId } from '../domain/endpoint';
import type { Emit } from '../domain/signal';
import { disable } from '../endpoints/disable';
import type { Endpoints } from '../endpoints/endpoints';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { AppError } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import type { NewId } from '../platform/ids';

export interface AccountPausesParts {
  readonly accountStore: AccountStore;
  readonly pauseStore: PauseStore;
  readonly endpointStore: EndpointStore;
  readonly endpoints: Endpoints;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** Who pauses or resumes. */
export interface PauseOrder {
  readonly act: Act;
  /** Makes the ids of the entries that the audit log has of each endpoint. */
  readonly newId: NewId;
}

export interface AccountPausing {
  /** After the call. */
  readonly account: ShownAccount;
  /** How many endpoints this call disabled or enabled. */
  readonly changed: number;
}

/** Endpoints of a page. */
const PAGE = 100;

/**
 * Pauses accounts. The record of the pause comes first, and decides: each step then brings one endpoint to where the record
 * has it, and looks at the record again behind it. So of a pause and a resumption at the same time the later one holds for
 * all endpoints. A call that broke off is completed by the same call again.
 */
export class AccountPauses {
  constructor(private readonly parts: AccountPausesParts) {}

  /**
   * Disable all endpoints of an account that are enabled, as its operator's wish: their deliveries are held. Its events are
   * accepted as before. Listeners are left alone: their deliveries go to who is connected. An account that is paused
   * already keeps who paused it, when, and why.
   *
   * @throws AppError `not_found`, also while the account is being erased; `secret_unreadable`.
   */
  async pause(id: AccountId, reason: string | undefined, order: PauseOrder): Promise<AccountPausing> {
    await this.#find(id);
    await this.parts.pauseStore.pause({ kind: 'account', id }, reason, order.act);
    return await this.#apply(id, order);
  }

  /**
   * Enable the endpoints that a pause has disabled, and no others. Their held deliveries are sent.
   *
   * @throws AppError `not_found`, also while the account is being erased; `secret_unreadable`.
   */
  async resume(id: AccountId, order: PauseOrder): Promise<AccountPausing> {
    await this.#find(id);
    await this.parts.pauseStore.resume({ kind: 'account', id }, order.act);
    return await this.#apply(id, order);
  }

  async #apply(id: AccountId, order: PauseOrder): Promise<AccountPausing> {
    let changed = 0;
    let before: EndpointId | undefined;
    do {
      const page = await this.parts.endpointStore.list(id, PAGE, before);
      for (const endpoint of page.endpoints) {
        if (await this.#settle(endpoint, order)) changed += 1;
      }
      before = page.nextCursor;
    } while (before !== undefined);
    const account = await this.parts.accountStore.find(id);
    if (!isThere(account)) {
      // An erasure that has begun since: it may have passed the place where it forgets the pause.
      await this.parts.pauseStore.forget(id);
      throw accountNotFound(id);
    }
    return { account: { ...account, pause: await this.#readPause(id) }, changed };
  }

  /** Gives whether it changed the endpoint. */
  async #settle({ accountId, id }: Endpoint, order: PauseOrder): Promise<boolean> {
    let hasChanged = false;
    for (;;) {
      const isPaused = (await this.#readPause(accountId)) !== undefined;
      const endpoint = await this.parts.endpointStore.find(accountId, id);
      if (!endpoint || endpoint.listener) return false;
      if (isPaused ? await this.#disable(endpoint, order) : await this.#enable(endpoint, order)) {
        hasChanged = true;
      }
      if (((await this.#readPause(accountId)) !== undefined) === isPaused) return hasChanged;
    }
  }

  async #disable({ accountId, id, status }: Endpoint, order: PauseOrder): Promise<boolean> {
    if (status === 'disabled') return false;
    const act = actOfEach('webhook.disable', order);
    return (await disable(this.parts, accountId, id, 'operator', undefined, act)).hasChanged;
  }

  async #enable({ accountId, id, disabledReason }: Endpoint, order: PauseOrder): Promise<boolean> {
    if (disabledReason !== 'operator') return false;
    try {
      await this.parts.endpoints.enable(accountId, id, actOfEach('webhook.enable', order));
      return true;
    } catch (error) {
      // It was deleted meanwhile.
      if (error instanceof AppError && error.code === 'not_found') return false;
      throw error;
    }
  }

  async #find(id: AccountId): Promise<void> {
    if (!isThere(await this.parts.accountStore.find(id))) throw accountNotFound(id);
  }

  async #readPause(id: AccountId) {
    return await this.parts.pauseStore.find({ kind: 'account', id });
  }
}

// In the log of the account, which does not show what the operator's has.
function actOfEach(action: 'webhook.disable' | 'webhook.enable', { act, newId }: PauseOrder): Act {
  return { ...act, action, id: newId(AUDIT_ID_PREFIX) };
}
