/** The events that producers and the API publish. Part of the public contract. */
export const EVENTS_QUEUE = 'events';

/** One job a delivery; its id is the delivery's id. */
export const DELIVERIES_QUEUE = 'deliveries';

/** Deliveries to endpoints that are slow, or may be: jobs like those above, under the same ids. */
export const SLOW_DELIVERIES_QUEUE = 'deliveries-slow';

/** One delayed job for each endpoint at whose gate deliveries wait for a time to come. */
export const GATES_QUEUE = 'gates';

/** One job a replay; its id is the replay's id. */
export const REPLAYS_QUEUE = 'replays';

/** One job for each account that is being erased. */
export const ERASURES_QUEUE = 'erasures';

/** What was pushed onto the events queue and is not a valid event, each with its reason. No worker takes from it. */
export const DEAD_LETTERS_QUEUE = 'events-dead-letters';

/** Those that workers take jobs from. */
export const workedQueues = [
  EVENTS_QUEUE,
  DELIVERIES_QUEUE,
  SLOW_DELIVERIES_QUEUE,
  GATES_QUEUE,
  REPLAYS_QUEUE,
  ERASURES_QUEUE,
] as const;
