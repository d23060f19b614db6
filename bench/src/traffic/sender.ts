/** Publishes over HTTP, in a process of its own, so that what it costs is not counted and delays nobody's clock. */
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { inParallel } from '../in-parallel';
import { ChildProgram, obeyParent } from '../processes/child-program';
import { micros, textOf } from './events';

/** Where events are published. */
export interface Target {
  /** Of the API. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Those that single events are aimed at in turn. With none, they go to all that asked for their type. */
  readonly webhookIds?: readonly string[];
  /** That of single events; the benchmarks' usual one unless given. */
  readonly eventType?: string;
  /** Whether each request has an Idempotency-Key of its own. */
  readonly idempotencyKeys?: boolean;
}

/** Events of one account, to be published in one request. */
export interface Batch {
  readonly target: Target;
  readonly firstEvent: number;
  readonly events: number;
}

interface StreamOptions {
  readonly stream: string;
  readonly target: Target;
  readonly firstEvent: number;
  readonly perSecond: number;
}

/** What gives when each event was sent gives microseconds of `micros()`. */
const program = { publish, publishBatches, startStream, stopStream };

export class SenderProcess extends ChildProgram<typeof program> {
  constructor() {
    super(__filename);
  }
}

// From here on: the program.
interface RunningStream {
  readonly sentAt: number[];
  readonly underWay: Promise<unknown>[];
  isStopped: boolean;
}

const agent = new Agent({ keepAlive: true });
const running = new Map<string, RunningStream>();

if (require.main === module) obeyParent(program);

/** One event a request, so many requests at once, each followed by the next one. @returns when each was sent */
async function publish(
  options: Batch & { readonly atOnce: number; readonly atMostPerSecond?: number | undefined },
): Promise<readonly number[]> {
  const { target, firstEvent, events, atOnce, atMostPerSecond } = options;
  const sentAt: number[] = [];
  const startedAt = performance.now();
  await inParallel(events, atOnce, async (i) => {
    const early = atMostPerSecond ? startedAt + (i * 1_000) / atMostPerSecond - performance.now() : 0;
    if (early > 0) await wait(early);
    const body = singleEvent(target, firstEvent + i);
    sentAt[i] = micros();
    await post(target, '/v1/events', body);
  });
  return sentAt;
}

/** Resolves when all are accepted. @returns when each event was sent */
async function publishBatches(batches: readonly Batch[], atOnce: number): Promise<readonly number[]> {
  const sentAt: number[][] = [];
  await inParallel(batches.length, atOnce, async (i) => {
    const batch = batches[i];
    if (!batch) return;
    const texts = Array.from({ length: batch.events }, (_, each) => textOf(batch.firstEvent + each));
    sentAt[i] = texts.map(micros);
    const answer = await post(batch.target, '/v1/events/batch', `{"events":[${texts.join(',')}]}`);
    if (answer.includes('"error"')) throw new Error(`Not all of a batch was accepted: ${answer}`);
  });
  return sentAt.flat();
}

/** An event every so often, whether the last one was answered or not. What fails is told when the stream is stopped. */
function startStream(options: StreamOptions): void {
  const stream: RunningStream = { sentAt: [], underWay: [], isStopped: false };
  running.set(options.stream, stream);
  stream.underWay.push(sendSteadily(stream, options));
}

async function sendSteadily(
  stream: RunningStream,
  { target, firstEvent, perSecond }: StreamOptions,
): Promise<void> {
  const startedAt = performance.now();
  while (!stream.isStopped) {
    const due = startedAt + (stream.sentAt.length * 1_000) / perSecond;
    const early = due - performance.now();
    if (early > 0) await wait(early);
    const body = singleEvent(target, firstEvent + stream.sentAt.length);
    stream.sentAt.push(micros());
    const answered = post(target, '/v1/events', body);
    answered.catch(() => {});
    stream.underWay.push(answered);
  }
}

/** @returns when each event of it was sent, by its place in the stream */
async function stopStream(name: string): Promise<readonly number[]> {
  const stream = running.get(name);
  if (!stream) throw new Error(`No stream "${name}" was started.`);
  stream.isStopped = true;
  running.delete(name);
  // Its loop sends one more at most, which is waited for as well.
  await stream.underWay[0];
  await Promise.all(stream.underWay);
  return stream.sentAt;
}

function singleEvent({ webhookIds = [], eventType }: Target, event: number): string {
  return textOf(event, webhookIds[event % webhookIds.length], eventType);
}

function post(target: Target, path: string, body: string): Promise<string> {
  const { url, headers, idempotencyKeys } = target;
  return new Promise((resolve, reject) => {
    const sent = request(url + path, {
      agent,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        ...headers,
        ...(idempotencyKeys ? { 'idempotency-key': randomUUID() } : {}),
      },
    });
    sent.on('error', (error) => {
      // The server closed the idle connection just as it was taken for this request, which it never saw.
      if (sent.reusedSocket && 'code' in error && error.code === 'ECONNRESET')
        resolve(post(target, path, body));
      else reject(error);
    });
    sent.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('error', reject);
      response.on('end', () => {
        if ((response.statusCode ?? 0) < 300) resolve(text);
        else reject(new Error(`POST ${path} was answered with ${response.statusCode}: ${text}`));
      });
    });
    sent.end(body);
  });
}
