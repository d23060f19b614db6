/** The rate limit of an endpoint counts attempts in this time. */
export const RATE_WINDOW_MS = 1_000;

/** How long the notes on an endpoint's limits are kept: one without attempts leaves no keys. */
export const LIMITS_KEPT_MS = 3_600_000;

/** Longer than any event is kept, so that lanes that are not removed expire. */
export const ORDER_KEPT_MS = 400 * 86_400_000;
