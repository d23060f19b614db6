import type { WebhooksApiError } from '@hookferry/client';
import type { Environment } from '../cli';

const ADVICE: Readonly<Record<string, string>> = {
  unauthenticated: 'Log in with a key that is valid: hookferry login',
  insufficient_scope: 'Use a key that has this scope. What yours may do: hookferry doctor',
  operator_only: 'Use a key of the account "default" with the scope "admin".',
  not_found:
    'Check the id, and that the profile belongs to the right account. The list commands show all ids.',
  route_not_found: 'Check that the URL of the profile is that of the API: hookferry doctor',
  invalid_request: 'Correct what is named above.',
  malformed_json: 'Check that the data are JSON in UTF-8.',
  conflict: 'Change what is named above, then try again.',
  event_id_conflict: 'Give this event an id of its own: --id',
  payload_erased: 'Its payload was erased, and cannot be restored. Publish a new event.',
  last_admin_key: 'Issue another key with the scope "admin" first, or pass --last.',
  limit_reached: 'Delete what is not needed any more, or ask the operator for more.',
  quota_exceeded: 'See what is stored: hookferry usage',
  replays_running: 'Wait for a replay to end, or cancel one: hookferry replays cancel ID',
  payload_too_large: 'Send smaller events.',
  rate_limited: 'Wait a few seconds, then try again.',
  request_timeout: 'Try again.',
};

const VARIABLE_ADVICE =
  'The key is that of HOOKFERRY_API_KEY, which goes before any login: correct the variable, or unset it.';
const HISTORY_ADVICE = 'Try again later. Recent records can be read meanwhile: ask for these alone.';

/** The advice for an error of the API, as a sentence. Undefined: its detail says what to do. */
export function adviceFor(
  { code, status }: Pick<WebhooksApiError, 'code' | 'status'>,
  environment: Environment,
): string | undefined {
  if (code === 'history_unavailable') return HISTORY_ADVICE;
  if (code === 'unauthenticated' && environment['HOOKFERRY_API_KEY']) return VARIABLE_ADVICE;
  if (status >= 500) return 'Try again later. If it fails again, give the request id to the operator.';
  return ADVICE[code];
}
