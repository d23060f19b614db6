import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { AttemptTimings } from '../model/attempt';

export type ConnectionPhase = 'resolving' | 'connecting' | 'securing' | 'ready';

/** How far a connection that is being opened has come, and how long each of its phases took. */
export class NewConnection {
  #phase: ConnectionPhase;
  #phaseStartedAt: number;
  readonly #timings: { -readonly [Phase in keyof AttemptTimings]: AttemptTimings[Phase] } = {};

  /**
   * @param isNamed whether its host is a name that is looked up.
   * @param startedAt when it was asked for, as `performance.now` gives it.
   */
  constructor(socket: Socket, isNamed: boolean, startedAt: number) {
    this.#phase = isNamed ? 'resolving' : 'connecting';
    this.#phaseStartedAt = startedAt;
    const afterConnect = socket instanceof TLSSocket ? 'securing' : 'ready';
    socket.once('secureConnect', () => this.#end('tlsMs', 'ready'));
    if (socket.connecting) {
      if (isNamed) socket.once('lookup', () => this.#end('dnsMs', 'connecting'));
      socket.once('connect', () => this.#end('connectMs', afterConnect));
    } else {
      // A tunnel, which is handed over when it stands; its proxy did the look-up.
      this.#end('connectMs', afterConnect);
    }
  }

  get phase(): ConnectionPhase {
    return this.#phase;
  }

  get timings(): AttemptTimings {
    return this.#timings;
  }

  #end(timing: keyof AttemptTimings, next: ConnectionPhase): void {
    const now = performance.now();
    this.#timings[timing] = Math.round(now - this.#phaseStartedAt);
    this.#phaseStartedAt = now;
    this.#phase = next;
  }
}
