/** Why a webhook was refused. The first five are errors of the receiver's configuration. */
export type VerificationErrorCode =
  | 'missing_secret'
  | 'not_a_secret'
  | 'not_a_key'
  | 'keys_unavailable'
  | 'body_already_parsed'
  | 'missing_header'
  | 'timestamp_skew'
  | 'no_match'
  | 'invalid_payload';

const CONFIGURATION_CODES: readonly VerificationErrorCode[] = [
  'missing_secret',
  'not_a_secret',
  'not_a_key',
  'keys_unavailable',
  'body_already_parsed',
];

export interface VerificationFacts {
  readonly header?: string;
  readonly skewSeconds?: number;
}

/** A webhook could not be verified. The message says what to do. It has no secret. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
  /** Decide by this code: it does not change. */
  readonly code: VerificationErrorCode;
  /** Whether the receiver's configuration is wrong, so that no request can be verified: respond with 500, not 401. */
  readonly isConfigurationError: boolean;
  /** With `missing_header`: the header's name. */
  readonly header?: string;
  /** With `timestamp_skew`: the request's time minus this clock's, in seconds. Negative: the request is too old. */
  readonly skewSeconds?: number;

  constructor(code: VerificationErrorCode, message: string, { header, skewSeconds }: VerificationFacts = {}) {
    super(message);
    this.code = code;
    this.isConfigurationError = CONFIGURATION_CODES.includes(code);
    if (header !== undefined) this.header = header;
    if (skewSeconds !== undefined) this.skewSeconds = skewSeconds;
  }
}
