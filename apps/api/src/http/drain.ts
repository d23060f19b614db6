import { setTimeout as wait } from 'node:timers/promises';
import type { RequestHandler } from 'express';

/**
 * The time between being told to stop and closing the door. Whoever sends requests here has to learn that they go elsewhere
 * before they are refused: who asks for readiness by a 503, who keeps connections open by the header that ends them.
 */
export class Drain {
  #isDraining = false;

  /** @param delayMs how long requests are answered still. */
  constructor(private readonly delayMs: number) {}

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Resolves when nothing should come any more. */
  async stop(): Promise<void> {
    this.#isDraining = true;
    await wait(this.delayMs);
  }

  readonly endConnections: RequestHandler = (_request, response, next) => {
    if (this.#isDraining) response.set('connection', 'close');
    next();
  };
}
