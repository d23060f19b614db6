import type { AuditBounds, AuditEntry } from '../../domain/audit';
import type { Emit } from '../../domain/signal';
import type { Clock } from '../../platform/clock';
import { settledWithin, WakeUpTimer } from '../../platform/timers';
import type { AuditLog, IndexedEntry } from './redis-audit-log';

export interface AuditCompleterParts {
  readonly auditLog: AuditLog;
  readonly auditBounds: AuditBounds;
  readonly onRecorded: (entry: AuditEntry) => void;
  readonly clock: Clock;
  readonly emit: Emit;
}

const AT_ONCE = 500;
const EVERY_MS = 5_000;
/** The process that made a change puts its entry into the log right after it, in less than this time. */
const LEFT_MS = 10_000;
/** A change whose entry is listed is made, or has failed, long before. */
const PENDING_MS = 5 * 60_000;
const STOP_PATIENCE_MS = 4_000;

/**
 * Puts entries into their logs whose process has ended between their change and that, which happens in a Cluster alone.
 * Any number of workers may do so at the same time.
 */
export class AuditCompleter {
  readonly #timer = new WakeUpTimer(() => this.#run());
  #isStopping = false;

  constructor(private readonly parts: AuditCompleterParts) {}

  start(): void {
    if (this.parts.auditLog.isSpread) this.#timer.wakeUpIn(EVERY_MS);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await settledWithin(STOP_PATIENCE_MS, this.#timer.stop());
  }

  /** Complete all that were left. */
  async runOnce(): Promise<void> {
    const { auditLog, clock } = this.parts;
    const until = clock() - LEFT_MS;
    let after: string | undefined;
    do {
      const listed = await auditLog.listWaiting(until, AT_ONCE, after);
      await this.#complete(listed);
      after = listed.length < AT_ONCE ? undefined : listed.at(-1)?.member;
    } while (after !== undefined && !this.#isStopping);
  }

  async #complete(listed: readonly IndexedEntry[]): Promise<void> {
    const { auditLog, auditBounds, onRecorded, clock } = this.parts;
    for (const { member, entry } of listed) {
      if (!entry) continue;
      await auditLog.putIntoLog(member, entry, auditBounds);
      onRecorded(entry);
    }
    const isObsolete = ({ entry, at }: IndexedEntry) => entry === undefined && at < clock() - PENDING_MS;
    await auditLog.forgetWaiting(listed.filter(isObsolete).map(({ member }) => member));
  }

  async #run(): Promise<void> {
    try {
      await this.runOnce();
    } catch (error) {
      if (!this.#isStopping) this.parts.emit({ name: 'task.failed', task: 'complete the audit log', error });
    }
    this.#timer.wakeUpIn(EVERY_MS);
  }
}
