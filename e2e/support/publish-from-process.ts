import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface ProducerOptions {
  readonly traceparent?: string;
  /** More of the process's environment. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Publishes from a producer's process of its own, which has nothing but Redis and `packages/producer`. */
export async function publishFromProcess(
  redisUrl: string,
  event: object,
  { traceparent, environment }: ProducerOptions = {},
): Promise<void> {
  const text = JSON.stringify({ accountId: 'default', ...event });
  const script = join(__dirname, 'producer.cjs');
  const trace = traceparent === undefined ? [] : [traceparent];
  const env = { ...process.env, ...environment };
  await promisify(execFile)(process.execPath, [script, redisUrl, text, ...trace], { env });
}
