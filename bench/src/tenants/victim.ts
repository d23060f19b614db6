/**
 * An account that does nothing out of the ordinary: it publishes and reads at a steady rate, in a process of its own, and
 * keeps how long each answer took.
 */
import { Agent } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { ChildProgram, obeyParent } from '../processes/child-program';
import { micros, textOf } from '../traffic/events';
import { ask } from './ask';

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

const program = { begin, end };

export class VictimProcess extends ChildProgram<typeof program> {
  constructor() {
    super(__filename);
  }
}

// From here on: the program.
// Longer than anybody waits.
const TIMEOUT_MS = 10_000;
const agent = new Agent({ keepAlive: true });
const publishes: Promise<Asked>[] = [];
const answers: Promise<Asked>[] = [];
const progress = { isStopped: false };

if (require.main === module) obeyParent(program);

function begin(options: VictimOptions): void {
  void goOn(options);
}

async function goOn({ url, headers, reads, perSecond }: VictimOptions): Promise<void> {
  const startedAt = performance.now();
  for (let i = 0; !progress.isStopped; i += 1) {
    const early = startedAt + (i * 1_000) / perSecond - performance.now();
    if (early > 0) await wait(early);
    publishes.push(measure('POST', `${url}/v1/events`, headers, textOf(i)));
    const read = reads[i % reads.length];
    if (!read) continue;
    answers.push(measure(read.method, url + read.path, headers, read.body?.replace('%i', String(i))));
  }
}

/** Resolves when all that it asked was answered, or took too long. */
async function end(): Promise<VictimRecord> {
  progress.isStopped = true;
  return { publishes: await Promise.all(publishes), reads: await Promise.all(answers) };
}

async function measure(
  method: string,
  url: string,
  headers: VictimOptions['headers'],
  body?: string,
): Promise<Asked> {
  const sentAt = micros();
  const status = await ask(url, { agent, method, headers, timeout: TIMEOUT_MS }, body);
  return { sentAt, tookMicros: micros() - sentAt, isRefused: status < 200 || status > 299 };
}
