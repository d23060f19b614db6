import { type FormEvent, useState } from 'react';
import type { DeliveryWithAttempts } from '../../api/delivery-queries';
import { Badge, type Tone } from '../../components/badge';
import { Button } from '../../components/button';
import { SelectField, TextField } from '../../components/field';
import { Section } from '../../components/section';
import { canSign, checkSignature, type Verdict } from './signatures';
import styles from './story.module.css';

const VERDICTS: Readonly<Record<Verdict, readonly [Tone, string]>> = {
  good: ['good', 'Good: it was made by this secret, of this event, body and time.'],
  good_for_the_body: ['good', 'Good: it was made by this secret, of this body.'],
  bad: [
    'bad',
    'Not good: by this secret, the attempt that was chosen would have another one. Is it the attempt, and the secret of that time?',
  ],
  by_key: ['neutral', 'This one was made by a key pair: the public key checks it, no secret does.'],
  no_secret: ['bad', 'This is no secret: it begins with whsec_, and base64 follows.'],
};

interface VerifySignatureProps {
  readonly delivery: DeliveryWithAttempts;
  readonly body: string;
}

/** Checks what a receiver got by a secret that stays in the page: no request is made, nothing is kept. */
export function VerifySignature({ delivery: { event_id: id, attempts }, body }: VerifySignatureProps) {
  const [number, setNumber] = useState(attempts.at(-1)?.number ?? 1);
  const [received, setReceived] = useState('');
  const [secret, setSecret] = useState('');
  const [verdict, setVerdict] = useState<Verdict>();
  const timestamp = attempts.find((one) => one.number === number)?.request_headers['webhook-timestamp'] ?? '';
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
    void checkSignature(secret.trim(), received, { id, timestamp, body }).then(setVerdict);
  };
  if (attempts.length === 0) return null;
  return (
    <Section title="Verify a signature">
      {canSign() ? (
        <form className={styles['verify']} onSubmit={check}>
          <SelectField
            label="Attempt"
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
            label="Signature, as it was received"
            placeholder="v1,… or sha256=…"
            required
            value={received}
            {...bind(setReceived)}
          />
          <TextField
            label="Secret"
            type="password"
            hint="It stays in this page."
            placeholder="whsec_…"
            required
            value={secret}
            {...bind(setSecret)}
          />
          <Button type="submit">Verify</Button>
        </form>
      ) : (
        <p className={styles['soft']}>Browsers compute signatures on pages of https only.</p>
      )}
      <p aria-live="polite" className={styles['verdict']}>
        {verdict && <Badge tone={VERDICTS[verdict][0]}>{VERDICTS[verdict][1]}</Badge>}
      </p>
    </Section>
  );
}
