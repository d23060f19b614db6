/**
 * All receivers of a run, as a process of their own, so that a busy harness makes no request late. The path names the
 * endpoint. Each request is reported once its response is sent or its connection broke.
 */
import { createHash, createHmac, randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { ReceivedRequest } from './ledger';
import type { FromReceivers, ToReceivers } from './receiver-messages';

const REPORT_EVERY_MS = 25;
// One: a breaker that is open already would stay so for long if its probes were refused again and again.
const FLAKY_ATTEMPTS_REFUSED = 1;
const FLAKY_ONE_OF = 3;
const TRAPPING_ENDPOINT = 'swift';

type Registration = Extract<ToReceivers, { kind: 'register' }>;

const registrations = new Map<string, Registration>();
const unavailable = new Set<string>();
const sockets = new Set<Socket>();
const stall = new EventEmitter().setMaxListeners(0);
let isStalled = false;
let isResetting = false;
let trap: string | undefined;
let finished: ReceivedRequest[] = [];

const server = createServer((request, response) => void receive(request, response));
// The service's own pool decides when a connection ends: none is to break but by a fault.
server.keepAliveTimeout = 0;
server.on('connection', (socket: Socket) => {
  sockets.add(socket);
  socket.on('error', () => {});
  socket.once('close', () => sockets.delete(socket));
});
server.listen(0, '127.0.0.1', () =>
  report({ kind: 'listening', port: (server.address() as AddressInfo).port }),
);

process.on('message', (message: ToReceivers) => take(message));
process.on('disconnect', () => process.exit());
setInterval(() => {
  if (finished.length === 0) return;
  report({ kind: 'requests', requests: finished });
  finished = [];
}, REPORT_EVERY_MS);

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const arrivedAt = Date.now();
  const body = await readBody(request);
  const registration = registrations.get((request.url ?? '').slice(1));
  if (body === undefined || registration === undefined) return void response.destroy();
  const facts = describe(request, body, registration);
  response.once('close', () => {
    const status = response.writableFinished ? response.statusCode : null;
    finished.push(...facts.map((each) => ({ ...each, arrivedAt, endedAt: Date.now(), status })));
  });
  const [first] = facts;
  if (first?.marker === trap && first?.endpoint === TRAPPING_ENDPOINT) return report({ kind: 'trapped' });
  if (isResetting) return void request.socket.resetAndDestroy();
  if (registration.respondsAfterMs > 0) await wait(registration.respondsAfterMs);
  if (isStalled) await once(stall, 'over');
  if (first && !response.destroyed) response.writeHead(statusFor(first, registration)).end();
}

/** Undefined if its sender was gone before it was whole: then nothing was delivered. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  } catch {
    return undefined;
  }
}

interface Event {
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Each event of a request. */
function describe({ headers }: IncomingMessage, body: Buffer, { endpoint, secret }: Registration) {
  const content = JSON.parse(body.toString()) as Event | { readonly type: 'batch'; readonly data: Event[] };
  const events = Array.isArray(content.data)
    ? content.data
    : [{ ...(content as Event), id: String(headers['webhook-id']) }];
  const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
  const requestId = randomUUID();
  return events.map(({ id, type, data }) => ({
    endpoint,
    requestId,
    eventId: id,
    marker: String(data.keyword ?? data.brief_id ?? data.import_id ?? data.item),
    type,
    attempt: Number(headers['x-service-attempt']),
    isVerified: headers['x-service-signature'] === signature,
    bodyHash: createHash('sha256').update(JSON.stringify(data)).digest('base64url'),
  }));
}

function statusFor(
  { endpoint, marker, attempt }: { endpoint: string; marker: string; attempt: number },
  { isFlaky }: Registration,
): number {
  if (unavailable.has(endpoint)) return 503;
  const isChosen = (createHash('sha256').update(marker).digest()[0] ?? 0) % FLAKY_ONE_OF === 0;
  return isFlaky && isChosen && attempt <= FLAKY_ATTEMPTS_REFUSED ? 500 : 204;
}

function take(message: ToReceivers): void {
  switch (message.kind) {
    case 'register':
      registrations.set(message.endpoint, message);
      return;
    case 'unavailable':
      if (message.isOn) unavailable.add(message.endpoint);
      else unavailable.delete(message.endpoint);
      return;
    case 'reset':
      isResetting = message.isOn;
      if (isResetting) for (const socket of sockets) socket.resetAndDestroy();
      return;
    case 'stall':
      isStalled = message.isOn;
      if (!isStalled) stall.emit('over');
      return;
    case 'trap':
      trap = message.marker;
      return;
  }
}

function report(message: FromReceivers): void {
  process.send?.(message);
}
