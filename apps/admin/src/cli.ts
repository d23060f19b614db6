import type { Service } from './compose';

/** Where a command's words go: what it is asked for to `out`, what is said about it to `error`. */
export interface Output {
  out(text: string): void;
  error(text: string): void;
}

/** What every command is given. */
export interface Cli {
  readonly output: Output;
  /** Connects for as long as `action` takes. */
  withService(action: (service: Service) => Promise<void>): Promise<void>;
}
