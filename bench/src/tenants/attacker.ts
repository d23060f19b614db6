/** One account's worst, in a process of its own, so that what it costs delays nobody's clock. */
import { setMaxListeners } from 'node:events';
import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { ChildProgram, obeyParent } from '../processes/child-program';
import { ask } from './ask';

/** A request that is sent again and again; `%i` in its path, headers and body is another number each time. */
export interface RequestTemplate {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Whether the body is sent compressed. */
  readonly isCompressed?: boolean;
}

/** What the attacker does until its time is up. */
export interface AttackPlan {
  /** Sent in turn. */
  readonly requests?: readonly RequestTemplate[];
  /** 16 unless given. */
  readonly atOnce?: number;
  /** Ends with so many requests, although the time goes on. */
  readonly most?: number;
  /** Connections that are held open beside, each with half a request. */
  readonly connections?: number;
  /** Connections that send requests ahead, beside. */
  readonly ahead?: RequestsAhead;
}

/** Requests that a connection sends in one write, and whose answers it never reads. Once closed, it is opened again. */
export interface RequestsAhead {
  readonly connections: number;
  readonly requests: readonly RequestTemplate[];
}

interface AttackOptions {
  readonly url: string;
  readonly plan: AttackPlan;
  readonly seconds: number;
}

/** How many answers of each status there were; 0: none. */
export type Answers = Readonly<Record<string, number>>;

const program = { attack };

export class AttackerProcess extends ChildProgram<typeof program> {
  constructor() {
    super(__filename);
  }
}

// From here on: the program.
const AT_ONCE = 16;
const NUMBER = '%i';
const REOPEN_MS = 100;

if (require.main === module) obeyParent(program);

/** Resolves when the time is up. @returns what its requests were answered with */
async function attack({ url, plan, seconds }: AttackOptions): Promise<Answers> {
  const { requests = [], atOnce = AT_ONCE, most = Number.POSITIVE_INFINITY, connections = 0, ahead } = plan;
  const end = AbortSignal.timeout(seconds * 1_000);
  // Each request and connection under way has one.
  setMaxListeners(0, end);
  const answers: Record<string, number> = {};
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  const senders = requests.map((template) => createSender(url, template, agent, end));
  let sent = 0;

  async function sendRest(): Promise<void> {
    while (!end.aborted && sent < most) {
      const i = sent++;
      const status = await senders[i % senders.length]?.(i);
      if (status === undefined) return;
      // What the end breaks off has no answer.
      if (!end.aborted) answers[status] = (answers[status] ?? 0) + 1;
    }
  }

  await Promise.all([
    ...Array.from({ length: atOnce }, sendRest),
    ...Array.from({ length: connections }, () => holdOpen(url, HALF_A_REQUEST, end, true)),
    ...Array.from({ length: ahead?.connections ?? 0 }, () => holdOpen(url, textOf(ahead), end, false)),
    untilAborted(end),
  ]);
  agent.destroy();
  return answers;
}

/** @returns what sends the request the i-th time, and resolves with the answer's status */
function createSender(url: string, template: RequestTemplate, agent: Agent, signal: AbortSignal) {
  const { method, path, isCompressed } = template;
  const bodyOf = createBodies(template);
  const encoding = isCompressed && { 'content-encoding': 'gzip' };
  return (i: number) => {
    const number = String(i);
    const own = Object.entries(template.headers).map(([name, value]) => [
      name,
      value.replace(NUMBER, number),
    ]);
    const headers = { ...Object.fromEntries(own), ...encoding };
    return ask(url + path.replace(NUMBER, number), { agent, method, signal, headers }, bodyOf(i));
  };
}

/** What is the same each time is made once: the attacker's own processor time is not what is measured. */
function createBodies({ body, isCompressed = false }: RequestTemplate): (i: number) => Buffer | undefined {
  if (body === undefined) return () => undefined;
  const encode = (text: string) => (isCompressed ? gzipSync(text) : Buffer.from(text));
  if (!body.includes(NUMBER)) {
    const encoded = encode(body);
    return () => encoded;
  }
  return (i) => encode(body.replaceAll(NUMBER, String(i)));
}

const HALF_A_REQUEST = 'POST /v1/events HTTP/1.1\r\nhost: a\r\nx-slow: ';

function textOf(ahead: RequestsAhead | undefined): string {
  const texts = ahead?.requests.map(({ method, path, headers }) => {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    return `${method} ${path} HTTP/1.1\r\nhost: a\r\n${lines.join('')}\r\n`;
  });
  return texts?.join('') ?? '';
}

/** A connection on which this was written, and another one when it is closed. @param isRead whether what is answered is */
async function holdOpen(url: string, text: string, end: AbortSignal, isRead: boolean): Promise<void> {
  const { hostname, port } = new URL(url);
  while (!end.aborted) {
    const socket = connect(Number(port), hostname);
    if (isRead) socket.resume();
    else socket.pause();
    socket.write(text);
    await untilClosed(socket, end);
    await wait(REOPEN_MS);
  }
}

async function untilClosed(socket: Socket, end: AbortSignal): Promise<void> {
  const stop = () => socket.destroy();
  end.addEventListener('abort', stop, { once: true });
  socket.on('error', stop);
  await new Promise((resolve) => socket.once('close', resolve));
  end.removeEventListener('abort', stop);
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
