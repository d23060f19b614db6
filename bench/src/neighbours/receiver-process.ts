import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface Arrival {
  readonly event: number;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
}

export class ReceiverProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(): Promise<ReceiverProcess> {
    const child = fork(join(__dirname, 'receiver.js'));
    const [port] = (await once(child, 'message')) as [number];
    return new ReceiverProcess(child, `http://127.0.0.1:${port}`);
  }

  /** What came since the last time that it was asked. */
  async takeArrivals(): Promise<readonly Arrival[]> {
    this.child.send('arrivals');
    const [arrivals] = (await once(this.child, 'message')) as [[number, number][]];
    return arrivals.map(([event, at]) => ({ event, at }));
  }

  stop(): void {
    this.child.disconnect();
  }
}
