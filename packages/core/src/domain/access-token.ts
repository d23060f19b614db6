/** The id of one token of an endpoint. It reveals nothing about the token. */
export type TokenVersion = string;

/** What an endpoint with OAuth2 gets from its token URL. */
export interface AccessToken {
  readonly version: TokenVersion;
  readonly token: string;
  /** The time from which a process fetches the next one. Milliseconds since the Unix epoch. */
  readonly refreshAt: number;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
}

/**
 * No attempt takes a token that ends within this, so that it is valid when the receiver looks at it: as long as a connection
 * may take (`DELIVERY_CONNECT_TIMEOUT`, 5 s by default), and the same again for the way there and for clocks that differ.
 */
export const END_MARGIN_MS = 10_000;

/** The least time between two fetches of a token that the receiver refuses. The first fetch does not count. */
export const REFETCH_MS = 60_000;
/** After a failure, and twice as long after each further one in a row. */
export const FIRST_PAUSE_MS = 1_000;
export const MAX_PAUSE_MS = 60_000;
