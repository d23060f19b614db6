import { LRUCache } from 'lru-cache';
import type { Attempt, AttemptOutcome } from '../deliveries/attempt';
import type { EndpointId } from '../endpoints/endpoint';

/** The two queues of deliveries, each with slots of its own. */
export type Lane = 'fast' | 'slow';

/** Why a delivery goes over to the slow lane. */
export type MoveReason = 'slow' | 'stranger';

export type LaneEntry =
  | { readonly kind: 'admitted'; readonly asStranger: boolean }
  | { readonly kind: 'move'; readonly reason: MoveReason };

/** Well above what a receiver that accepts first and works afterwards takes; well below any usual time-out. */
export const SLOW_MS = 5_000;
const TIMEOUTS: readonly AttemptOutcome[] = ['connect_timeout', 'response_timeout'];

// Those that are not remembered any more are strangers again, which is what they are on every new worker.
const REMEMBERED_ENDPOINTS = 50_000;

const ADMITTED: LaneEntry = { kind: 'admitted', asStranger: false };
const ADMITTED_AS_STRANGER: LaneEntry = { kind: 'admitted', asStranger: true };

/**
 * Keeps the fast lane's slots for endpoints that answer quickly, by what the last attempt of this process at each was
 * like. Of the others, those known to be slow never get one, and those that nothing is known of only a share.
 */
export class Lanes {
  readonly #paces = new LRUCache<EndpointId, 'quick' | 'slow'>({ max: REMEMBERED_ENDPOINTS });
  #strangersInside = 0;

  /** @param maxStrangers how many of the fast lane's slots endpoints that nothing is known of may hold together. */
  constructor(private readonly maxStrangers: number) {}

  /**
   * Whether a delivery may be tried in the lane that it is in. If so, it has to `leave`.
   *
   * @param isFailing whether the endpoint's last attempt failed, be it another worker's: a stranger that fails is taken
   * for slow until it has shown otherwise.
   */
  enter(lane: Lane, endpointId: EndpointId, isFailing: boolean): LaneEntry {
    if (lane === 'slow') return ADMITTED;
    const pace = this.#paces.get(endpointId) ?? (isFailing ? 'slow' : 'unknown');
    if (pace === 'quick') return ADMITTED;
    if (pace === 'slow') return { kind: 'move', reason: 'slow' };
    if (this.#strangersInside >= this.maxStrangers) return { kind: 'move', reason: 'stranger' };
    this.#strangersInside += 1;
    return ADMITTED_AS_STRANGER;
  }

  /** Whether the last attempt here at the endpoint was a slow one. */
  isSlow(endpointId: EndpointId): boolean {
    return this.#paces.get(endpointId) === 'slow';
  }

  leave({ asStranger }: Extract<LaneEntry, { kind: 'admitted' }>): void {
    if (asStranger) this.#strangersInside -= 1;
  }

  /** Pace is all that counts here: a receiver that refuses at once holds no slot. */
  learn(endpointId: EndpointId, { outcome, durationMs }: Pick<Attempt, 'outcome' | 'durationMs'>): void {
    const isSlow = durationMs > SLOW_MS || TIMEOUTS.includes(outcome);
    this.#paces.set(endpointId, isSlow ? 'slow' : 'quick');
  }
}
