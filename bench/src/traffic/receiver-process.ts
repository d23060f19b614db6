import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { ChildProgram } from '../processes/child-program';
import type { Arrivals, Behaviour, ReceiverCommand } from './receiver';

const LOOK_EVERY_MS = 20;

/** The receivers of a benchmark, in a process of their own. */
export class ReceiverProcess {
  private constructor(private readonly program: ChildProgram<number, ReceiverCommand>) {}

  static async start(): Promise<ReceiverProcess> {
    return new ReceiverProcess(await ChildProgram.start(join(__dirname, 'receiver.js')));
  }

  urlOf(behaviour: Behaviour | 'switched', stream: string): string {
    return `http://127.0.0.1:${this.program.greeting}/${behaviour}/${stream}`;
  }

  async count(stream: string): Promise<number> {
    return await this.program.ask({ do: 'count', stream });
  }

  async list(stream: string): Promise<Arrivals> {
    return await this.program.ask({ do: 'list', stream });
  }

  /** What comes from now on of the requests to `switched` endpoints. */
  async switchTo(to: Behaviour): Promise<void> {
    await this.program.ask({ do: 'switch', to });
  }

  /** Waits until the stream has so many, or the time is up. */
  async waitFor(stream: string, wished: number, withinMs: number): Promise<boolean> {
    const limit = Date.now() + withinMs;
    for (;;) {
      if ((await this.count(stream)) >= wished) return true;
      if (Date.now() > limit) return false;
      await wait(LOOK_EVERY_MS);
    }
  }

  get pid(): number {
    return this.program.pid;
  }

  stop(): void {
    this.program.stop();
  }
}
