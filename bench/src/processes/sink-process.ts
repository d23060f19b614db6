import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

export interface SinkCount {
  readonly received: number;
  /** When the last request came. Milliseconds since the Unix epoch; 0 before the first. */
  readonly lastAt: number;
}

/** The receiver of a benchmark, in a process of its own. */
export class SinkProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(): Promise<SinkProcess> {
    const child = fork(join(__dirname, 'sink.js'));
    const [{ address }] = (await once(child, 'message')) as [{ address: AddressInfo }];
    return new SinkProcess(child, `http://127.0.0.1:${address.port}/hook`);
  }

  async count(): Promise<SinkCount> {
    this.child.send('count');
    const [count] = (await once(this.child, 'message')) as [SinkCount];
    return count;
  }

  stop(): void {
    this.child.disconnect();
  }
}
