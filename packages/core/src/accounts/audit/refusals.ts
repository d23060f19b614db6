import type { AuditBounds, AuditEntry } from '../../domain/audit';
import { keys } from '../../domain/keys';
import type { Emit } from '../../domain/signal';
import type { Clock } from '../../platform/clock';
import type { RedisClient } from '../../platform/redis-connect';
import { settledWithin } from '../../platform/timers';
import { addEntry } from './redis-audit-entries.script';
import { oldestId } from './redis-recorded-change';

export const KEPT_OF_ACCOUNT = 1_000;
const KEPT_OF_ALL = 10_000;

export interface RefusalsParts {
  readonly redis: RedisClient;
  readonly auditBounds: AuditBounds;
  readonly clock: Clock;
  readonly emit: Emit;
}

const SECOND_MS = 1_000;
// A person who mistypes stays below it, and a flood costs no more than this.
const MOST_OF_ONE = 10;
const MOST_OF_ALL = 100;
const STOP_PATIENCE_MS = 1_000;

/** Records in the audit log what was refused, apart from changes: no number of refusals displaces a change. */
export class Refusals {
  readonly #underWay = new Set<Promise<void>>();
  #second = 0;
  #noted = new Map<string, number>();
  #all = 0;
  #leftOut = 0;

  constructor(private readonly parts: RefusalsParts) {}

  async record(entry: AuditEntry): Promise<void> {
    const { redis, auditBounds } = this.parts;
    const { id, at, accountId } = entry;
    const { ageMs: keptMs } = auditBounds;
    const added = { id, text: JSON.stringify(entry), oldest: oldestId(at - keptMs), keptMs };
    await addEntry({ log: keys.allAuditRefusals, most: KEPT_OF_ALL, ...added })(redis);
    if (accountId === undefined) return;
    await addEntry({ log: keys.auditRefusals(accountId), most: KEPT_OF_ACCOUNT, ...added })(redis);
  }

  /**
   * The same for a request. Nothing waits for it: a flood of requests without a key must not cost Redis more than a
   * hundred entries a second of each process, ten of each account or address. More than that are counted, and left
   * out.
   */
  note(entry: AuditEntry): void {
    if (!this.#hasRoomFor(entry)) {
      this.#leftOut += 1;
      return;
    }
    const adding = this.record(entry)
      .catch((error: unknown) =>
        this.parts.emit({ name: 'task.failed', task: 'write a refusal to the audit log', error }),
      )
      .finally(() => this.#underWay.delete(adding));
    this.#underWay.add(adding);
  }

  /** Give running ones a moment to reach Redis. */
  async stop(): Promise<void> {
    this.#emitLeftOut();
    await settledWithin(STOP_PATIENCE_MS, Promise.all(this.#underWay));
  }

  #hasRoomFor({ accountId, address = '' }: AuditEntry): boolean {
    const second = Math.floor(this.parts.clock() / SECOND_MS);
    if (second !== this.#second) this.#begin(second);
    const one = accountId ?? address;
    const ofOne = (this.#noted.get(one) ?? 0) + 1;
    if (ofOne > MOST_OF_ONE || this.#all >= MOST_OF_ALL) return false;
    this.#noted.set(one, ofOne);
    this.#all += 1;
    return true;
  }

  #begin(second: number): void {
    this.#second = second;
    this.#noted = new Map();
    this.#all = 0;
    this.#emitLeftOut();
  }

  #emitLeftOut(): void {
    if (this.#leftOut === 0) return;
    this.parts.emit({ name: 'audit.refusals_left_out', count: this.#leftOut });
    this.#leftOut = 0;
  }
}
