import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** What is known of a kind of receiver beforehand. */
export interface KindOfReceiver {
  readonly name: string;
  readonly outcome: string;
  readonly endedBy: 'receiver' | 'deadline';
  readonly requestBytes?: number;
}

interface Introduction {
  readonly kinds: readonly KindOfReceiver[];
  /** Absent where no certificates can be made. */
  readonly trustedFile?: string;
}

// They belong to the tests, and so are not compiled.
const SCRIPT = join(__dirname, '../../../e2e/receivers/receivers-process.ts');

/** The receivers of the tests' catalogue, in a process of their own. */
export class ReceiversProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly kinds: readonly KindOfReceiver[],
    readonly trustedFile: string | undefined,
  ) {}

  static async start(): Promise<ReceiversProcess> {
    const child = fork(SCRIPT, { execArgv: ['--require', 'esbuild-register'] });
    const [{ kinds, trustedFile }] = (await once(child, 'message')) as [Introduction];
    return new ReceiversProcess(child, kinds, trustedFile);
  }

  /** Resolves with the new receiver's URL. */
  async open(name: string): Promise<string> {
    const { url } = await this.#ask({ do: 'start', name });
    if (url === undefined) throw new Error(`There is no receiver "${name}".`);
    return url;
  }

  async close(name: string): Promise<void> {
    await this.#ask({ do: 'close', name });
  }

  stop(): void {
    this.child.disconnect();
  }

  async #ask(command: { do: 'start' | 'close'; name: string }): Promise<{ readonly url?: string }> {
    this.child.send(command);
    const [reply] = (await once(this.child, 'message')) as [{ readonly url?: string }];
    return reply;
  }
}
