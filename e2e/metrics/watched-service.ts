import { setTimeout as wait } from 'node:timers/promises';
import { EVENTS_QUEUE } from '@hookferry/core/model/queue-names';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { Queue } from 'bullmq';
import type { ManagedProcess } from '../support/managed-process';
import { PrometheusServer } from '../support/prometheus-server';
import { Receiver } from '../support/receiver';
import { RedisServer } from '../support/redis-server';
import { QUICK_WIN } from '../support/samples';
import { addressOf, Stack } from '../support/stack';
import type { RulesFile } from './read-rules';

const PUBLISH_EVERY_MS = 200;

/** The service on a Redis of its own, with steady traffic that is delivered, and a Prometheus that watches it. */
export class WatchedService {
  /** What the receiver answers with. */
  answer = 204;
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
    const redis = await RedisServer.start();
    const workerPort = String(await findClosedPort());
    const stack = await Stack.start({
      redisUrl: redis.url,
      workers: 0,
      environment: { RETRY_SCHEDULE: '20ms', WORKER_PORT: workerPort, JOB_LOCK_DURATION: '2s' },
    });
    const worker = await stack.startWorker();
    const receiver = await Receiver.start(() => service.answer);
    await stack.client.register(receiver.url);
    const prometheus = await PrometheusServer.start(
      program,
      {
        'webhooks-api': [hostOf(await addressOf(stack.api))],
        'webhooks-worker': [hostOf(await addressOf(worker))],
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

function hostOf(address: string): string {
  return new URL(address).host;
}
