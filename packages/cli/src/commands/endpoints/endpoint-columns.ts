import { partsOf, settingsBut, valueAt } from '@hookferry/core/domain/endpoint-settings';
import { paintStatus } from '../../output/colours';
import type { Column } from '../../output/output';
import type { Webhook, WebhookWithHealth } from '../../resources';

const BASIC_COLUMNS: readonly Column<Webhook>[] = [
  ['id', ({ id }) => id],
  ['uid', ({ uid }) => uid],
  ['url', ({ url }) => url],
  ['events', ({ events }) => events],
  ['status', ({ status }) => status, paintStatus],
];

export const LIST_COLUMNS: readonly Column<Webhook & { readonly health?: Health | undefined }>[] = [
  ...BASIC_COLUMNS,
  ['last attempt', ({ health }) => health && describeLastAttempt(health), paintStatus],
];

const SETTINGS = ['description', 'ordering', ...settingsBut('uid', 'description', 'ordering')] as const;
const SETTING_COLUMNS = partsOf(SETTINGS).map(
  ({ name, path }): Column<Webhook> => [name.replaceAll('_', ' '), (webhook) => valueAt(webhook, path)],
);

export const ENDPOINT_COLUMNS: readonly Column<Webhook>[] = [
  ...BASIC_COLUMNS,
  ['filter', ({ filter }) => filter],
  [
    'verification',
    ({ verification: { status, method, error } }) =>
      [status, method && `(${method})`, error].filter((part) => part !== null).join(' '),
  ],
  ['disabled because', ({ disabled_reason }) => disabled_reason],
  ...SETTING_COLUMNS,
  ['headers', ({ headers }) => headers],
  ['auth', ({ auth }) => auth],
  ['metadata', ({ metadata }) => metadata],
  ['created', ({ created_at }) => created_at],
  ['updated', ({ updated_at }) => updated_at],
];

export const HEALTH_COLUMNS: readonly Column<WebhookWithHealth>[] = [
  ...ENDPOINT_COLUMNS,
  ['public key', ({ public_key }) => public_key],
  ['attempts in 24 h', ({ health }) => health.attempts_24h],
  ['success rate', ({ health }) => formatRate(health.success_rate)],
  ['last success', ({ health }) => health.last_success_at],
  ['last failure', ({ health }) => describeLastFailure(health)],
  ['breaker', ({ health }) => health.breaker],
  ['held', ({ health }) => health.held],
  ['at once now', ({ health }) => health.concurrency?.limit],
];

type Health = WebhookWithHealth['health'];

function formatRate(rate: number | null): string | null {
  return rate === null ? null : `${(rate * 100).toFixed(1)} %`;
}

/** Such as `failed: http_5xx 500`. */
function describeLastAttempt({
  last_success_at: success,
  last_failure_at: failure,
  last_failure: last,
}: Health) {
  if (success === null && failure === null) return 'none yet';
  if (failure === null || (success !== null && success > failure)) return 'delivered';
  return last === null ? 'failed' : `failed: ${outcomeOf(last)}`;
}

function outcomeOf({ outcome, response_status: status }: NonNullable<Health['last_failure']>): string {
  return status === null ? outcome : `${outcome} ${status}`;
}

/** Such as `2026-11-29T20:34:58.895Z, http_5xx 500, delivery evt_1.wh_1`. */
function describeLastFailure({ last_failure_at: at, last_failure: last }: Health) {
  return at === null || last === null ? at : `${at}, ${outcomeOf(last)}, delivery ${last.delivery_id}`;
}
