import { hostname } from 'node:os';
import { pid } from 'node:process';
import type { Emit, SignalListener } from '../domain/signal';
import type { Clock } from '../platform/clock';
import type { RedisClock } from '../platform/redis-clock';
import type { SealingKey } from '../platform/sealing-key';
import { settledWithin, WakeUpTimer } from '../platform/timers';
import type { SettingDigests } from './agreed-settings';
import { REPORT_EVERY_MS, type WorkerReport, type WorkerReports } from './redis-worker-reports';

export interface WorkerReporterParts {
  readonly workerReports: WorkerReports;
  readonly workerId: string;
  /** With the commit, if it is known. */
  readonly version: string;
  readonly sendsMail: boolean;
  readonly sealingKeys: readonly SealingKey[];
  readonly settings: SettingDigests;
  /** The present number of slots in use, and the most that may be. */
  readonly slots: Readonly<Record<'inUse' | 'allowed', Readonly<Record<'quick' | 'slow', number>>>>;
  readonly attempts: AttemptRate;
  readonly redisClock: RedisClock;
  readonly clock: Clock;
  readonly emit: Emit;
}

// Reports but the first go to Redis together with other scripts, if there are some within this time.
const PATIENCE_MS = 1_000;
// Enough for a reply of Redis; the report of this worker expires by itself.
const STOP_PATIENCE_MS = 1_000;

/** Reports regularly that this worker is running, and how much it does. */
export class WorkerReporter {
  readonly #timer = new WakeUpTimer(async () => {
    await this.runOnce(this.#hasReported ? PATIENCE_MS : 0);
    this.#hasReported = true;
    this.#timer.wakeUpIn(REPORT_EVERY_MS);
  });

  #hasReported = false;

  readonly #startedAt: number;

  constructor(private readonly parts: WorkerReporterParts) {
    this.#startedAt = parts.clock();
  }

  start(): void {
    void this.#timer.runNow();
  }

  async stop(): Promise<void> {
    const { workerReports, workerId } = this.parts;
    const leaving = this.#timer.stop().then(() => this.#trying(workerReports.remove(workerId)));
    await settledWithin(STOP_PATIENCE_MS, leaving);
  }

  /** Never rejects. */
  async runOnce(patienceMs = 0): Promise<void> {
    const {
      workerReports,
      workerId,
      version,
      sendsMail,
      sealingKeys,
      settings,
      slots,
      attempts,
      redisClock,
    } = this.parts;
    const { inUse, allowed } = slots;
    const quick = { inUse: inUse.quick, allowed: allowed.quick };
    const slow = { inUse: inUse.slow, allowed: allowed.slow };
    const report: WorkerReport = {
      id: workerId,
      host: hostname(),
      pid,
      version,
      startedAt: this.#startedAt,
      sendsMail,
      slots: { quick, slow },
      attemptsPerSecond: attempts.take(),
      skewMs: Math.round(redisClock.skewMs ?? 0),
      sealingKeys: sealingKeys.map(({ id }) => id),
      settings,
    };
    await this.#trying(workerReports.save(report, patienceMs));
  }

  async #trying(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      this.parts.emit({ name: 'task.failed', task: 'report the state of this worker', error });
    }
  }
}

/** Counts the attempts of this process between two calls. */
export class AttemptRate {
  #attempts = 0;
  #since: number;

  /** @param clock milliseconds, of a clock that never jumps. */
  constructor(private readonly clock: () => number) {
    this.#since = clock();
  }

  readonly listen: SignalListener = (signal) => {
    if (signal.name === 'delivery.attempted') this.#attempts += 1;
  };

  /** Attempts each second since the last call. */
  take(): number {
    const now = this.clock();
    const perSecond = (this.#attempts * 1_000) / Math.max(now - this.#since, 1);
    this.#attempts = 0;
    this.#since = now;
    return perSecond;
  }
}
