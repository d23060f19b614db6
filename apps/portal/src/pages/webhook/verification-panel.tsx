import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useVerifyWebhook, type Webhook } from '../../api/webhook-queries';
import { Badge, type Tone } from '../../components/badge';
import { Button } from '../../components/button';
import { Facts } from '../../components/facts';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { Time } from '../../components/time';
import { useCan } from '../../session/session-context';

type Verification = Webhook['verification'];

const STATES: Readonly<Record<Verification['status'], readonly [label: string, tone: Tone]>> = {
  not_required: [t`Not required`, 'neutral'],
  unverified: [t`Not verified yet`, 'warning'],
  pending: [t`Being verified`, 'busy'],
  verified: [t`Verified`, 'good'],
  failed: [t`Not verified`, 'bad'],
};

const METHODS: Readonly<Record<NonNullable<Verification['method']>, string>> = {
  challenge: t`It responds to a signed challenge`,
  cloudevents: t`It grants permission (CloudEvents)`,
};

const CHALLENGE = '{"challenge": "…"}';

/** Advice for the receiver's developer. */
const ERRORS: Readonly<Record<NonNullable<Verification['error']>, string>> = {
  challenge_mismatch: t`It responded, but not with the challenge: ${CHALLENGE} as JSON`,
  not_allowed: t`It did not allow this service to send: see WebHook-Allowed-Origin`,
  rate_too_low: t`It permits fewer requests than 60 a minute, which is too few to be kept`,
  http_error: t`It responded with an error or a redirect`,
  blocked_address: t`Its address is not allowed`,
  dns_error: t`Its host name cannot be resolved`,
  connect_refused: t`It refused the connection`,
  connect_timeout: t`The connection took too long`,
  connection_reset: t`It closed the connection`,
  tls_error: t`TLS failed: for example, its certificate is not trusted`,
  response_timeout: t`It took too long`,
  protocol_error: t`The response is not valid HTTP`,
  network_error: t`The connection failed`,
  token_error: t`The authorization server gave no access token`,
  origin_unset: t`This service is not set up to ask for permission`,
};

export interface VerificationPanelProps {
  readonly webhook: Pick<Webhook, 'id' | 'status' | 'verification'>;
}

/** The state of a webhook's verification, with a button to verify it again. */
export function VerificationPanel({ webhook: { id, status, verification } }: VerificationPanelProps) {
  const mayChange = useCan('webhooks');
  const verifying = useVerifyWebhook(id);
  const { error, method, verified_at: verifiedAt } = verification;
  const [label, tone] = STATES[verification.status];
  const mayAsk = mayChange && status === 'enabled' && verification.status !== 'verified';
  return (
    <Section
      title={t`Verification`}
      actions={
        mayAsk && (
          <Button isBusy={verifying.isPending} onClick={() => verifying.mutate()}>
            <Trans>Send again</Trans>
          </Button>
        )
      }
    >
      <Facts
        facts={{
          [t`State`]: <Badge tone={tone}>{label}</Badge>,
          [t`How`]: method && METHODS[method],
          [t`Last try`]: error && ERRORS[error],
          [t`Since`]: verifiedAt && <Time at={verifiedAt} />,
        }}
      />
      {verifying.error && <Problem error={verifying.error} />}
    </Section>
  );
}
