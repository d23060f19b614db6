/**
 * An account that does nothing out of the ordinary: it publishes and reads at a steady rate, in a process of its own, and
 * keeps how long each answer took.
 */
import { Agent, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { ChildProgram, obeyParent } from '../processes/child-program';
import { micros, textOf } from '../traffic/events';

interface VictimOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What it asks for beside, in turn. */
  readonly reads: readonly VictimRead[];
  readonly perSecond: number;
}

/** `%i` in its body is another number each time. */
export interface VictimRead {
  readonly method: 'GET' | 'PUT' | 'POST';
  readonly path: string;
  readonly body?: string;
}

type VictimCommand = ({ readonly do: 'start' } & VictimOptions) | { readonly do: 'stop' };

/** Times are in microseconds of `micros()`. One that was not answered in time took as long as was waited. */
export interface Asked {
  readonly sentAt: number;
  readonly tookMicros: number;
  readonly isRefused: boolean;
}

export interface VictimRecord {
  /** The i-th is event number i. */
  readonly publishes: readonly Asked[];
  readonly reads: readonly Asked[];
}

export class VictimProcess {
  private constructor(private readonly program: ChildProgram<null, VictimCommand>) {}

  static async start(): Promise<VictimProcess> {
    return new VictimProcess(await ChildProgram.start(__filename));
  }

  async begin(options: VictimOptions): Promise<void> {
    await this.program.ask({ do: 'start', ...options });
  }

  /** Resolves when all that it asked was answered, or took too long. */
  async end(): Promise<VictimRecord> {
    return await this.program.ask({ do: 'stop' });
  }

  get pid(): number {
    return this.program.pid;
  }

  stop(): void {
    this.program.stop();
  }
}

// From here on: the program.
// Longer than anybody waits.
const TIMEOUT_MS = 10_000;
const agent = new Agent({ keepAlive: true });

interface Running {
  readonly publishes: Promise<Asked>[];
  readonly reads: Promise<Asked>[];
  isStopped: boolean;
}
let running: Running | undefined;

if (require.main === module) obeyParent(null, (command) => obey(command as VictimCommand));

async function obey(command: VictimCommand): Promise<VictimRecord | undefined> {
  if (command.do === 'stop') return await stop();
  running = { publishes: [], reads: [], isStopped: false };
  void goOn(running, command);
  return undefined;
}

async function goOn(now: Running, { url, headers, reads, perSecond }: VictimOptions): Promise<void> {
  const startedAt = performance.now();
  for (let i = 0; !now.isStopped; i += 1) {
    const early = startedAt + (i * 1_000) / perSecond - performance.now();
    if (early > 0) await wait(early);
    now.publishes.push(ask('POST', `${url}/v1/events`, headers, textOf(i)));
    const read = reads[i % reads.length];
    if (read) now.reads.push(ask(read.method, url + read.path, headers, read.body?.replace('%i', String(i))));
  }
}

async function stop(): Promise<VictimRecord> {
  if (!running) throw new Error('The victim was not started.');
  running.isStopped = true;
  return { publishes: await Promise.all(running.publishes), reads: await Promise.all(running.reads) };
}

function ask(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  body?: string,
): Promise<Asked> {
  const sentAt = micros();
  return new Promise((resolve) => {
    const end = (status: number) =>
      resolve({ sentAt, tookMicros: micros() - sentAt, isRefused: status < 200 || status > 299 });
    const sent = request(url, {
      agent,
      method,
      timeout: TIMEOUT_MS,
      headers: {
        ...headers,
        ...(body !== undefined && {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        }),
      },
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => end(0));
    sent.on('response', (response) => {
      response.on('error', () => end(0));
      response.on('end', () => end(response.statusCode ?? 0));
      response.resume();
    });
    sent.end(body);
  });
}
