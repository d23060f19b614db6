import type { IndexedEntry } from '../../accounts/audit/redis-audit-log';
import { settledWithin, WakeUpTimer } from '../../platform/timers';
import type { MoverParts } from './mover-parts';

const AT_ONCE = 500;
// Readers see it in either place, so nobody waits for it.
const EVERY_MS = 5_000;
const REMOVE_EVERY_MS = 3_600_000;
/** A change whose entry is listed is made, or has failed, long before. */
const PENDING_MS = 5 * 60_000;
const STOP_PATIENCE_MS = 4_000;

/**
 * Moves the audit log to the history, where it is kept for as long as it is to be. An entry leaves Redis only when
 * PostgreSQL has it on its disk. Any number of workers may do so at the same time.
 */
export class AuditMover {
  readonly #timer = new WakeUpTimer(() => this.#run());
  #isStopping = false;
  #removedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly parts: MoverParts) {}

  start(): void {
    this.#timer.wakeUpIn(0);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await settledWithin(STOP_PATIENCE_MS, this.#timer.stop());
  }

  /** Move what there is, and let go of what is too old. */
  async runOnce(): Promise<void> {
    const { auditLog, clock } = this.parts;
    let after: string | undefined;
    do {
      const listed = await auditLog.listOldest(AT_ONCE, after);
      await this.#move(listed);
      after = listed.length < AT_ONCE ? undefined : listed.at(-1)?.member;
    } while (after !== undefined && !this.#isStopping);
    if (clock() - this.#removedAt < REMOVE_EVERY_MS) return;
    await this.parts.pgAuditLog.removeBefore(clock() - this.parts.auditBounds.ageMs);
    this.#removedAt = clock();
  }

  async #move(listed: readonly IndexedEntry[]): Promise<void> {
    const { auditLog, pgAuditLog, clock } = this.parts;
    const entries = listed.flatMap(({ entry }) => entry ?? []);
    if (entries.length > 0) await pgAuditLog.add(entries);
    // Its change was not made, or it is on its way there.
    const isObsolete = ({ entry, at }: IndexedEntry) => entry !== undefined || at < clock() - PENDING_MS;
    await auditLog.forget(listed.filter(isObsolete));
  }

  async #run(): Promise<void> {
    try {
      await this.runOnce();
    } catch (error) {
      if (!this.#isStopping) this.parts.emit({ name: 'history.failed', error });
    }
    this.#timer.wakeUpIn(EVERY_MS);
  }
}
