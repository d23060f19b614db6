import { Fragment } from 'react';
import { Link } from 'wouter';
import type { Standings } from '../../api/metrics-queries';
import type { WebhookWithHealth } from '../../api/webhook-queries';
import { nameOf } from '../deliveries/webhook-names';
import { formatCount } from '../webhooks/health-figures';
import styles from './headline.module.css';

const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const hour = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' });

interface HeadlineProps {
  readonly standings: Standings | undefined;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
}

/** What is wrong now, each part with a link; its place is there before it is known. */
export function Headline({ standings, now }: HeadlineProps) {
  const parts = standings ? partsOf(standings.webhooks, now) : [];
  const hasNone = standings?.webhooks.length === 0;
  return (
    <p
      className={`${styles['headline']} ${parts.length > 0 ? styles['bad'] : ''}`}
      aria-busy={!standings}
      aria-live="polite"
    >
      {standings && hasNone && 'There is no webhook yet.'}
      {standings && !hasNone && parts.length === 0 && (
        <span className={styles['good']}>✓ Everything is delivered</span>
      )}
      {parts.map(({ href, text }, i) => (
        <Fragment key={text}>
          {i > 0 && ' · '}
          <Link href={href}>{text}</Link>
        </Fragment>
      ))}
      {standings?.isPart && ` (of the first ${formatCount(standings.webhooks.length)} webhooks)`}
    </p>
  );
}

/** Whether its last attempt has failed, or it is not tried for now because its attempts fail. */
function isFailing({ status, health }: WebhookWithHealth): boolean {
  const { breaker, last_failure_at: failure, last_success_at: success } = health;
  if (status === 'disabled') return false;
  return breaker !== 'closed' || (failure !== null && (success === null || success < failure));
}

interface Part {
  readonly href: string;
  readonly text: string;
}

function partsOf(webhooks: readonly WebhookWithHealth[], now: number): readonly Part[] {
  const failing = webhooks.filter(isFailing);
  const stopped = webhooks.filter(({ disabled_reason: reason }) => reason !== null && STOPPED.has(reason));
  const held = webhooks.reduce((sum, { health }) => sum + health.held, 0);
  const [next] = webhooks
    .flatMap((webhook) =>
      webhook.health.disables_at === null ? [] : [{ webhook, at: Date.parse(webhook.health.disables_at) }],
    )
    .toSorted((a, b) => a.at - b.at);
  return [
    ...partOf(failing, 'fails', 'fail'),
    ...partOf(stopped, 'was disabled', 'were disabled'),
    ...(held > 0 ? [{ href: '/deliveries?status=held', text: heldText(held) }] : []),
    ...(next
      ? [
          {
            href: `/webhooks/${next.webhook.id}`,
            text: `${shortNameOf(next.webhook)} ${whenText(next.at, now)}`,
          },
        ]
      : []),
  ];
}

/** A single webhook is named. */
function partOf(webhooks: readonly WebhookWithHealth[], verb: string, plural: string): readonly Part[] {
  const [first, ...others] = webhooks;
  if (!first) return [];
  if (others.length === 0) return [{ href: `/webhooks/${first.id}`, text: `${shortNameOf(first)} ${verb}` }];
  return [{ href: '/webhooks', text: `${formatCount(webhooks.length)} webhooks ${plural}` }];
}

const LONGEST_NAME = 40;

function shortNameOf(webhook: WebhookWithHealth): string {
  const name = nameOf(webhook);
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;
}

const heldText = (held: number) => (held === 1 ? '1 delivery held' : `${formatCount(held)} deliveries held`);

// By the service or its receiver, and not by somebody who meant it.
const STOPPED: ReadonlySet<string> = new Set(['gone', 'receiver', 'failing']);

const DAY_MS = 86_400_000;

function whenText(at: number, now: number): string {
  return `is disabled ${at - now < DAY_MS ? `at ${hour.format(at)}` : `on ${day.format(at)}`}`;
}
