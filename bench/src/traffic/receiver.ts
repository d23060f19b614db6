/**
 * The receivers of all endpoints, a process of its own that costs next to nothing. The path says what comes of a
 * request, and the stream it is counted in: `/ok/light` is answered with 204 at once, `/after-200/light` after 100 to 300 ms.
 */

import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { obeyParent } from '../processes/child-program';
import { onEachRequest } from '../processes/each-request';
import { EVENT_NUMBER } from './event-text';
import { micros } from './micros';

/** `after-200`: accepted after 200 ms ± 100 ms, evenly spread. */
export type Behaviour = 'ok' | 'slow' | 'hang' | 'fail' | `after-${number}`;

export type ReceiverCommand =
  /** How many requests of a stream were taken so far, those that failed not among them. */
  | { readonly do: 'count'; readonly stream: string }
  /** All that a stream took: the events and when they came, in microseconds of `micros()`. */
  | { readonly do: 'list'; readonly stream: string }
  /** What comes from now on of the requests below `/switched/`. */
  | { readonly do: 'switch'; readonly to: Behaviour };

export interface Arrivals {
  readonly events: readonly number[];
  readonly at: readonly number[];
}

const ACCEPTED = 'HTTP/1.1 204 No Content\r\n\r\n';
const FAILED = 'HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n';
const SLOW_MS = 1_000;
const AFTER = /^after-(\d+)$/;
// Endpoints of one stream may differ in their query.
const PATH = /^\w+ \/([\w-]+)\/([\w-]+)[ ?]/;

const streams = new Map<string, { readonly events: number[]; readonly at: number[] }>();
let switched: Behaviour = 'ok';

const server = createServer((socket) => {
  onEachRequest(socket, (request) => take(request, socket));
});

function take(request: string, socket: Socket): void {
  const at = micros();
  const [, path = '', stream = ''] = PATH.exec(request) ?? [];
  const behaviour = path === 'switched' ? switched : (path as Behaviour);
  if (behaviour === 'fail') {
    socket.write(FAILED);
    return;
  }
  const arrivals = arrivalsOf(stream);
  arrivals.events.push(Number(EVENT_NUMBER.exec(request)?.[1]));
  arrivals.at.push(at);
  void answer(behaviour, socket);
}

async function answer(behaviour: Exclude<Behaviour, 'fail'>, socket: Socket): Promise<void> {
  if (behaviour === 'hang') return;
  const delayMs = delayOf(behaviour);
  if (delayMs > 0) await wait(delayMs);
  if (socket.writable) socket.write(ACCEPTED);
}

function delayOf(behaviour: Exclude<Behaviour, 'fail' | 'hang'>): number {
  if (behaviour === 'slow') return SLOW_MS;
  const meanMs = Number(AFTER.exec(behaviour)?.[1] ?? 0);
  return meanMs * (0.5 + Math.random());
}

function arrivalsOf(stream: string) {
  const known = streams.get(stream);
  if (known) return known;
  const arrivals = { events: [], at: [] };
  streams.set(stream, arrivals);
  return arrivals;
}

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  obeyParent(port, (command) => obey(command as ReceiverCommand));
});

function obey(command: ReceiverCommand): number | Arrivals | undefined {
  switch (command.do) {
    case 'count':
      return arrivalsOf(command.stream).at.length;
    case 'list':
      return arrivalsOf(command.stream);
    case 'switch':
      switched = command.to;
      return undefined;
  }
}
