/*
 * Fair order: a start-time fair queue, carried by BullMQ's priorities.
 *
 * A script gives a job its position when it adds it. A flow with nothing waiting gets the position of the job
 * that is taken next. Any other flow gets one step behind its last position. So a delivery of an endpoint
 * with nothing waiting goes next, however many others wait, and waiting deliveries take turns. A flow is an
 * endpoint of an account. The length of a step is the number of the account's waiting flows, divided by the
 * account's weight: so accounts take turns first, and then the endpoints of each. When many flows of one
 * account begin to wait at once (an event with 100,000 receivers), they count as steps of the account beyond
 * the first few.
 *
 * Positions grow for ever. A priority is the distance from the position at which the queue was last empty.
 * Beyond BullMQ's largest priority, jobs go in the order of their arrival.
 */

/**
 * BullMQ's largest; it refuses larger ones. `0` and an absent priority mean that a job goes before all that
 * have one.
 */
export const MAX_PRIORITY = 2_097_151;
/** This many flows of an account may begin to wait at the same moment before they count as its steps. */
export const FREE_STARTS = 32;
// Positions matter while jobs wait. A forgotten flow starts again.
export const POSITIONS_KEPT_MS = 3_600_000;
/** The flow on the queue of events that all events of an account belong to. */
export const EVENTS_FLOW = '*';
