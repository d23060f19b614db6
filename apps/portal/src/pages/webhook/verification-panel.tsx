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
  not_required: ['Not required', 'neutral'],
  unverified: ['Not verified yet', 'warning'],
  pending: ['Being verified', 'busy'],
  verified: ['Verified', 'good'],
  failed: ['Not verified', 'bad'],
};

const METHODS: Readonly<Record<NonNullable<Verification['method']>, string>> = {
  challenge: 'It responds to a signed challenge',
  cloudevents: 'It grants permission (CloudEvents)',
};

/** Advice for the receiver's developer. */
const ERRORS: Readonly<Record<NonNullable<Verification['error']>, string>> = {
  challenge_mismatch: 'It responded, but not with the challenge: {"challenge": "…"} as JSON',
  not_allowed: 'It did not allow this service to send: see WebHook-Allowed-Origin',
  rate_too_low: 'It permits fewer requests than 60 a minute, which is too few to be kept',
  http_error: 'It responded with an error or a redirect',
  blocked_address: 'Its address is not allowed',
  dns_error: 'Its host name cannot be resolved',
  connect_refused: 'It refused the connection',
  connect_timeout: 'The connection took too long',
  connection_reset: 'It closed the connection',
  tls_error: 'TLS failed: for example, its certificate is not trusted',
  response_timeout: 'It took too long',
  protocol_error: 'The response is not valid HTTP',
  network_error: 'The connection failed',
  token_error: 'The authorization server gave no access token',
  origin_unset: 'This service is not set up to ask for permission',
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
      title="Verification"
      actions={
        mayAsk && (
          <Button isBusy={verifying.isPending} onClick={() => verifying.mutate()}>
            Send again
          </Button>
        )
      }
    >
      <Facts
        facts={{
          State: <Badge tone={tone}>{label}</Badge>,
          How: method && METHODS[method],
          'Last try': error && ERRORS[error],
          Since: verifiedAt && <Time at={verifiedAt} />,
        }}
      />
      {verifying.error && <Problem error={verifying.error} />}
    </Section>
  );
}
