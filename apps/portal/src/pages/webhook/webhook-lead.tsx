import { t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Health, Webhook, WebhookWithHealth } from '../../api/webhook-queries';
import type { Tone } from '../../components/badge';
import { Sparkline } from '../../components/sparkline';
import { Time } from '../../components/time';
import lead from '../delivery/story.module.css';
import { formatRate, isLow, rateOf } from '../webhooks/health-figures';
import { LastFailure } from '../webhooks/last-failure';
import styles from './webhook-page.module.css';

interface Standing {
  readonly tone: Tone;
  readonly now: ReactNode;
  readonly next?: ReactNode;
}

/** How a webhook does: what is so now, what comes next, what waits for it, and how many attempts it accepts. */
export function WebhookLead({ webhook }: { readonly webhook: WebhookWithHealth }) {
  const { id, health } = webhook;
  const { tone, now, next } = standingOf(webhook);
  return (
    <div className={`${lead['lead']} ${lead[tone]}`}>
      <p>{now}</p>
      {next && <p>{next}</p>}
      {health.held > 0 && (
        <p>
          <Link href={`/deliveries?status=held&webhook=${id}`}>
            <Plural value={health.held} one="# delivery is held." other="# deliveries are held." />
          </Link>
        </p>
      )}
      <Success health={health} />
    </div>
  );
}

function Success({
  health: { attempts_24h: attempts, success_rate: rate, hours },
}: {
  readonly health: Health;
}) {
  if (attempts === 0)
    return (
      <p className={styles['figure']}>
        <Trans>There was no attempt in the last 24 hours.</Trans>
      </p>
    );
  const share = formatRate(rate);
  return (
    <p className={styles['figure']}>
      <Plural
        value={attempts}
        one={`${share} of # attempt in the last 24 hours was accepted.`}
        other={`${share} of # attempts in the last 24 hours were accepted.`}
      />
      <Sparkline
        values={hours.map(rateOf)}
        most={1}
        tone={isLow(rate) ? 'bad' : 'good'}
        label={t`Success by the hour`}
        scale={[formatRate(1), formatRate(0)]}
      />
    </p>
  );
}

function standingOf({ status, disabled_reason: reason, ...webhook }: WebhookWithHealth): Standing {
  const { health, verification, while_disabled: whileDisabled } = webhook;
  if (status === 'disabled') return disabledStanding(reason ?? 'client', whileDisabled, health);
  if (verification.status !== 'verified' && verification.status !== 'not_required') {
    return {
      tone: 'warning',
      now: <Trans>It gets nothing yet: its receiver has not proved that it wants the requests.</Trans>,
      next: <Trans>Deliveries are held until it is verified.</Trans>,
    };
  }
  if (health.breaker !== 'closed' || isFailing(health)) return failingStanding(health);
  const { last_success_at: successAt, last_failure_at: failureAt } = health;
  if (successAt === null) return { tone: 'neutral', now: <Trans>Nothing was sent to it yet.</Trans> };
  return {
    tone: 'good',
    now: (
      <Trans>
        It accepts its deliveries, the last one <Time at={successAt} form="ago" />.
      </Trans>
    ),
    next: failureAt !== null && (
      <Trans>
        Its last failure: <LastFailure health={health} form="ago" />.
      </Trans>
    ),
  };
}

type DisabledReason = NonNullable<Webhook['disabled_reason']>;

function disabledStanding(
  reason: DisabledReason,
  whileDisabled: Webhook['while_disabled'],
  health: Health,
): Standing {
  if (reason === 'operator') {
    return {
      tone: 'warning',
      now: <Trans>The operator of the service has paused this account.</Trans>,
      next: <Trans>Deliveries are held until the operator resumes it.</Trans>,
    };
  }
  if (reason === 'disconnected') {
    return {
      tone: 'warning',
      now: <Trans>Nobody is connected to receive its deliveries.</Trans>,
      next: <Trans>They are sent when its listener connects again.</Trans>,
    };
  }
  const next =
    whileDisabled === 'discard' ? (
      <Trans>Deliveries that become due are discarded until somebody enables it.</Trans>
    ) : (
      <Trans>Deliveries are held until somebody enables it.</Trans>
    );
  return { tone: reason === 'client' ? 'neutral' : 'bad', now: whyDisabled(reason, health), next };
}

function whyDisabled(
  reason: Exclude<DisabledReason, 'operator' | 'disconnected'>,
  health: Health,
): ReactNode {
  switch (reason) {
    case 'client':
      return <Trans>Somebody has disabled it.</Trans>;
    case 'gone':
      return <Trans>It was disabled: its receiver responded with 410, which means that it is gone.</Trans>;
    case 'receiver':
      return <Trans>It was disabled: its receiver asked for that.</Trans>;
    case 'failing':
      return (
        <Trans>
          It was disabled: every attempt failed for too long. The last one:{' '}
          <LastFailure health={health} form="ago" />.
        </Trans>
      );
  }
}

function isFailing({ last_failure_at: failure, last_success_at: success }: Health): boolean {
  return failure !== null && (success === null || success < failure);
}

function failingStanding(health: Health): Standing {
  return {
    tone: health.breaker === 'half_open' ? 'busy' : 'bad',
    now: (
      <Trans>
        Its last attempt failed: <LastFailure health={health} form="ago" />.
      </Trans>
    ),
    next: (
      <>
        {trialText(health)} <DisabledFrom at={health.disables_at} />
      </>
    ),
  };
}

function trialText({ breaker, breaker_retry_at: retryAt }: Health): ReactNode {
  if (breaker === 'closed') return <Trans>What failed is sent again by its retry schedule.</Trans>;
  if (breaker === 'half_open' || retryAt === null)
    return <Trans>One delivery is sent now as a trial: if it is accepted, all others follow.</Trans>;
  return (
    <Trans>
      Too many attempts in a row have failed, so deliveries are held. The next trial:{' '}
      <Time at={retryAt} form="ago" />.
    </Trans>
  );
}

function DisabledFrom({ at }: { readonly at: string | null }) {
  if (at === null) return null;
  return (
    <Trans>
      If it still fails on <Time at={at} form="short" />, it is disabled.
    </Trans>
  );
}
