import type { MeasuredProcess } from '../processes/measured-process';
import type { Target } from '../traffic/sender';

export interface PathOptions {
  readonly redisUrl: string;
  /** Where the webhooks are. Each event goes to one of them; with more than one, events are aimed at them in turn. */
  readonly receiverUrls: readonly string[];
  /** For node, in both processes. */
  readonly nodeOptions?: readonly string[];
}

/** An API and a worker with all webhooks registered. */
export interface Pair {
  readonly api: MeasuredProcess;
  readonly worker: MeasuredProcess;
  readonly target: Target;
  /** Starts one more, for the caller to end. */
  addWorker(): MeasuredProcess;
  stop(): Promise<void>;
}

export interface PathContender {
  readonly name: string;
  start(options: PathOptions): Promise<Pair>;
}
