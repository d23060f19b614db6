/** A client's connection, over which an answer goes on and on. */
export interface Connection {
  /** Aborts when it is closed, by either side. */
  readonly signal: AbortSignal;
  close(): void;
}
