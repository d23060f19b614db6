import type { Client } from '@hookferry/client';
import type { Attempt, Delivery } from '../../resources';

export interface MissedAttempt {
  readonly delivery: Pick<Delivery, 'id' | 'event_id' | 'webhook_id' | 'event_type'>;
  readonly attempt: Pick<Attempt, 'number' | 'outcome' | 'response_status'>;
  readonly at: string;
}

// How far back is looked: one page, the longest that there is.
const LOOKED_AT = 200;
const REMEMBERED = 10_000;

/** Remembers which attempts were shown, and finds those that were made meanwhile: for when the stream says that it lacks some. */
export class MissedAttempts {
  readonly #countByDelivery = new Map<string, number>();

  /** @param since when it was begun to show attempts; of one webhook alone if that is named. */
  constructor(
    private readonly client: Client,
    private readonly since: string,
    private readonly webhook?: string,
  ) {}

  note(deliveryId: string, attemptCount: number): void {
    this.#countByDelivery.set(deliveryId, attemptCount);
    const [oldest] = this.#countByDelivery.keys();
    if (this.#countByDelivery.size > REMEMBERED && oldest !== undefined) this.#countByDelivery.delete(oldest);
  }

  /** Those of the newest deliveries, in the order in which they were made. */
  async find(): Promise<readonly MissedAttempt[]> {
    const query = { limit: LOOKED_AT, ...(this.webhook !== undefined && { webhook_id: this.webhook }) };
    const { data } = await this.client.GET('/v1/deliveries', { params: { query } });
    const missed: MissedAttempt[] = [];
    for (const delivery of data) {
      if (delivery.attempt_count > this.#shownOf(delivery)) missed.push(...(await this.#read(delivery)));
    }
    return missed.sort((a, b) => a.at.localeCompare(b.at));
  }

  // What was made before, of deliveries that nothing was shown of, is not missing.
  async #read(delivery: Delivery): Promise<readonly MissedAttempt[]> {
    const shown = this.#shownOf(delivery);
    const params = { path: { id: delivery.id } };
    const { attempts } = await this.client.GET('/v1/deliveries/{id}', { params });
    return attempts
      .filter(({ number, started_at }) => number > shown && started_at >= this.since)
      .map((attempt) => ({ delivery, attempt, at: attempt.started_at }));
  }

  #shownOf({ id }: Pick<Delivery, 'id'>): number {
    return this.#countByDelivery.get(id) ?? 0;
  }
}
