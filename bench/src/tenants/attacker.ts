/** One account's worst, in a process of its own, so that what it costs delays nobody's clock. */
import { setMaxListeners } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { ChildProgram, obeyParent } from '../processes/child-program';

/** A request that is sent again and again; `%i` in its path, headers and body is another number each time. */
export interface RequestTemplate {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Whether the body is sent compressed. */
  readonly isCompressed?: boolean;
}

/** What the attacker does until its time is up. */
export interface AttackPlan {
  /** Sent in turn. */
  readonly requests: readonly RequestTemplate[];
  readonly atOnce: number;
  /** Ends with so many requests, although the time goes on. */
  readonly most?: number;
  /** Connections that are held open beside, each with half a request. */
  readonly connections?: number;
  /** Connections that send requests ahead, beside. */
  readonly ahead?: RequestsAhead;
}

/** Requests that a connection sends in one write; another connection takes its place when it is closed. */
export interface RequestsAhead {
  readonly connections: number;
  readonly requests: readonly RequestTemplate[];
  /** Whether the answers are read. */
  readonly areRead: boolean;
}

interface AttackCommand {
  readonly url: string;
  readonly plan: AttackPlan;
  readonly seconds: number;
}

/** How many answers of each status there were; 0: none. */
export type Answers = Readonly<Record<string, number>>;

export class AttackerProcess {
  private constructor(private readonly program: ChildProgram<null, AttackCommand>) {}

  static async start(): Promise<AttackerProcess> {
    return new AttackerProcess(await ChildProgram.start(__filename));
  }

  /** Resolves when the time is up. @returns what its requests were answered with */
  async attack(command: AttackCommand): Promise<Answers> {
    return await this.program.ask(command);
  }

  get pid(): number {
    return this.program.pid;
  }

  stop(): void {
    this.program.stop();
  }
}

// From here on: the program.
const NUMBER = '%i';
const REOPEN_MS = 100;

if (require.main === module) obeyParent(null, (command) => attack(command as AttackCommand));

async function attack({ url, plan, seconds }: AttackCommand): Promise<Answers> {
  const end = AbortSignal.timeout(seconds * 1_000);
  // Each request and connection under way has one.
  setMaxListeners(0, end);
  const answers: Record<string, number> = {};
  const agent = new Agent({ keepAlive: true, maxSockets: plan.atOnce });
  const senders = plan.requests.map((template) => createSender(url, template, agent, end));
  let sent = 0;

  async function sendRest(): Promise<void> {
    while (!end.aborted && sent < (plan.most ?? Number.POSITIVE_INFINITY)) {
      const i = sent++;
      const status = (await senders[i % senders.length]?.(i)) ?? 0;
      // What the end breaks off has no answer.
      if (!end.aborted) answers[status] = (answers[status] ?? 0) + 1;
    }
  }

  await Promise.all([
    ...Array.from({ length: plan.atOnce }, sendRest),
    ...Array.from({ length: plan.connections ?? 0 }, () => holdOpen(url, HALF_A_REQUEST, end)),
    ...Array.from({ length: plan.ahead?.connections ?? 0 }, () => sendAhead(url, plan.ahead, end)),
    untilAborted(end),
  ]);
  agent.destroy();
  return answers;
}

/** @returns what sends the request the i-th time, and resolves with the answer's status */
function createSender(url: string, template: RequestTemplate, agent: Agent, end: AbortSignal) {
  const bodyOf = createBodies(template);
  const headersOf = (i: number) =>
    Object.fromEntries(
      Object.entries(template.headers).map(([name, value]) => [name, value.replace(NUMBER, String(i))]),
    );
  return (i: number) =>
    new Promise<number>((resolve) => {
      const body = bodyOf(i);
      const sent = request(url + template.path.replace(NUMBER, String(i)), {
        agent,
        method: template.method,
        signal: end,
        headers: {
          ...headersOf(i),
          ...(body && { 'content-type': 'application/json', 'content-length': body.byteLength }),
          ...(template.isCompressed && { 'content-encoding': 'gzip' }),
        },
      });
      sent.on('error', () => resolve(0));
      sent.on('response', (response) => {
        response.on('error', () => resolve(0));
        response.on('end', () => resolve(response.statusCode ?? 0));
        response.resume();
      });
      sent.end(body);
    });
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

async function sendAhead(url: string, ahead: RequestsAhead | undefined, end: AbortSignal): Promise<void> {
  if (ahead === undefined) return;
  const texts = ahead.requests.map(({ method, path, headers }) => {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    return `${method} ${path} HTTP/1.1\r\nhost: a\r\n${lines.join('')}\r\n`;
  });
  await holdOpen(url, texts.join(''), end, ahead.areRead);
}

/** A connection on which this was written, and another one when it is closed. */
async function holdOpen(url: string, text: string, end: AbortSignal, isRead = true): Promise<void> {
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
