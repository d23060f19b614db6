import type { ReceivedRequest } from './ledger';

/** What the harness tells the process with the receivers. */
export type ToReceivers =
  | {
      readonly kind: 'register';
      readonly endpoint: string;
      readonly secret: string;
      readonly respondsAfterMs: number;
      readonly isFlaky: boolean;
    }
  | { readonly kind: 'unavailable'; readonly endpoint: string; readonly isOn: boolean }
  /** Breaks every connection, and each further one at its first request. */
  | { readonly kind: 'reset'; readonly isOn: boolean }
  /** Takes requests, and keeps their responses back until it is off. */
  | { readonly kind: 'stall'; readonly isOn: boolean }
  /** Takes requests with this event, says so, and never responds to them; without a marker, none. */
  | { readonly kind: 'trap'; readonly marker?: string | undefined };

/** What that process tells the harness. */
export type FromReceivers =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'requests'; readonly requests: readonly ReceivedRequest[] }
  | { readonly kind: 'trapped' };
