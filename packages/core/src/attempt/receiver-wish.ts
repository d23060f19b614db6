import type { SentResult } from './transport';

/** What a receiver wishes, beside what the status says. */
export interface ReceiverWish {
  /** Not to be sent this delivery again. */
  readonly aborts: boolean;
  /** Not to be sent anything any more: by 410, or by asking for it. */
  readonly disabledBy: 'gone' | 'receiver' | undefined;
}

const NOTHING: ReceiverWish = { aborts: false, disabledBy: undefined };
const GONE = 410;

/**
 * Reads a response's `webhook-delivery`: a list of words, of which `abort` and `disable` mean something. What was
 * accepted can't be aborted.
 */
export function readReceiverWish(result: SentResult, wasAccepted: boolean): ReceiverWish {
  if (result.kind !== 'answered') return NOTHING;
  const { status, wish } = result;
  if (wish === undefined) return status === GONE ? { aborts: false, disabledBy: 'gone' } : NOTHING;
  const words = wish.split(',').map((word) => word.trim().toLowerCase());
  return {
    aborts: !wasAccepted && words.includes('abort'),
    disabledBy: words.includes('disable') ? 'receiver' : status === GONE ? 'gone' : undefined,
  };
}
