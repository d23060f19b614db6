/**
 * The receivers of all endpoints, a process of its own that costs next to nothing. The path says what comes of a
 * request, and the stream it is counted in: `/ok/light` is answered with 204 at once, `/after-200/light` after 100 to 300 ms.
 */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { ChildProgram, obeyParent } from '../processes/child-program';
import { EVENT_NUMBERS, micros } from './events';

/**
 * `after-200`: accepted after 200 ms ± 100 ms, evenly spread. `body`: accepted at once, with 2 KB in the answer. `retry`:
 * answered with 500 when an event comes for the first time, and accepted when it comes again.
 */
export type Behaviour = 'ok' | 'slow' | 'hang' | 'fail' | 'body' | 'retry' | `after-${number}`;

/** Requests of a stream that were taken so far, those that failed not among them, and when the last one came. */
export interface Progress {
  readonly count: number;
  /** In microseconds of `micros()`; 0 before the first. */
  readonly lastAt: number;
}

const LOOK_EVERY_MS = 20;

const program = { listen, progressOf, list: arrivalsOf, switchTo };

/** The receivers of a benchmark, in a process of their own. */
export class ReceiverProcess extends ChildProgram<typeof program> {
  #port = 0;

  static async start(): Promise<ReceiverProcess> {
    const receiver = new ReceiverProcess(__filename);
    receiver.#port = await receiver.ask('listen');
    return receiver;
  }

  urlOf(behaviour: Behaviour | 'switched', stream: string): string {
    return `http://127.0.0.1:${this.#port}/${behaviour}/${stream}`;
  }

  async count(stream: string): Promise<number> {
    return (await this.ask('progressOf', stream)).count;
  }

  /** Waits until the stream has so many, or the time is up. */
  async waitFor(stream: string, wished: number, withinMs: number): Promise<Progress> {
    const limit = Date.now() + withinMs;
    for (;;) {
      const progress = await this.ask('progressOf', stream);
      if (progress.count >= wished || Date.now() > limit) return progress;
      await wait(LOOK_EVERY_MS);
    }
  }

  /** @throws when the time is up */
  async waitForAll(stream: string, wished: number, withinMs: number): Promise<Progress> {
    const progress = await this.waitFor(stream, wished, withinMs);
    if (progress.count < wished) throw new Error(`Only ${progress.count} of ${wished} deliveries came.`);
    return progress;
  }
}

// From here on: the program.
const ACCEPTED = 'HTTP/1.1 204 No Content\r\n\r\n';
const ACCEPTED_WITH_BODY = `HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2048\r\n\r\n${'thanks. '.repeat(256)}`;
const BROKEN = 'HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n';
const FAILED = 'HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n';
const SLOW_MS = 1_000;
const AFTER = /^after-(\d+)$/;
// Endpoints of one stream may differ in their query.
const PATH = /^\w+ \/([\w-]+)\/([\w-]+)[ ?]/;

const streams = new Map<string, { readonly events: number[]; readonly at: number[] }>();
let switched: Behaviour = 'ok';
/** Those that came once and are to come again. */
const refused = new Set<number>();

if (require.main === module) obeyParent(program);

/** @returns the port */
async function listen(): Promise<number> {
  const server = createServer((socket) => onEachRequest(socket, (request) => take(request, socket)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** How far a stream has come. */
function progressOf(stream: string): Progress {
  const { at } = arrivalsOf(stream);
  return { count: at.length, lastAt: at.at(-1) ?? 0 };
}

/** What comes from now on of the requests below `/switched/`. */
function switchTo(behaviour: Behaviour): void {
  switched = behaviour;
}

function take(request: string, socket: Socket): void {
  const at = micros();
  const [, path = '', stream = ''] = PATH.exec(request) ?? [];
  const behaviour = path === 'switched' ? switched : (path as Behaviour);
  if (behaviour === 'fail') {
    socket.write(FAILED);
    return;
  }
  const arrivals = arrivalsOf(stream);
  const events = eventsIn(request);
  const [first = Number.NaN] = events;
  if (behaviour === 'retry' && !refused.delete(first)) {
    refused.add(first);
    socket.write(BROKEN);
    return;
  }
  for (const event of events) {
    arrivals.events.push(event);
    arrivals.at.push(at);
  }
  void answer(behaviour, socket);
}

/** All of a request with several; one without a number is not lost either. */
function eventsIn(request: string): readonly number[] {
  const numbers = Array.from(request.matchAll(EVENT_NUMBERS), ([, number]) => Number(number));
  return numbers.length === 0 ? [Number.NaN] : numbers;
}

async function answer(behaviour: Exclude<Behaviour, 'fail'>, socket: Socket): Promise<void> {
  if (behaviour === 'hang') return;
  const delayMs = delayOf(behaviour);
  if (delayMs > 0) await wait(delayMs);
  if (socket.writable) socket.write(behaviour === 'body' ? ACCEPTED_WITH_BODY : ACCEPTED);
}

function delayOf(behaviour: Exclude<Behaviour, 'fail' | 'hang'>): number {
  if (behaviour === 'slow') return SLOW_MS;
  const meanMs = Number(AFTER.exec(behaviour)?.[1] ?? 0);
  return meanMs * (0.5 + Math.random());
}

/** All that a stream took so far. */
function arrivalsOf(stream: string): { readonly events: number[]; readonly at: number[] } {
  const known = streams.get(stream);
  if (known) return known;
  const arrivals = { events: [], at: [] };
  streams.set(stream, arrivals);
  return arrivals;
}

const HEAD_END = '\r\n\r\n';
const CONTENT_LENGTH = /content-length: (\d+)/i;

/** Finds where each request of a connection ends, at next to no cost: `work` gets its text, head and body. */
function onEachRequest(socket: Socket, work: (request: string) => void): void {
  let pending = '';
  socket.setNoDelay(true);
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    pending += chunk;
    for (let end = endOfRequest(pending); end !== undefined; end = endOfRequest(pending)) {
      work(pending.slice(0, end));
      pending = pending.slice(end);
    }
  });
  socket.on('error', () => socket.destroy());
}

function endOfRequest(text: string): number | undefined {
  const headEnd = text.indexOf(HEAD_END);
  if (headEnd === -1) return undefined;
  const length = Number(CONTENT_LENGTH.exec(text.slice(0, headEnd))?.[1] ?? 0);
  const end = headEnd + HEAD_END.length + length;
  return text.length >= end ? end : undefined;
}
