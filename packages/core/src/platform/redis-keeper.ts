import { setTimeout as wait } from 'node:timers/promises';
import {
  Cluster,
  type ClusterNode,
  type ClusterOptions,
  Redis,
  type RedisOptions,
  type SentinelConnectionOptions,
  SentinelConnector,
} from 'ioredis';
import { AppError } from './app-error';

/** ioredis gave a connection up, or stopped retrying, although nobody closed it: it is opened again. */
export interface RedisReopenedSignal {
  readonly name: 'redis.reopened';
  readonly connection: string;
  /** Its state in ioredis. */
  readonly status: string;
}

export interface BullmqWorkerOptions {
  /** For the log. */
  readonly name: string;
  readonly emit: (signal: RedisReopenedSignal) => void;
  readonly health?: ConnectionHealth | undefined;
  readonly patience?: BullmqWorkerPatience | undefined;
}

export interface BullmqWorkerPatience {
  /** The longest time without activity before a connection is tried again. */
  readonly idleMs: number;
  /** How long one attempt may take, with all commands before the connection is ready. */
  readonly attemptMs: number;
  /** After this long without any result of an attempt, not even an error, a connection counts as stuck. */
  readonly stuckMs: number;
}

const USUAL_PATIENCE: BullmqWorkerPatience = {
  // ioredis itself waits a second at most between two attempts.
  idleMs: 3_000,
  // Connecting takes 1.5 s at most, and so does a Sentinel's reply; each failure of one is a sign of life.
  attemptMs: 10_000,
  // Six attempts of the keeper without any effect: no normal activity explains that.
  stuckMs: 60_000,
};

const MAX_RECONNECT_DELAY_MS = 1_000;

// Left out, because ioredis' types allow no `undefined` there.
export type ClientOptions = Omit<RedisOptions, 'replyMapping'>;

interface ClusterSettings extends Omit<ClusterOptions, 'redisOptions'> {
  readonly redisOptions: ClientOptions;
}

/**
 * ioredis' events when an attempt has a result. The start of an attempt is no such sign: the keeper itself
 * may cause it.
 */
const SIGNS_OF_LIFE = [
  'connect',
  'ready',
  'close',
  'reconnecting',
  'error',
  'sentinelError',
  'node error',
] as const;

/** The wait before a connection is tried for the `times`th time. Milliseconds. */
export function reconnectDelay(times: number): number {
  return Math.min(50 * 2 ** Math.min(times, 10), MAX_RECONNECT_DELAY_MS);
}

/** For `/healthz`: whether one of the process's connections is unusable, and attempts have no result. */
export class ConnectionHealth {
  readonly #keepers = new Set<ConnectionKeeper>();

  add(keeper: ConnectionKeeper): void {
    this.#keepers.add(keeper);
  }

  remove(keeper: ConnectionKeeper): void {
    this.#keepers.delete(keeper);
  }

  /** The name of a stuck connection. */
  get stuckConnection(): string | undefined {
    for (const keeper of this.#keepers) if (keeper.isStuck) return keeper.name;
    return undefined;
  }
}

/**
 * Keeps one client connected: as long as nobody closes it, it comes back, whatever state ioredis has left it
 * in. docs/reliability.md lists the ways to get there.
 */
class ConnectionKeeper {
  #client: Redis | Cluster | undefined;
  #isClosed = false;
  #isQuitting = false;
  #ends = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Counted by timers of its own: a process that was stopped for a while has not been stuck. */
  #quietMs = 0;

  constructor(private readonly options: BullmqWorkerOptions) {}

  get name(): string {
    return this.options.name;
  }

  /** Whether its owner has closed it, and not opened it again. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  get isStuck(): boolean {
    return this.#quietMs >= this.#patience.stuckMs;
  }

  keep(client: Redis | Cluster): void {
    this.#client = client;
    for (const sign of SIGNS_OF_LIFE) client.on(sign, this.#onSignOfLife);
    client.on('ready', this.#onReady);
    client.on('end', this.#onEnd);
    client.on('connecting', this.#wait);
    client.on('disconnecting', this.#wait);
    this.noteOpened();
  }

  noteClosed(): void {
    this.#isClosed = true;
    this.#isQuitting = false;
    this.#quietMs = 0;
    clearTimeout(this.#timer);
    this.options.health?.remove(this);
  }

  /** Closed, although ioredis may still connect for waiting commands. */
  noteQuitting(): void {
    this.noteClosed();
    this.#isQuitting = true;
  }

  noteOpened(): void {
    // Until it has ended, ioredis connects, not the owner.
    if (this.#isQuitting && this.#client?.status !== 'end') return;
    this.#isQuitting = false;
    this.#isClosed = false;
    this.options.health?.add(this);
    this.#wait();
  }

  get #patience(): BullmqWorkerPatience {
    return this.options.patience ?? USUAL_PATIENCE;
  }

  readonly #onSignOfLife = (): void => {
    this.#quietMs = 0;
    this.#wait();
  };

  readonly #onReady = (): void => {
    this.#ends = 0;
  };

  readonly #onEnd = (): void => {
    if (!this.#isClosed) this.#reviveAfter(reconnectDelay(this.#ends++));
  };

  /** Fires when the connection must have had some activity. */
  readonly #wait = (): void => {
    clearTimeout(this.#timer);
    const status = this.#client?.status;
    if (this.#isClosed || status === 'ready' || status === 'wait') return;
    this.#reviveAfter(isTrying(status) ? this.#patience.attemptMs : this.#patience.idleMs);
  };

  #reviveAfter(quietMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#revive(quietMs), quietMs);
    // A process without other work may end.
    this.#timer.unref();
  }

  #revive(quietMs: number): void {
    const client = this.#client;
    if (!client || this.#isClosed || client.status === 'ready') return;
    this.#quietMs += quietMs;
    this.options.emit({ name: 'redis.reopened', connection: this.name, status: client.status });
    // An endless attempt is broken off: ioredis makes the next one.
    if (isTrying(client.status)) client.disconnect(true);
    // It fails when ioredis has begun by itself at this moment, or Redis is away. Either way it is tried
    // again.
    else client.connect().catch(() => {});
    this.#wait();
  }
}

