import type { QueuedJob, RunNumber } from './queued-job';

export interface Bounds {
  readonly deliveries: number;
  /** At the same time; a stalled one counts until it goes on. */
  readonly runs: 2 | 3;
  /** Failures until a delivery is exhausted. */
  readonly attempts: number;
  /** How often a run crashes or loses its lock; may be infinite. */
  readonly faults: number;
  /** Whether a delivery is also cancelled, brought forward, fanned out again, or held until its bound. */
  readonly accidents: 'all' | 'none';
  /** By default it opens and closes at any time. */
  readonly gate?: 'stays open';
  /** How many move what has ended to a history at the same time. Absent: there is no history. */
  readonly movers?: 1 | 2;
  /** How often somebody asks for a delivery that has ended to be sent again. */
  readonly resends?: number;
}

/** What the protocol relies on: the test takes each away and sees what breaks. */
export type Rule =
  | 'an entry stays while its job is active'
  | 'a delivery is listed before it is put off'
  | 'who lists a delivery asks for a look'
  | 'a look at a closed gate asks for another one'
  | 'a job is moved by the owner of its lock only'
  | 'only the owner of the lock starts a request'
  | 'a recorded end stays'
  | 'a success ends its own round only'
  | 'what has a job does not leave Redis'
  | 'what has changed since it was read does not leave Redis'
  | 'what is about to be sent again is pinned'
  | 'what has moved is not fanned out again'
  | 'what moves is in the history before it leaves Redis'
  | 'what the history has already is not overwritten by what is older';

export interface Choices {
  readonly bounds: Bounds;
  /** Whether the step that admits a run also compares the log with what the run has loaded. */
  readonly admission: 'reads the gate' | 'reads the gate and the log';
  readonly without?: Rule;
}

export interface Delivery {
  readonly job: QueuedJob;
  /** In the index of those held at the endpoint's gate. */
  readonly isListed: boolean;
  readonly end: End;
  readonly failures: number;
  /** Whether the time of its next attempt has come. */
  readonly isDue: boolean;
  readonly publish: 'new' | 'added' | 'acknowledged';
  /** Whether its log is in Redis. `end` is what was recorded last, wherever that is. */
  readonly log: 'in Redis' | 'moved';
  /** The end that the history has. */
  readonly row: End;
  readonly movers: readonly Mover[];
  /** How far somebody is who sends it again: pinned and read, back in Redis, with its job. */
  readonly resend: 'none' | 'pinned' | 'back' | 'added';
  /** A pin of somebody who has died. It ends by itself. */
  readonly isPinLeft: boolean;
  /** Whether its job carries a request that is not on record yet. */
  readonly isRequested: boolean;
  readonly resendsLeft: number;
}

export type End = 'none' | 'delivered' | 'exhausted' | 'cancelled';

/** Somebody who moves the delivery to the history. */
export interface Mover {
  readonly at: 'idle' | 'read' | 'committed';
  readonly saw: End;
  /** Whether nothing was appended since it read the log, and the log is still there. */
  readonly isLogAsRead: boolean;
}

export const IDLE_MOVER: Mover = { at: 'idle', saw: 'none', isLogAsRead: true };

/** What a run has done last: in this order, but for the forks at the log, at the gate and at the answer. */
export type Place =
  | 'idle'
  | 'fetched'
  | 'loaded'
  | 'refused'
  | 'listed'
  | 'admitted'
  | 'sending'
  | 'succeeded'
  | 'failed'
  | 'ended'
  | 'retrying';

export interface Run {
  readonly at: Place;
  /** Which delivery, by its index. */
  readonly of: number;
  /**
   * Whether nothing was appended since it loaded the log: what its own append compares. Instead of a length,
   * which would make endlessly many states.
   */
  readonly isLogAsLoaded: boolean;
  /** Whether no request has begun another round since: then its attempt is of the present one. */
  readonly isOfRound: boolean;
}

export interface State {
  readonly deliveries: readonly Delivery[];
  readonly runs: readonly Run[];
  readonly isGateOpen: boolean;
  /** Whether a sweep will look at the endpoint. Claiming it only puts it off, so that a crash leaves it. */
  readonly isWakeUpDue: boolean;
  /** What somebody who is about to look at the held ones has read of the gate. */
  readonly look: 'none' | 'saw open' | 'saw closed';
  readonly faultsLeft: number;
}

export const IDLE: Run = { at: 'idle', of: 0, isLogAsLoaded: true, isOfRound: true };

/** What a step changes; the rest stays as it was. */
export type Change = Partial<State> & {
  readonly delivery?: Partial<Delivery>;
  readonly run?: Run;
  readonly appends?: true;
  /** What is appended is a request. If its delivery has ended, that begins a round. */
  readonly requests?: true;
};

export interface Scene extends State {
  readonly delivery: Delivery;
  readonly index: number;
}

export interface RunScene extends Scene {
  readonly run: Run;
  readonly number: RunNumber;
  readonly choices: Choices;
}

export type StepOf<S> = (scene: S) => Change | undefined;
