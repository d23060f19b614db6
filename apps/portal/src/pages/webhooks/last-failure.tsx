import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Link } from 'wouter';
import type { Health } from '../../api/webhook-queries';
import { Time } from '../../components/time';
import { responseOf } from '../deliveries/response-of';

interface LastFailureProps {
  readonly health: Pick<Health, 'last_failure' | 'last_failure_at'>;
  readonly form?: 'long' | 'ago';
}

/** When a webhook failed last, and how, with a link to that attempt. */
export function LastFailure({ health, form = 'long' }: LastFailureProps) {
  const { last_failure: failure, last_failure_at: at } = health;
  if (at === null) return t`never`;
  if (failure === null) return <Time at={at} form={form} />;
  const { outcome, response_status: status } = failure;
  const link = (
    <Link href={`/deliveries/${encodeURIComponent(failure.delivery_id)}`}>
      <bdi>{responseOf({ last_outcome: outcome, last_response_status: status })}</bdi>
    </Link>
  );
  return (
    <Trans>
      {link}, <Time at={at} form={form} />
    </Trans>
  );
}
