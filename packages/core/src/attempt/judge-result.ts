import type { AttemptOutcome } from '../model/attempt';
import type { SentResult } from './transport';

/**
 * What an attempt's result means. Delivered is 200 to 299 and nothing else: a redirect is not followed, an
 * informational answer is not an acceptance.
 */
export function judgeResult(result: SentResult): AttemptOutcome {
  if (result.kind === 'failed') return result.reason;
  const { status } = result;
  if (status >= 200 && status <= 299) return 'delivered';
  if (status >= 100 && status <= 199) return 'http_1xx';
  if (status >= 300 && status <= 399) return 'http_3xx';
  if (status >= 400 && status <= 499) return 'http_4xx';
  if (status >= 500 && status <= 599) return 'http_5xx';
  return 'protocol_error';
}
