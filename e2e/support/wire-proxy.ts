import { connect, type Socket } from 'node:net';
import { type LocalServer, startTcpServer } from '@hookferry/core/testing/local-server';

/** What is about to happen on one connection: `open`, `>1` for the first thing sent, `<1` for the first thing answered. */
export type OnStep = (step: string) => Promise<void> | void;

interface Link {
  readonly client: Socket;
  /** By what it may be told something that it did not ask for. */
  protocol: 2 | 3;
  isSubscriber: boolean;
}

const CHANNEL = '+switch-master';

/** Stands before a real Redis or Sentinel, and passes everything on, one step after the other on each connection. */
export class WireProxy {
  /** Asked before each step; what it returns is waited for. */
  onStep: OnStep = () => {};
  isSilent = false;
  readonly #links = new Set<Link>();
  #server: LocalServer | undefined;

  private constructor(private readonly port: number) {}

  static async start(port: number): Promise<WireProxy> {
    const proxy = new WireProxy(port);
    proxy.#server = await startTcpServer((client) => proxy.#pass(client));
    return proxy;
  }

  get listensOn(): number {
    return this.#server?.port ?? 0;
  }

  /** Those who listen to the Sentinel at the moment. */
  get subscribers(): readonly Link[] {
    return [...this.#links].filter(({ isSubscriber }) => isSubscriber);
  }

  /** All connections break, as when what is behind it dies. */
  breakAll(): void {
    for (const { client } of this.#links) client.destroy();
  }

  /** As a Sentinel says it that has seen a promotion. Resolves when all who were told have left: they do when they have heard it. */
  async announceSwitch(subscribers: readonly Link[], text: string): Promise<void> {
    const present = subscribers.filter((link) => this.#links.has(link));
    await Promise.all(
      present.map(async (link) => {
        const left = new Promise((resolve) => link.client.once('close', resolve));
        const words = ['message', CHANNEL, text].map((word) => `$${word.length}\r\n${word}\r\n`);
        link.client.write(`${link.protocol === 3 ? '>' : '*'}3\r\n${words.join('')}`);
        await left;
      }),
    );
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  #pass(client: Socket): void {
    const server = connect(this.port, '127.0.0.1');
    const link: Link = { client, protocol: 2, isSubscriber: false };
    this.#links.add(link);
    server.on('error', () => {});
    client.on('error', () => {});
    server.once('close', () => client.destroy());
    client.once('close', () => {
      this.#links.delete(link);
      server.destroy();
    });
    let steps = Promise.resolve(this.onStep('open'));
    const then = (step: string, act: () => void) => {
      steps = steps.then(() => this.onStep(step)).then(act);
    };
    let [sent, answered] = [0, 0];
    client.on('data', (chunk: Buffer) => {
      if (/hello\r\n\$1\r\n3/i.test(chunk.toString('latin1'))) link.protocol = 3;
      then(`>${++sent}`, () => {
        if (this.isSilent) return;
        server.write(chunk);
      });
    });
    server.on('data', (chunk: Buffer) =>
      then(`<${++answered}`, () => {
        client.write(chunk);
        if (chunk.includes(CHANNEL)) link.isSubscriber = true;
      }),
    );
  }
}
