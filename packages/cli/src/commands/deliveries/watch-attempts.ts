import type { Client } from '@hookferry/client';
import type { Attempt, Delivery } from '../../resources';

export interface NewAttempt {
  readonly delivery: Delivery;
  readonly attempt: Attempt;
}

/** How far back an endpoint's deliveries are looked at: one page, the longest that there is. */
export const WATCHED_DELIVERIES = 200;

/**
 * Finds the attempts that were made since it last looked. Each look reads one list per endpoint, and those deliveries alone
 * that have changed.
 */
export class WatchAttempts {
  readonly #countByDelivery = new Map<string, ReadonlyMap<string, number>>();

  constructor(private readonly client: Client) {}

  /** The newest deliveries of the endpoint with their new attempts, in the order in which they were made. */
  async look(endpointId: string): Promise<readonly NewAttempt[]> {
    const known = this.#countByDelivery.get(endpointId);
    const deliveries = await this.#readNewest(endpointId);
    const counts = deliveries.map(({ id, attempt_count }) => [id, attempt_count] as const);
    this.#countByDelivery.set(endpointId, new Map(counts));
    // The first look only learns what was there before.
    if (known === undefined) return [];
    const found: NewAttempt[] = [];
    for (const delivery of deliveries) {
      const before = known.get(delivery.id) ?? 0;
      if (delivery.attempt_count > before) found.push(...(await this.#readAfter(delivery, before)));
    }
    return found.sort((a, b) => a.attempt.started_at.localeCompare(b.attempt.started_at));
  }

  /** Whether there may have been more new deliveries than a look can see. */
  isOverrun(endpointId: string, found: readonly NewAttempt[]): boolean {
    const isFull = this.#countByDelivery.get(endpointId)?.size === WATCHED_DELIVERIES;
    return isFull && new Set(found.map(({ delivery }) => delivery.id)).size === WATCHED_DELIVERIES;
  }

  async #readNewest(id: string): Promise<readonly Delivery[]> {
    const params = { path: { id }, query: { limit: WATCHED_DELIVERIES } };
    return (await this.client.GET('/v1/webhooks/{id}/deliveries', { params })).data;
  }

  async #readAfter(delivery: Delivery, count: number): Promise<readonly NewAttempt[]> {
    const params = { path: { id: delivery.id } };
    const { attempts } = await this.client.GET('/v1/deliveries/{id}', { params });
    // One that was made between the two readings is left for the next look.
    return attempts
      .filter(({ number }) => number > count && number <= delivery.attempt_count)
      .map((attempt) => ({ delivery, attempt }));
  }
}
