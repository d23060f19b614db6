import type { AttemptOutcome } from '@hookferry/core/domain/attempt';
import type { CertificateAuthority } from '@hookferry/core/testing/certificate-authority';

/** A receiver at work. */
export interface StartedReceiver {
  readonly url: string;
  /** How many connections were opened to it so far. */
  connectionCount(): number;
  /** Ends all its connections too. */
  close(): Promise<void>;
}

export interface Authorities {
  /** The sender trusts this one, */
  readonly trusted: CertificateAuthority;
  /** and has never heard of that one. */
  readonly unknown: CertificateAuthority;
}

/** A way to misbehave, or to be merely odd, and what an attempt there must come to. */
export interface ReceiverKind {
  readonly name: string;
  /** `authorities` are there where `needsTls` is true. */
  readonly start: (authorities: Authorities | undefined) => Promise<StartedReceiver>;
  readonly outcome: AttemptOutcome;
  /** The status that is passed on, if one is. */
  readonly status?: number;
  /** The `Retry-After` that is passed on, if one is. */
  readonly retryAfter?: string;
  /** What an error's text says, where the outcome alone is the same as for another fault. */
  readonly error?: RegExp;
  /** Whether the attempt ends by what the receiver does, or goes on until the deadline. */
  readonly endedBy: 'receiver' | 'deadline';
  /** Whether the connection serves the next request; `stale` if it is kept and found dead by that one. */
  readonly connection: 'kept' | 'closed' | 'stale';
  readonly needsTls?: true;
  /** How large a request shows it. Default: some 100 bytes. */
  readonly requestBytes?: number;
}
