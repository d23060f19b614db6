import type { Webhook } from '../../api/webhook-queries';
import { Badge, type Tone } from '../../components/badge';

type Breaker = 'closed' | 'open' | 'half_open';

interface WebhookStateProps {
  readonly webhook: Pick<Webhook, 'status' | 'disabled_reason'> & {
    readonly health?: { readonly breaker: Breaker } | undefined;
  };
}

const DISABLED: Readonly<Record<NonNullable<Webhook['disabled_reason']>, string>> = {
  client: 'Disabled',
  gone: 'Disabled: responded with 410',
  receiver: 'Disabled by its receiver',
  failing: 'Disabled: failed too long',
  disconnected: 'Nobody is connected',
  operator: 'Paused by the operator',
};

const BREAKERS: Readonly<Record<Breaker, readonly [Tone, string]>> = {
  closed: ['good', 'Enabled'],
  half_open: ['busy', 'Being tried again'],
  open: ['warning', 'Paused: it fails'],
};

/** The state of a webhook, with the reason if it gets nothing. */
export function WebhookState({ webhook: { status, disabled_reason: reason, health } }: WebhookStateProps) {
  if (status === 'disabled') return <Badge tone="neutral">{DISABLED[reason ?? 'client']}</Badge>;
  const [tone, text] = BREAKERS[health?.breaker ?? 'closed'];
  return <Badge tone={tone}>{text}</Badge>;
}
