import { EVENTS_QUEUE } from '@hookferry/producer/contract';

export { EVENTS_QUEUE };

/** One job a delivery; its id is the delivery's id. */
export const DELIVERIES_QUEUE = 'deliveries';

/** One job a replay; its id is the replay's id. */
export const REPLAYS_QUEUE = 'replays';

/** One job for each account that is being erased. */
export const ERASURES_QUEUE = 'erasures';

/** What was pushed onto the events queue and is not a valid event, each with its reason. No worker takes from it. */
export const DEAD_LETTERS_QUEUE = 'events-dead-letters';

/** Those that workers take jobs from. */
export const workedQueues = [EVENTS_QUEUE, DELIVERIES_QUEUE, REPLAYS_QUEUE, ERASURES_QUEUE] as const;
export type WorkedQueue = (typeof workedQueues)[number];
