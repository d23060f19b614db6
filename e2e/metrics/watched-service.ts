import { setTimeout as wait } from 'node:timers/promises';
import { EVENTS_QUEUE } from '@hookferry/core/domain/queues';
import { JOB_VERSION } from '@hookferry/core/queue/bullmq-event-queue';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { Queue, UnrecoverableError, Worker } from 'bullmq';
import type { ManagedProcess } from '../support/managed-process';
import { PrometheusServer } from '../support/prometheus-server';
import { Receiver } from '../support/receiver';
import { RedisServer } from '../support/redis-server';
import { QUICK_WIN } from '../support/samples';
import { addressOf, Stack } from '../support/stack';
import { until } from '../support/until';
import type { RulesFile } from './read-rules';

const PUBLISH_EVERY_MS = 200;
// As many real ones do, so that a scrape finds attempts under way.
const ANSWER_AFTER_MS = 100;
// Of each, more than an alert lets pass.
const REDIS_PAUSE_MS = 300;
const WORKER_PAUSE_MS = 700;
const BREATH_MS = 200;

/** A fault that lasts until it is stopped. */
export interface LastingFault {
  stop(): Promise<void>;
}

/** The service on a Redis of its own, with steady traffic that is delivered, and a Prometheus that watches it. */
export class WatchedService {
  /** What the receiver responds with. */
  response = 204;
  readonly #load = new AbortController();
  #publishing: Promise<void> = Promise.resolve();
  #worker: ManagedProcess;
  private constructor(
    readonly redis: RedisServer,
    readonly prometheus: PrometheusServer,
    readonly events: Queue,
    readonly deliveries: Queue,
    private readonly stack: Stack,
    private readonly receiver: Receiver,
    private readonly workerPort: string,
    worker: ManagedProcess,
  ) {
    this.#worker = worker;
  }

  static async start(program: string, rules: RulesFile): Promise<WatchedService> {
    const redis = await RedisServer.start(['--maxmemory', '1gb']);
    const workerPort = String(await findClosedPort());
    const stack = await Stack.start({
      redisUrl: redis.url,
      workers: 0,
      environment: { RETRY_SCHEDULE: '20ms', WORKER_PORT: workerPort, JOB_LOCK_DURATION: '2s' },
    });
    const worker = await stack.startWorker();
    const receiver = await Receiver.start(async () => {
      await wait(ANSWER_AFTER_MS);
      return service.response;
    });
    await stack.client.register(receiver.url);
    const prometheus = await PrometheusServer.start(
      program,
      {
        'hookferry-api': [hostOf(await addressOf(stack.api))],
        'hookferry-worker': [hostOf(await addressOf(worker))],
      },
      rules,
    );
    const connection = { connection: stack.redis.client };
    const service: WatchedService = new WatchedService(
      redis,
      prometheus,
      new Queue(EVENTS_QUEUE, connection),
      new Queue('deliveries', connection),
      stack,
      receiver,
      workerPort,
      worker,
    );
    service.#publishing = service.#publish();
    return service;
  }

  async killWorker(): Promise<void> {
    await this.#worker.end('SIGKILL');
  }

  /** At the same address as the one before. */
  async startWorker(): Promise<void> {
    this.#worker = await this.stack.startWorker({ WORKER_PORT: this.workerPort });
  }

  /** Events that a producer has pushed long ago, and that nobody has looked at since. */
  async pushOld(count: number, ageMs: number): Promise<void> {
    const timestamp = Date.now() - ageMs;
    const { type, data } = QUICK_WIN;
    const job = { name: type, data: { type, data }, opts: { timestamp } };
    await this.events.addBulk(Array.from({ length: count }, () => job));
  }

  /** While no worker of the service is there: a job whose processor has a fault, every time. */
  async failJob(): Promise<LastingFault> {
    const connection = this.stack.redis.client.duplicate({ maxRetriesPerRequest: null });
    const faulty = async () => {
      throw new UnrecoverableError('A fault of ours.');
    };
    const worker = new Worker('erasures', faulty, { connection });
    const queue = new Queue('erasures', { connection: this.stack.redis.client });
    const job = await queue.add('erase', {});
    await until(async () => ((await job.isFailed()) ? true : undefined));
    await worker.close();
    connection.disconnect();
    return {
      async stop() {
        await job.remove();
        await queue.close();
      },
    };
  }

  /** While no worker of the service is there: as if an API of the next version had added one. */
  async makeJobTooNew(): Promise<LastingFault> {
    const job = await until(async () => (await this.deliveries.getJobs(['prioritized', 'wait']))[0]);
    const { data } = job;
    await job.updateData({ ...data, v: JOB_VERSION + 1 });
    return { stop: async () => await job.updateData(data) };
  }

  async setRedis(setting: string, value: string): Promise<void> {
    await this.stack.redis.client.config('SET', setting, value);
  }

  /** Leaves it so much memory that a share of it is used. */
  async fillRedis(share: number): Promise<void> {
    const info = await this.stack.redis.client.info('memory');
    const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1]);
    await this.setRedis('maxmemory', String(Math.round(used / share)));
  }

  slowDownRedis(): LastingFault {
    return repeat(async () => {
      await this.stack.redis.client.client('PAUSE', REDIS_PAUSE_MS, 'ALL');
    });
  }

  slowDownWorker(): LastingFault {
    return repeat(async () => {
      this.#worker.sendSignal('SIGSTOP');
      await wait(WORKER_PAUSE_MS);
      this.#worker.sendSignal('SIGCONT');
      await wait(BREATH_MS);
    });
  }

  async stop(): Promise<void> {
    this.#load.abort();
    await this.#publishing;
    await Promise.all([this.prometheus.stop(), this.events.close(), this.deliveries.close()]);
    await this.stack.stop();
    await this.receiver.stop();
    await this.redis.remove();
  }

  async #publish(): Promise<void> {
    const { signal } = this.#load;
    while (!signal.aborted) {
      await this.stack.client.request('POST', '/v1/events', QUICK_WIN);
      await wait(PUBLISH_EVERY_MS, undefined, { signal }).catch(() => {});
    }
  }
}

function repeat(once: () => Promise<void>): LastingFault {
  const stopping = new AbortController();
  const running = (async () => {
    while (!stopping.signal.aborted) await once();
  })();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

function hostOf(address: string): string {
  return new URL(address).host;
}
