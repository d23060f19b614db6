import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { type FormEvent, useState } from 'react';
import type { Attempt, DeliveryWithAttempts } from '../../api/delivery-queries';
import { Badge, type Tone } from '../../components/badge';
import { Button } from '../../components/button';
import { SelectField, TextField } from '../../components/field';
import { Section } from '../../components/section';
import { canSign, checkSignature, type Verdict } from './signatures';
import styles from './story.module.css';

const VERDICTS: Readonly<Record<Verdict | 'no_body', readonly [Tone, string]>> = {
  good: ['good', t`Valid: it was made with this secret for this event, body and time.`],
  good_for_the_body: ['good', t`Valid: it was made with this secret for this body.`],
  bad: [
    'bad',
    t`Not valid: with this secret, the chosen attempt has another signature. Check the attempt, and whether the secret was in use then.`,
  ],
  by_key: [
    'neutral',
    t`This signature was made with a key pair: check it with the public key, not with a secret.`,
  ],
  good_by_key: [
    'good',
    t`Valid: it was made with the key pair of this public key for this event, body and time.`,
  ],
  not_by_key: ['neutral', t`None of these was made with a key pair (v1a): check them with the secret.`],
  no_key: ['bad', t`This is not a public key: it must be whpk_ and the base64 of 32 bytes.`],
  no_ed25519: ['neutral', t`This browser cannot check Ed25519 signatures: use a newer one.`],
  no_body: ['neutral', t`The body of this attempt is not kept: choose the last attempt.`],
  no_secret: ['bad', t`This is not a secret: it must be whsec_ and base64.`],
};

interface VerifySignatureProps {
  readonly delivery: DeliveryWithAttempts;
  /** Of the last attempt. */
  readonly body: string;
}

/** Checks what a receiver got by a secret, or a public key, that stays in the page: no request is made, nothing is kept. */
export function VerifySignature({ delivery: { event_id: id, attempts }, body }: VerifySignatureProps) {
  const [number, setNumber] = useState(attempts.at(-1)?.number ?? 1);
  const [received, setReceived] = useState('');
  const [secret, setSecret] = useState('');
  const [verdict, setVerdict] = useState<keyof typeof VERDICTS>();
  const attempt = attempts.find((one) => one.number === number);
  const bind = (set: (text: string) => void) => ({
    autoComplete: 'off',
    spellCheck: false,
    onChange: ({ target }: { readonly target: { readonly value: string } }) => {
      set(target.value);
      setVerdict(undefined);
    },
  });
  const check = (event: FormEvent) => {
    event.preventDefault();
    const sent = attempt && bodyOf(attempt, attempts.at(-1), body);
    if (sent === undefined) return setVerdict('no_body');
    const { 'webhook-id': sentId = id, 'webhook-timestamp': timestamp = '' } = attempt?.request_headers ?? {};
    const request = { id: sentId, timestamp, body: sent };
    return void checkSignature(secret.trim(), received, request).then(setVerdict);
  };
  if (attempts.length === 0) return null;
  return (
    <Section title={t`Verify a signature`} id="verify-signature">
      {canSign() ? (
        <form className={styles['verify']} onSubmit={check}>
          <SelectField
            label={t`Attempt`}
            value={number}
            onChange={({ target }) => {
              setNumber(Number(target.value));
              setVerdict(undefined);
            }}
          >
            {attempts.map((one) => (
              <option key={one.number}>{one.number}</option>
            ))}
          </SelectField>
          <TextField
            label={t`Signature, as it was received`}
            placeholder={t`v1,…, v1a,… or sha256=…`}
            required
            value={received}
            {...bind(setReceived)}
          />
          <TextField
            label={t`Secret or public key`}
            type="password"
            hint={t`It stays in this page.`}
            placeholder={t`whsec_… or whpk_…`}
            required
            value={secret}
            {...bind(setSecret)}
          />
          <Button type="submit">
            <Trans>Verify</Trans>
          </Button>
        </form>
      ) : (
        <p className={styles['soft']}>
          <Trans>Browsers compute signatures only on https pages.</Trans>
        </p>
      )}
      <p aria-live="polite" className={styles['verdict']}>
        {verdict && <Badge tone={VERDICTS[verdict][0]}>{VERDICTS[verdict][1]}</Badge>}
      </p>
    </Section>
  );
}

/** Code may have made another body for each; without code they are all the same. */
function bodyOf(attempt: Attempt, last: Attempt | undefined, bodyOfLast: string): string | undefined {
  if (attempt.number === last?.number) return bodyOfLast;
  return attempt.request_body ?? (last?.request_body === null ? bodyOfLast : undefined);
}
