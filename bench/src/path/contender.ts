import type { MeasuredProcess } from '../processes/measured-process';
import type { Target } from '../traffic/sender';

export interface PathOptions {
  readonly redisUrl: string;
  /** Where the one endpoint is. */
  readonly receiverUrl: string;
  /** For node, in both processes. */
  readonly nodeOptions?: readonly string[];
}

/** An API and a worker with one endpoint registered. */
export interface Pair {
  readonly api: MeasuredProcess;
  readonly worker: MeasuredProcess;
  readonly target: Target;
  stop(): Promise<void>;
}

export interface PathContender {
  readonly name: string;
  start(options: PathOptions): Promise<Pair>;
}
