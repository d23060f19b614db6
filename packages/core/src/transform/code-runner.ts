import type { AccountId } from '../domain/account';

/**
 * Runs code that customers have written. Who only needs its results knows this alone, and not the sandbox: a process loads
 * that with the first run, in a thread of its own.
 */
export interface CodeRunner {
  /** @throws AppError `rate_limited` when too many runs wait, the account is paused, or this process ends. */
  run(run: CodeRun): Promise<RunResult>;
}

export interface CodeRun {
  /** Whose time is used. */
  readonly accountId: AccountId;
  readonly code: string;
  /** Absent: the code is only loaded, to see whether it can be. */
  readonly input?: CodeInput | undefined;
}

export interface CodeInput {
  /** The event's `{"type", "data"}`, as a text of JSON. */
  readonly body: string;
  /** The event's other members, as a text of JSON. */
  readonly rest: string;
  /** The present for the code. Milliseconds since the Unix epoch. */
  readonly now: number;
  /** Of its random numbers: the same seed gives the same ones. */
  readonly seed: number;
}

/** The result of a run, as far as the sandbox knows it. */
export type RunResult = RunEnd & RunFacts;

export interface RunFacts {
  /** The output of the code's `console`, 4 KB at most. */
  readonly logs: readonly string[];
  /** Of processor time. */
  readonly tookMs: number;
}

export type RunEnd =
  | { readonly kind: 'loaded' }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'returned'; readonly text: string; readonly headers: Readonly<Record<string, string>> }
  | ({ readonly kind: 'failed' } & CodeFault);

/** The error of the code, without facts about the host. */
export interface CodeFault extends CodePlace {
  readonly message: string;
}

/** Of the code's own. 1, 2, …; absent: nobody knows where. */
export interface CodePlace {
  readonly line?: number;
  readonly column?: number;
}
