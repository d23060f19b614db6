import { t } from '@lingui/core/macro';
import type { Webhook } from '../../api/webhook-queries';
import { Badge, type Tone } from '../../components/badge';

type Breaker = 'closed' | 'open' | 'half_open';

interface WebhookStateProps {
  readonly webhook: Pick<Webhook, 'status' | 'disabled_reason'> & {
    readonly health?: { readonly breaker: Breaker } | undefined;
  };
}

const DISABLED: Readonly<Record<NonNullable<Webhook['disabled_reason']>, string>> = {
  client: t`Disabled`,
  gone: t`Disabled: responded with 410`,
  receiver: t`Disabled by its receiver`,
  failing: t`Disabled: failed too long`,
  disconnected: t`Nobody is connected`,
  operator: t`Paused by the operator`,
};

const BREAKERS: Readonly<Record<Breaker, readonly [Tone, string]>> = {
  closed: ['good', t`Enabled`],
  half_open: ['busy', t`Being tried again`],
  open: ['warning', t`Paused: it fails`],
};

/** The state of a webhook, with the reason if it gets nothing. */
export function WebhookState({ webhook: { status, disabled_reason: reason, health } }: WebhookStateProps) {
  if (status === 'disabled') return <Badge tone="neutral">{DISABLED[reason ?? 'client']}</Badge>;
  const [tone, text] = BREAKERS[health?.breaker ?? 'closed'];
  return <Badge tone={tone}>{text}</Badge>;
}
