// Publishes what the store's outbox holds, each event for its tenant. A row goes when Hookferry has acknowledged it.
import { WebhooksApiError } from '@hookferry/client';

const AGAIN_AFTER_MS = 2_000;

export class Outbox {
  #store;
  #client;
  #timer;
  #isWoken = false;
  #running;
  #stopped = false;

  constructor({ store, client }) {
    this.#store = store;
    this.#client = client;
  }

  /** Call it at the start, for what a crash has left, and after each commit. */
  wake() {
    clearTimeout(this.#timer);
    this.#isWoken = true;
    this.#running ??= this.#run();
  }

  async stop() {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** The account at Hookferry has the tenant's id. Also when Hookferry was away while the tenant signed up. */
  async ensureAccount({ id, name, has_account }) {
    if (has_account) return;
    try {
      await this.#client.POST('/v1/accounts', { body: { id, name } });
    } catch (error) {
      // Made before, by a process that ended before it could write that down.
      if (!(error instanceof WebhooksApiError && error.code === 'conflict')) throw error;
    }
    this.#store.accountMade(id);
  }

  async #run() {
    while (this.#isWoken && !this.#stopped) {
      this.#isWoken = false;
      const isLeft = !(await this.#publishAll());
      if (isLeft && !this.#stopped) this.#timer = setTimeout(() => this.wake(), AGAIN_AFTER_MS);
    }
    this.#running = undefined;
  }

  /** Returns false if something is left. */
  async #publishAll() {
    let isDone = true;
    try {
      for (const tenantId of this.#store.tenantsToPublishFor()) {
        if (!(await this.#publishFor(tenantId))) isDone = false;
      }
      return isDone;
    } catch (error) {
      console.error(`The outbox waits: ${error.message}`);
      return false;
    }
  }

  /** In order. Returns false if something is left: other tenants don't wait for it. */
  async #publishFor(tenantId) {
    try {
      for (let row = this.#next(tenantId); row; row = this.#next(tenantId)) {
        await this.ensureAccount(this.#store.tenant(tenantId));
        await this.#publish(row);
      }
      return true;
    } catch (error) {
      if (!(error instanceof WebhooksApiError)) throw error;
      // Its quota is used up, for example.
      console.error(`The outbox of ${tenantId} waits: ${error.message}`);
      return false;
    }
  }

  #next(tenantId) {
    return this.#stopped ? undefined : this.#store.nextInOutbox(tenantId);
  }

  async #publish({ id, tenant_id, type, data }) {
    try {
      await this.#client.POST('/v1/events', {
        body: { type, id, data: JSON.parse(data) },
        headers: { 'X-Account-Id': tenant_id },
      });
      this.#store.published(id);
    } catch (error) {
      if (!isForGood(error)) throw error;
      // The next ones go on. Somebody has to look at this one.
      console.error(`${id} was refused: ${error.message}`);
      this.#store.refused(id, error.message);
    }
  }
}

/** The same again would be refused again: invalid data, or another event has this id. */
function isForGood(error) {
  return error instanceof WebhooksApiError && ['invalid_request', 'event_id_conflict'].includes(error.code);
}