function isTrying(status: string | undefined): boolean {
  return status === 'connecting' || status === 'connect';
}

/**
 * A client of one Redis, or of the master behind Sentinels, that ends only when it is closed; its duplicates
 * too.
 */
export class KeptRedis extends Redis {
  // ioredis connects before it has one.
  declare private keeper: ConnectionKeeper | undefined;
  declare private keeping: BullmqWorkerOptions;

  constructor(options: ClientOptions, keeping: BullmqWorkerOptions) {
    const keeper = new ConnectionKeeper(keeping);
    super(options.sentinels ? { ...options, Connector: patientConnector(keeper) } : options);
    this.keeping = keeping;
    this.keeper = keeper;
    keeper.keep(this);
  }

  override connect(callback?: (error?: Error | null) => void): Promise<void> {
    this.keeper?.noteOpened();
    return callback ? super.connect(callback) : super.connect();
  }

  override disconnect(reconnect = false): void {
    if (!reconnect) this.keeper?.noteClosed();
    super.disconnect(reconnect);
  }

  override quit(callback?: (error?: Error | null, answer?: 'OK') => void): Promise<'OK'> {
    this.keeper?.noteQuitting();
    const answer = callback ? super.quit(callback) : super.quit();
    // Otherwise ioredis would go on connecting.
    answer.catch(() => {
      if (this.status !== 'end') this.disconnect();
    });
    return answer;
  }

  // `never`: the type that ioredis gives it can't be named outside of ioredis.
  override duplicate(override: Partial<RedisOptions> = {}): never {
    return new KeptRedis({ ...this.options, ...override }, this.keeping) as never;
  }
}

/** A client of a Cluster that ends only when it is closed; its duplicates too. */
export class KeptCluster extends Cluster {
  declare private keeper: ConnectionKeeper | undefined;
  declare private keeping: BullmqWorkerOptions;
  declare private firstNodes: readonly ClusterNode[];

  constructor(nodes: readonly ClusterNode[], options: ClusterSettings, keeping: BullmqWorkerOptions) {
    super([...nodes], options);
    this.firstNodes = nodes;
    this.keeping = keeping;
    this.keeper = new ConnectionKeeper(keeping);
    this.keeper.keep(this);
  }

  /** Unlike ioredis' own it always settles, even when the Cluster turns out not to be ready. */
  override async connect(): Promise<void> {
    this.keeper?.noteOpened();
    let noteReady = () => {};
    let noteClose = () => {};
    const readyOrClosed = new Promise<void>((resolve, reject) => {
      noteReady = resolve;
      noteClose = () => reject(new Error('Connection is closed.'));
    });
    this.once('ready', noteReady);
    this.once('close', noteClose);
    try {
      await Promise.race([super.connect(), readyOrClosed]);
    } finally {
      this.off('ready', noteReady);
      this.off('close', noteClose);
    }
  }

  override disconnect(reconnect = false): void {
    if (!reconnect) this.keeper?.noteClosed();
    super.disconnect(reconnect);
  }

  override quit(callback?: (error?: Error | null, answer?: 'OK') => void): Promise<'OK'> {
    this.keeper?.noteClosed();
    return super.quit(callback);
  }

  // `never`: the type that ioredis gives it can't be named outside of ioredis.
  override duplicate(nodes: readonly ClusterNode[] = [], override: Partial<ClusterSettings> = {}): never {
    const redisOptions = { ...this.options.redisOptions, ...override.redisOptions };
    const options = { ...this.options, ...override, redisOptions } as ClusterSettings;
    return new KeptCluster(nodes.length > 0 ? nodes : this.firstNodes, options, this.keeping) as never;
  }
}

/**
 * Search for the master until it is found, or the client is closed. ioredis' own search gives up when the
 * Sentinels announce another master during it, and fails all commands that wait for the connection.
 */
function patientConnector(keeper: ConnectionKeeper): NonNullable<RedisOptions['Connector']> {
  return class PatientConnector extends SentinelConnector {
    constructor(options: unknown) {
      super(options as SentinelConnectionOptions);
    }

    override async connect(report: Report) {
      const reportRounds = reportInTrueWords(report, this.options.name ?? '');
      for (let failures = 0; ; failures += 1) {
        try {
          return await super.connect(reportRounds);
        } catch (error) {
          if (keeper.isClosed) throw error;
          report('error', error instanceof Error ? error : new Error(String(error)));
          await wait(reconnectDelay(failures));
          if (keeper.isClosed) throw error;
        }
      }
    }
  };
}

type Report = (type: string, error: Error) => void;

/**
 * At the end of each round over the Sentinels ioredis says "All sentinels are unreachable", although some or all may have named
 * a master. What was the matter with one it has told as a `sentinelError`.
 */
function reportInTrueWords(report: Report, master: string): Report {
  let reasons: string[] = [];
  return (type, error) => {
    if (type !== 'error') {
      reasons.push(error.message);
      return report(type, error);
    }
    // Each had named a master. That it can't be reached, its connection has told.
    if (reasons.length === 0) return report('sentinelError', error);
    const detail = `No more Sentinels to ask for the master "${master}": ${reasons.join('; ')}. They are asked again.`;
    reasons = [];
    report('error', new AppError('storage_unavailable', detail, { cause: error }));
  };
}
