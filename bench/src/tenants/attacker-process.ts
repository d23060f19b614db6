import { join } from 'node:path';
import { ChildProgram } from '../processes/child-program';
import type { Answers, AttackCommand } from './attacker';

export class AttackerProcess {
  private constructor(private readonly program: ChildProgram<null, AttackCommand>) {}

  static async start(): Promise<AttackerProcess> {
    return new AttackerProcess(await ChildProgram.start(join(__dirname, 'attacker.js')));
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
