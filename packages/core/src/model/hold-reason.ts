/** Why a delivery is held. */
export const holdReasons = ['disabled', 'breaker_open', 'busy', 'rate_limited', 'out_of_turn'] as const;
export type HoldReason = (typeof holdReasons)[number];

/** Why an attempt counts among the slow ones: it takes long, or there are too many strangers. */
export const slowReasons = ['slow', 'stranger'] as const;
export type SlowReason = (typeof slowReasons)[number];
