import { deliveryIdOf } from '../../domain/delivery';
import type { ClaimedEntry, OverClaim } from '../../events/redis-over-list';
import type { MoverParts } from './mover-parts';

/** The results of claimed entries. An entry without a result is due again, unchanged. */
export class Settlement {
  /** When each is due again; `undefined`: never. */
  readonly #overAt: Map<ClaimedEntry, number | undefined>;
  #moved = 0;

  constructor(
    private readonly parts: MoverParts,
    private readonly claim: OverClaim,
  ) {
    this.#overAt = new Map(claim.entries.map((entry) => [entry, entry.overAt]));
  }

  /** How many deliveries and events without any have left Redis. */
  get moved(): number {
    return this.#moved;
  }

  /** There is nothing more to do. */
  done(entry: ClaimedEntry): void {
    this.#overAt.set(entry, undefined);
  }

  hasMoved(entry: ClaimedEntry): void {
    this.done(entry);
    this.#moved += 1;
  }

  later(entry: ClaimedEntry, delayMs: number): void {
    this.#overAt.set(entry, this.#soThatDueIn(delayMs));
  }

  /** An event whose deliveries have all moved has to be looked at once more. */
  async addEvent({ accountId, eventId }: ClaimedEntry, delayMs: number): Promise<void> {
    await this.parts.overList.add({ accountId, eventId }, this.#soThatDueIn(delayMs));
  }

  /** It can't move. It stays in Redis, and the log has a line about it. */
  async setAside(entry: ClaimedEntry, code: string, reason: string): Promise<void> {
    const { overList, clock, emit } = this.parts;
    const { accountId, eventId, endpointId } = entry;
    if (!(await overList.setAside(this.claim, entry, { since: clock(), reason }))) return;
    const deliveryId = endpointId && deliveryIdOf({ eventId, endpointId });
    emit({
      name: 'history.row_refused',
      accountId,
      eventId,
      code,
      reason,
      ...(deliveryId === undefined ? {} : { deliveryId }),
    });
  }

  /** Let all of them come again as they were. */
  async giveBack(): Promise<void> {
    const { entries } = this.claim;
    const settled = entries.map((entry) => ({ entry, overAt: entry.overAt }));
    await this.parts.overList.settle(this.claim, settled);
  }

  // The list has since when something is over.
  #soThatDueIn(delayMs: number): number {
    return this.parts.clock() + delayMs - this.parts.moveAfterMs;
  }

  /** Update the list. Entries that were set aside, or finished again since, are not changed. */
  async end(): Promise<void> {
    const settled = [...this.#overAt].map(([entry, overAt]) => ({ entry, overAt }));
    await this.parts.overList.settle(this.claim, settled);
  }
}
