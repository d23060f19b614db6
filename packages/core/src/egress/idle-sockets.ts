import type { Duplex } from 'node:stream';

/**
 * The connections to all receivers that are kept alive and wait for their next request. When there are too many, the
 * one that has waited longest is closed.
 */
export class IdleSockets {
  /** In the order in which they became idle. */
  readonly #idle = new Set<Duplex>();
  readonly #watched = new WeakSet<Duplex>();

  constructor(private readonly max: number) {}

  add(socket: Duplex): void {
    this.#watch(socket);
    this.#idle.add(socket);
    if (this.#idle.size <= this.max) return;
    for (const longest of this.#idle) {
      this.#idle.delete(longest);
      return void longest.destroy();
    }
  }

  remove(socket: Duplex): void {
    this.#idle.delete(socket);
  }

  // Once for each connection, however often it becomes idle.
  #watch(socket: Duplex): void {
    if (this.#watched.has(socket)) return;
    this.#watched.add(socket);
    socket.once('close', () => this.#idle.delete(socket));
  }
}
