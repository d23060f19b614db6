import { deliveryIdOf } from '../../domain/delivery';
import type { ClaimedEntry, EndedClaim } from '../../events/redis-ended-list';
import type { MoverParts } from './mover-parts';

/** The results of claimed entries. An entry without a result is due again, unchanged. */
export class ClaimResults {
  /** When each is due again; `undefined`: never. */
  readonly #endedAt: Map<ClaimedEntry, number | undefined>;
  #moved = 0;

  constructor(
    private readonly parts: MoverParts,
    private readonly claim: EndedClaim,
  ) {
    this.#endedAt = new Map(claim.entries.map((entry) => [entry, entry.endedAt]));
  }

  /** How many deliveries and events without any have left Redis. */
  get moved(): number {
    return this.#moved;
  }

  /** There is nothing more to do. */
  done(entry: ClaimedEntry): void {
    this.#endedAt.set(entry, undefined);
  }

  hasMoved(entry: ClaimedEntry): void {
    this.done(entry);
    this.#moved += 1;
  }

  later(entry: ClaimedEntry, delayMs: number): void {
    this.#endedAt.set(entry, this.#soThatDueIn(delayMs));
  }

  /** It can't move. It stays in Redis, and the log has a line about it. */
  async refuse(entry: ClaimedEntry, code: string, reason: string): Promise<void> {
    const { endedList, clock, emit } = this.parts;
    const { accountId, eventId, endpointId } = entry;
    if (!(await endedList.noteRefused(this.claim, entry, { since: clock(), reason }))) return;
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
    const results = entries.map((entry) => ({ entry, endedAt: entry.endedAt }));
    await this.parts.endedList.endClaim(this.claim, results);
  }

  // The list has since when something has ended.
  #soThatDueIn(delayMs: number): number {
    return this.parts.clock() + delayMs - this.parts.moveAfterMs;
  }

  /** Update the list. Entries that were refused, or ended again since, are not changed. */
  async end(): Promise<void> {
    const results = [...this.#endedAt].map(([entry, endedAt]) => ({ entry, endedAt }));
    await this.parts.endedList.endClaim(this.claim, results);
  }
}
