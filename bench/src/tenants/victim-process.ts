import { join } from 'node:path';
import { ChildProgram } from '../processes/child-program';
import type { VictimCommand, VictimOptions, VictimRecord } from './victim';

export class VictimProcess {
  private constructor(private readonly program: ChildProgram<null, VictimCommand>) {}

  static async start(): Promise<VictimProcess> {
    return new VictimProcess(await ChildProgram.start(join(__dirname, 'victim.js')));
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
