/** Why a webhook was refused. The first five are mistakes at the receiver, whatever is sent. */
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

/** A webhook that could not be verified. Its message says what to do and holds no secret. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
  /** Stable: this is what to branch on. */
  readonly code: VerificationErrorCode;
  /** Whether the mistake is at the receiver, so that no request can be right: answer 500 and not 401. */
  readonly isConfigurationError: boolean;
  /** Of `missing_header`: the header's name. */
  readonly header?: string;
  /** Of `timestamp_skew`: the request's time less this clock's, in seconds. Below zero it is too old. */
  readonly skewSeconds?: number;

  constructor(code: VerificationErrorCode, message: string, { header, skewSeconds }: VerificationFacts = {}) {
    super(message);
    this.code = code;
    this.isConfigurationError = CONFIGURATION_CODES.includes(code);
    if (header !== undefined) this.header = header;
    if (skewSeconds !== undefined) this.skewSeconds = skewSeconds;
  }
}
