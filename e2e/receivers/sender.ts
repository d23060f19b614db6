/**
 * Sends with the worker's transport, in a process of its own, so that memory and file descriptors can be measured.
 * Told by its parent what to do.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { GotTransport } from '@hookferry/core/deliver/got-transport';
import { classifyResult } from '@hookferry/core/deliver/send-attempt';
import type { SendResult, SentResult } from '@hookferry/core/domain/transport';
import { buildTransportOptions } from '@hookferry/core/testing/build-transport-options';

export interface Sending {
  readonly url: string;
  /** How many requests, all at once. */
  readonly count: number;
  readonly timeoutMs: number;
  readonly requestBytes?: number | undefined;
}

export interface Sent {
  readonly outcomes: Readonly<Record<string, number>>;
  readonly first: SentResult;
  readonly durationMs: number;
  /** Of the connection that brought the most (without TLS). */
  readonly maxBytesRead: number;
}

export type Command = { readonly do: 'send'; readonly sending: Sending } | { readonly do: 'collect garbage' };
export type Reply = Sent | { readonly heapBytes: number };

const REQUEST_BYTES = 100;
// The first collection may leave behind what has a finalizer.
const COLLECTIONS = 3;

const transports = new Map<number, GotTransport>();
let sockets: Socket[] = [];
subscribe('net.client.socket', (message) => sockets.push((message as { socket: Socket }).socket));

process.on('message', (command: Command) => void obey(command).then((reply) => process.send?.(reply)));
process.on('disconnect', () => process.exit());

async function obey(command: Command): Promise<Reply> {
  return command.do === 'send' ? await send(command.sending) : await collectGarbage();
}

async function send({ url, count, timeoutMs, requestBytes = REQUEST_BYTES }: Sending): Promise<Sent> {
  const transport = transportWith(timeoutMs);
  const request = { url, headers: { 'webhook-id': 'evt_1' }, body: 'x'.repeat(requestBytes) };
  const startedAt = performance.now();
  const results = await Promise.all(
    Array.from({ length: count }, async () =>
      requireSent(await transport.send(request, new AbortController().signal)),
    ),
  );
  const durationMs = performance.now() - startedAt;
  const maxBytesRead = Math.max(0, ...sockets.map((socket) => socket.bytesRead));
  sockets = [];
  const [first] = results;
  if (!first) throw new Error('Nothing was sent.');
  return { outcomes: countOutcomes(results), first, durationMs, maxBytesRead };
}

// A busy machine hears of a closed connection late.
const LONGER_THAN_ANY_TEST_MS = 60_000;

function transportWith(timeoutMs: number): GotTransport {
  const transport =
    transports.get(timeoutMs) ??
    new GotTransport(buildTransportOptions({ timeoutMs, staleWithinMs: LONGER_THAN_ANY_TEST_MS }));
  transports.set(timeoutMs, transport);
  return transport;
}

function requireSent(result: SendResult): SentResult {
  if (result.kind === 'unsent') throw new Error(result.error);
  return result;
}

function countOutcomes(results: readonly SentResult[]): Sent['outcomes'] {
  const counts: Record<string, number> = {};
  for (const outcome of results.map(classifyResult)) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

async function collectGarbage(): Promise<{ heapBytes: number }> {
  for (let i = 0; i < COLLECTIONS; i += 1) {
    globalThis.gc?.();
    await nextTurn();
  }
  return { heapBytes: process.memoryUsage().heapUsed };
}
