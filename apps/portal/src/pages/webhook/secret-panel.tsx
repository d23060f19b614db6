import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { Button } from '../../components/button';
import { CopyButton } from '../../components/copy-button';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { Time } from '../../components/time';
import { formatCountdown, useCountdown } from '../../components/use-countdown';
import { RotateDialog } from './rotate-dialog';
import styles from './webhook-page.module.css';

type RotatedSecret = components['schemas']['RotatedSecret'];

interface SecretPanelProps {
  readonly webhookId: string;
}

/** The secret that signs, for sessions that may see it: asked for when somebody wants to see it, and kept nowhere. */
export function SecretPanel({ webhookId }: SecretPanelProps) {
  const api = useApi();
  const [isRotating, setIsRotating] = useState(false);
  const [rotated, setRotated] = useState<RotatedSecret>();
  const params = { path: { id: webhookId } };
  const reading = useMutation({ mutationFn: () => ask(api.GET('/v1/webhooks/{id}/secret', { params })) });
  const secret = rotated?.secret ?? reading.data?.secret ?? undefined;
  const take = (fresh: RotatedSecret) => {
    setRotated(fresh);
    setIsRotating(false);
    reading.reset();
  };

  return (
    <Section
      title={t`Signing secret`}
      actions={
        <Button onClick={() => setIsRotating(true)}>
          <Trans>Rotate…</Trans>
        </Button>
      }
    >
      <p className={styles['secret']}>
        <code>{secret ?? 'whsec_••••••••••••••••'}</code>
        <Revealing
          secret={secret}
          isBusy={reading.isPending}
          onReveal={() => reading.mutate()}
          onHide={() => {
            setRotated(undefined);
            reading.reset();
          }}
        />
      </p>
      {reading.error && <Problem error={reading.error} />}
      {rotated && <Overlap until={rotated.previous_secret_expires_at} />}
      <RotateDialog
        webhookId={webhookId}
        isOpen={isRotating}
        onRotated={take}
        onClose={() => setIsRotating(false)}
      />
    </Section>
  );
}

interface RevealingProps {
  readonly secret: string | undefined;
  readonly isBusy: boolean;
  readonly onReveal: () => void;
  readonly onHide: () => void;
}

function Revealing({ secret, isBusy, onReveal, onHide }: RevealingProps) {
  if (secret === undefined) {
    return (
      <Button size="small" isBusy={isBusy} onClick={onReveal}>
        <Trans>Reveal</Trans>
      </Button>
    );
  }
  return (
    <>
      <CopyButton text={secret} label={t`Copy the secret`}>
        {t`Copy`}
      </CopyButton>
      <Button size="small" onClick={onHide}>
        <Trans>Hide</Trans>
      </Button>
    </>
  );
}

function Overlap({ until }: { readonly until: string }) {
  const left = useCountdown(until);
  if (left === 0)
    return (
      <p>
        <Trans>The former secret is no longer valid.</Trans>
      </p>
    );
  return (
    <p>
      <Trans>
        The former secret also signs for another <span role="timer">{formatCountdown(left)}</span>, until{' '}
        <Time at={until} />.
      </Trans>
    </p>
  );
}
