import type { Emit } from '../domain/signal';
import type { PgWitness, RedisLoss } from '../history/database/pg-witness';
import { formatTime } from '../platform/clock';
import type { RedisClient } from '../platform/redis-connect';
import { settledWithin, WakeUpTimer } from '../platform/timers';
import type { RollbackStore, ServerEpoch } from './redis-rollbacks';
import type { CountEpochReply } from './redis-rollbacks.script';

/** Makes good what Redis has lost. It may be called again for the same loss. */
export type LossHandler = (loss: RedisLoss) => Promise<void>;

export interface RollbackWatchParts {
  readonly rollbackStore: RollbackStore;
  /** It remembers where Redis can't lose it. Absent: only the workers that run do. */
  readonly pgWitness?: PgWitness | undefined;
  /** Called one after the other for each loss, in one worker, until all have done it once. Needs the witness. */
  readonly onLoss?: readonly LossHandler[];
  readonly redis: RedisClient;
  readonly workerId: string;
  readonly emit: Emit;
}

const COUNT_EVERY_S = 1;
const LOOK_EVERY_S = 5;
/** Whoever has not counted for this long has ended, or is cut off. */
const LEASED_MS = 4_000;
// A count goes to Redis together with other scripts, if there are some within this time.
const PATIENCE_MS = 500;
const STOP_PATIENCE_MS = 1_000;

/** What this process has seen of an epoch. */
interface Known {
  readonly number: number;
  /** The server that had it. Empty: unknown. */
  readonly server: string;
  /** Whether this process counts. */
  readonly isOurs: boolean;
}

const NOTHING: Known = { number: 0, server: '', isOurs: false };

/**
 * Tells when Redis has lost what it had: its epoch is smaller than before. One worker counts it each second, and tells PostgreSQL.
 * The others look every five seconds. As Redis keeps its writes in their order, everything from before the time beside its epoch is there.
 *
 * A loss within the last second shows in no number. So after another process of Redis has taken over, that second may be lost.
 * It mostly is not: nobody is told, and those who can look (`onLoss`) do.
 */
export class RollbackWatch {
  readonly #known = new Map<string, Known>();
  readonly #timer = new WakeUpTimer(() => this.#lookAndGoOn());
  readonly #handling = new WakeUpTimer(() => this.#handleAndGoOn());
  readonly #onReady = () => void this.#timer.runNow();
  #isFirst = true;
  /** Whether there may be a loss on record that is not made good. */
  #isToHandle = false;

  constructor(private readonly parts: RollbackWatchParts) {}

  start(): void {
    this.parts.redis.on('ready', this.#onReady);
    void this.#timer.runNow();
  }

  async stop(): Promise<void> {
    this.parts.redis.off('ready', this.#onReady);
    await settledWithin(STOP_PATIENCE_MS, Promise.all([this.#timer.stop(), this.#handling.stop()]));
  }

  /** Look at each server once. @returns whether this process counts for one of them. */
  async runOnce(patienceMs = 0): Promise<boolean> {
    const servers = await this.parts.rollbackStore.readServers();
    const counts = await Promise.all(servers.map((server) => this.#look(server, patienceMs)));
    return counts.includes(true);
  }

  /** Have everything made good that is on record. */
  async handleLosses(): Promise<void> {
    const { pgWitness, onLoss = [] } = this.parts;
    this.#isToHandle = false;
    for (const loss of (await pgWitness?.openLosses()) ?? []) {
      for (const handle of onLoss) await handle(loss);
      await pgWitness?.settleLoss(loss);
    }
  }

  async #lookAndGoOn(): Promise<void> {
    let seconds = LOOK_EVERY_S;
    try {
      if (await this.runOnce(this.#isFirst ? 0 : PATIENCE_MS)) seconds = COUNT_EVERY_S;
      this.#isFirst = false;
      if (this.#isToHandle) this.#handling.wakeUpIn(0);
    } catch (error) {
      this.parts.emit({ name: 'task.failed', task: 'watch whether Redis goes back', error });
    }
    this.#timer.wakeUpInAbout(seconds);
  }

  async #handleAndGoOn(): Promise<void> {
    try {
      await this.handleLosses();
    } catch (error) {
      this.parts.emit({ name: 'task.failed', task: 'make good what Redis has lost', error });
      this.#handling.wakeUpInAbout(LOOK_EVERY_S);
    }
  }

  async #look(server: ServerEpoch, patienceMs: number): Promise<boolean> {
    const { epoch, name = '' } = server;
    const seen = this.#known.get(epoch) ?? NOTHING;
    let reply = await this.#count(epoch, seen, seen.isOurs, patienceMs);
    let known = seen;
    if (reply.state === 'free' || reply.state === 'gone_back') {
      known = await this.#recall(epoch, seen);
      reply = await this.#count(epoch, known, true, 0);
    }
    const { state, number } = reply;
    if (state === 'gone_back') {
      await this.#settle(epoch, { ...known, server: name }, reply);
      return await this.#look(server, 0);
    }
    const isOurs = state === 'counted';
    if (isOurs) await this.#note(epoch, known, { number, server: name, isOurs }, reply);
    this.#known.set(epoch, { number, server: name === '' ? known.server : name, isOurs });
    this.#isToHandle ||= isOurs && !seen.isOurs;
    return isOurs;
  }

  async #count(epoch: string, { number: known }: Known, mayTake: boolean, patienceMs: number) {
    const { rollbackStore, workerId: counter } = this.parts;
    return await rollbackStore.count({ epoch, known, counter, mayTake, leasedMs: LEASED_MS }, patienceMs);
  }

  /** All that this process and PostgreSQL have seen. */
  async #recall(epoch: string, seen: Known): Promise<Known> {
    const found = await this.parts.pgWitness?.find(epoch);
    return found === undefined ? seen : { ...seen, ...found, number: Math.max(seen.number, found.number) };
  }

  /** This process has counted. */
  async #note(epoch: string, before: Known, now: Known, { countedAt, now: until }: CountEpochReply) {
    const { pgWitness, emit } = this.parts;
    const { number, server } = now;
    const isReplaced = before.server !== '' && server !== '' && before.server !== server;
    if (isReplaced && countedAt !== undefined) {
      const loss = { epoch, since: countedAt, until, isCertain: false };
      await pgWitness?.addLoss(loss);
      emit({ name: 'redis.replaced', ...timesOf(loss) });
      this.#isToHandle = true;
    }
    await pgWitness?.see(epoch, { number, server: server === '' ? before.server : server });
  }

  /** First on record, then settled: whoever comes after a process that has ended in between finds it again. */
  async #settle(epoch: string, seen: Known, { number, countedAt: since, now: until }: CountEpochReply) {
    const { rollbackStore, pgWitness, emit } = this.parts;
    const loss: RedisLoss = { epoch, since, until, isCertain: true };
    await pgWitness?.addLoss(loss);
    await pgWitness?.see(epoch, seen);
    const isOurs = await rollbackStore.settle(loss, number, seen.number);
    this.#known.set(epoch, { ...seen, isOurs: false });
    if (isOurs) emit({ name: 'redis.rolled_back', ...timesOf(loss) });
    this.#isToHandle = true;
  }
}

function timesOf({ since, until }: RedisLoss) {
  return { ...(since === undefined ? {} : { since: formatTime(since) }), until: formatTime(until) };
}
