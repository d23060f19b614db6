import { join } from 'node:path';
import { ChildProgram } from '../processes/child-program';
import type { Batch, SenderCommand, Target } from './sender';

export interface StreamOptions {
  readonly stream: string;
  readonly target: Target;
  readonly firstEvent: number;
  readonly perSecond: number;
}

/** One that publishes, in a process of its own. Times are in microseconds of `micros()`. */
export class SenderProcess {
  private constructor(private readonly program: ChildProgram<null, SenderCommand>) {}

  static async start(): Promise<SenderProcess> {
    return new SenderProcess(await ChildProgram.start(join(__dirname, 'sender.js')));
  }

  /** One event a request, so many at once. @returns when each was sent */
  async publish(options: {
    readonly target: Target;
    readonly firstEvent: number;
    readonly events: number;
    readonly atOnce: number;
  }): Promise<readonly number[]> {
    return await this.program.ask({ do: 'publish', ...options });
  }

  /** Resolves when all are accepted. */
  async publishBatches(batches: readonly Batch[], atOnce: number): Promise<void> {
    await this.program.ask({ do: 'publish batches', batches, atOnce });
  }

  async startStream({ perSecond, ...options }: StreamOptions): Promise<void> {
    await this.program.ask({ do: 'start stream', ...options, everyMs: 1_000 / perSecond });
  }

  /** @returns when each event of it was sent */
  async stopStream(stream: string): Promise<readonly number[]> {
    return await this.program.ask({ do: 'stop stream', stream });
  }

  get pid(): number {
    return this.program.pid;
  }

  stop(): void {
    this.program.stop();
  }
}
