import { randomBytes } from 'node:crypto';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { openTestRedis } from '@hookferry/core/testing/test-redis';
import { ApiClient } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { BRIEF } from '../support/samples';
import type { ImageProcess } from './image-process';

export type Target = 'api' | 'worker';

export interface Exercise {
  /** Starts the process of an image; resolves once it is ready at that port. */
  start(target: Target, port: number, environment: Readonly<Record<string, string>>): Promise<ImageProcess>;
  /** Is given what is to be stopped after the test. */
  readonly running: { stop(): Promise<unknown> }[];
  /** What else is asked while both run. */
  look?(api: ImageProcess, worker: ImageProcess, apiUrl: string): Promise<void>;
}

/** How the API and the worker ended, and what their health check says from then on. */
interface Ending {
  readonly exitCodes: readonly (number | null)[];
  readonly healthAfterwards: readonly (number | null)[];
}

export const ENDED_WELL: Ending = { exitCodes: [0, 0], healthAfterwards: [1, 1] };

/** An API and a worker from their images deliver an event and are healthy; then both are told to stop. */
export async function exerciseImages({ start, running, look }: Exercise): Promise<Ending> {
  const redis = await openTestRedis();
  const receiver = await Receiver.start();
  running.push(receiver, { stop: () => redis.close() });
  const { key: apiKey } = buildApiKey();
  const secretsKey = randomBytes(32).toString('base64');
  const [apiPort, workerPort] = [await findClosedPort(), await findClosedPort()];
  const api = await start('api', apiPort, {
    REDIS_URL: redis.url,
    SECRETS_ENCRYPTION_KEY: secretsKey,
    API_PORT: String(apiPort),
    BOOTSTRAP_API_KEY: apiKey,
    DRAIN_DELAY: '0s',
    ALLOW_HTTP_URLS: 'true',
    DELIVERY_ALLOWED_CIDRS: '127.0.0.0/8',
  });
  const worker = await start('worker', workerPort, {
    REDIS_URL: redis.url,
    SECRETS_ENCRYPTION_KEY: secretsKey,
    WORKER_PORT: String(workerPort),
    DELIVERY_ALLOWED_CIDRS: '127.0.0.0/8',
  });

  const apiUrl = `http://127.0.0.1:${apiPort}`;
  const client = new ApiClient(apiUrl, apiKey);
  const webhook = await client.register(receiver.url);
  const eventId = await client.publish(BRIEF.type, BRIEF.data);
  await client.waitForStatus(webhook.id, eventId, 'delivered');
  const [request] = await receiver.waitFor(1);
  expect(JSON.parse(request?.body.toString() ?? '')).toEqual(BRIEF);

  expect(await api.run(['node', 'apps/admin/dist/main.js', 'keys', 'list'])).toBe(0);
  expect(await Promise.all([api.checkHealth(), worker.checkHealth()])).toEqual([0, 0]);
  await look?.(api, worker, apiUrl);
  const exitCodes = await Promise.all([api.stop(), worker.stop()]);
  return { exitCodes, healthAfterwards: await Promise.all([api.checkHealth(), worker.checkHealth()]) };
}
