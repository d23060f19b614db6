import { connect, type Socket } from 'node:net';
import { startTcpServer } from '@hookferry/core/testing/local-server';

/**
 * `at-once`: as a cable that is pulled.
 * `half-sent`: in the middle of the next thing that is sent.
 * `before-reply`: the server has done what it was asked to, and nobody is told.
 */
export type Cut = 'at-once' | 'half-sent' | 'before-reply';
export const cuts: readonly Cut[] = ['at-once', 'half-sent', 'before-reply'];

/** How long a connection on which nothing is sent waits to be cut. */
export const CUT_WITHIN_MS = 1_500;

/** Whether this is a thing that was waited for, on its way to the server. */
export type IsMeant = (chunk: Buffer) => boolean;

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  doom: Cut | 'reply-awaited' | 'swallowed' | undefined;
  /** Only what is so sets off its doom. */
  isMeant: IsMeant;
  /** Called instead of a reply being passed on. */
  onReply: (() => void) | undefined;
}

interface Trap {
  readonly isMeant: IsMeant;
  readonly spring: (link: Link) => void;
}

/** Stands between one process and a server: Redis, or PostgreSQL. */
export class FaultyProxy {
  readonly #links = new Set<Link>();
  readonly #traps = new Set<Trap>();
  #isStalled = false;
  #delayMs = 0;
  #server: Awaited<ReturnType<typeof startTcpServer>> | undefined;

  private constructor(private readonly serverPort: number) {}

  static async start(serverPort: number): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(serverPort);
    proxy.#server = await startTcpServer((client) => proxy.#connect(client));
    return proxy;
  }

  get port(): number {
    return this.#server?.port ?? 0;
  }

  /** Cuts each connection there is, in the way that `choose` says. @param isMeant where something is sent: at what. */
  cut(choose: () => Cut, isMeant: IsMeant = () => true): void {
    for (const link of this.#links) {
      link.doom = choose();
      link.isMeant = isMeant;
      if (link.doom === 'at-once') end(link);
    }
  }

  /** Spares those that were to be cut and on which nothing was sent. */
  spareTheRest(): void {
    for (const link of this.#links) link.doom = undefined;
  }

  /** Resolves once such a thing is sent; with false if none is within this time. */
  async untilSent(isMeant: IsMeant, withinMs: number): Promise<boolean> {
    return await this.#trap(isMeant, withinMs, (_link, resolve) => resolve());
  }

  /** Resolves once the server has replied to such a thing. The process is not told: nothing comes on that connection any more. */
  async untilReplied(isMeant: IsMeant, withinMs: number): Promise<boolean> {
    return await this.#trap(isMeant, withinMs, (link, resolve) => {
      link.onReply = () => {
        link.doom = 'swallowed';
        resolve();
      };
    });
  }

  async #trap(
    isMeant: IsMeant,
    withinMs: number,
    spring: (link: Link, resolve: () => void) => void,
  ): Promise<boolean> {
    return await new Promise<boolean>((resolve) => {
      const trap: Trap = {
        isMeant,
        spring: (link) => {
          this.#traps.delete(trap);
          spring(link, () => resolve(true));
        },
      };
      this.#traps.add(trap);
      setTimeout(() => {
        this.#traps.delete(trap);
        resolve(false);
      }, withinMs);
    });
  }

  /** Nothing passes in either direction, and nothing is lost. */
  stall(): void {
    this.#isStalled = true;
    for (const { client, server } of this.#links) {
      client.pause();
      server.pause();
    }
  }

  resume(): void {
    this.#isStalled = false;
    for (const { client, server } of this.#links) {
      client.resume();
      server.resume();
    }
  }

  /**
   * What is sent on the connections that there are now gets lost, and neither side is told.
   * @returns what resets them, as a kernel does that has waited for long enough.
   */
  swallow(): () => void {
    const links = [...this.#links];
    for (const link of links) link.doom = 'swallowed';
    return () => {
      for (const link of links) end(link);
    };
  }

  /** Everything is on its way for so much longer, in each direction; 0 for no longer. */
  delay(ms: number): void {
    this.#delayMs = ms;
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  #connect(client: Socket): void {
    const server = connect(this.serverPort, '127.0.0.1');
    server.on('error', () => {});
    client.setNoDelay(true);
    server.setNoDelay(true);
    const link: Link = { client, server, doom: undefined, isMeant: () => true, onReply: undefined };
    this.#links.add(link);
    server.once('close', () => end(link));
    client.once('close', () => {
      this.#links.delete(link);
      end(link);
    });
    client.on(
      'data',
      this.#inOrder((chunk) => {
        for (const trap of this.#traps) if (trap.isMeant(chunk)) trap.spring(link);
        passOn(link, chunk);
      }),
    );
    server.on(
      'data',
      this.#inOrder((chunk) => passBack(link, chunk)),
    );
    if (this.#isStalled) {
      client.pause();
      server.pause();
    }
  }

  /** Passes chunks on late while there is a delay, and never one before another. */
  #inOrder(pass: (chunk: Buffer) => void): (chunk: Buffer) => void {
    const waiting: { readonly dueAt: number; readonly chunk: Buffer }[] = [];
    const release = () => {
      const now = performance.now();
      for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
        if (next.dueAt > now) return void setTimeout(release, next.dueAt - now);
        waiting.shift();
        pass(next.chunk);
      }
    };
    return (chunk) => {
      if (this.#delayMs === 0 && waiting.length === 0) return pass(chunk);
      waiting.push({ dueAt: performance.now() + this.#delayMs, chunk });
      if (waiting.length === 1) setTimeout(release, this.#delayMs);
    };
  }
}

function passOn(link: Link, chunk: Buffer): void {
  if (link.doom === 'swallowed') return;
  if (link.doom === 'half-sent' && link.isMeant(chunk)) {
    link.doom = undefined;
    link.server.end(chunk.subarray(0, chunk.length >> 1));
    link.client.destroy();
    return;
  }
  if (link.doom === 'before-reply' && link.isMeant(chunk)) link.doom = 'reply-awaited';
  link.server.write(chunk);
}

function passBack(link: Link, chunk: Buffer): void {
  if (link.onReply) link.onReply();
  if (link.doom === 'swallowed') return;
  if (link.doom === 'reply-awaited') end(link);
  else link.client.write(chunk);
}

function end({ client, server }: Link): void {
  client.destroy();
  server.destroy();
}
