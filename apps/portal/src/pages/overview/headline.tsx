import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Fragment } from 'react';
import { Link } from 'wouter';
import type { Standing, Standings } from '../../api/metrics-queries';
import type { WebhookWithHealth } from '../../api/webhook-queries';
import { formatClock, formatDay, isolated } from '../../language/formats';
import { nameOf } from '../deliveries/webhook-names';
import styles from './headline.module.css';

interface HeadlineProps {
  readonly standings: Standings | undefined;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  /** What is wrong beside the webhooks. */
  readonly more?: readonly Part[];
}

/** What is wrong now, each part with a link; its place is there before it is known. */
export function Headline({ standings, now, more = [] }: HeadlineProps) {
  const parts = standings ? [...more, ...partsOf(standings.webhooks, now)] : [];
  const hasNone = standings?.webhooks.length === 0;
  return (
    <p
      className={`${styles['headline']} ${parts.length > 0 ? styles['bad'] : ''}`}
      aria-busy={!standings}
      aria-live="polite"
    >
      {standings && hasNone && parts.length === 0 && t`There is no webhook yet.`}
      {standings && !hasNone && parts.length === 0 && (
        <span className={styles['good']}>
          <Trans>✓ Everything is delivered</Trans>
        </span>
      )}
      {parts.map(({ href, text }, i) => (
        <Fragment key={text}>
          {i > 0 && ' · '}
          {href.startsWith('#') ? <a href={href}>{text}</a> : <Link href={href}>{text}</Link>}
        </Fragment>
      ))}
      {standings?.isPart &&
        ` ${plural(standings.webhooks.length, {
          one: '(of the first # webhook)',
          other: '(of the first # webhooks)',
        })}`}
    </p>
  );
}

export interface Part {
  /** Of a page, or of a part of this one (`#…`). */
  readonly href: string;
  readonly text: string;
}

function partsOf(webhooks: readonly Standing[], now: number): readonly Part[] {
  const failing = webhooks.filter(({ isFailing, status }) => isFailing && status === 'enabled');
  // By the service or its receiver, and not by somebody who meant it.
  const stopped = webhooks.filter(({ isFailing, status }) => isFailing && status === 'disabled');
  const held = webhooks.reduce((sum, { health }) => sum + health.held, 0);
  const [next] = webhooks
    .flatMap((webhook) =>
      webhook.health.disables_at === null ? [] : [{ webhook, at: Date.parse(webhook.health.disables_at) }],
    )
    .toSorted((a, b) => a.at - b.at);
  return [
    ...partOf(failing, {
      one: (name) => t`${name} fails`,
      many: (count) => plural(count, { one: '# webhook fails', other: '# webhooks fail' }),
      href: '/webhooks?show=failing',
    }),
    ...partOf(stopped, {
      one: (name) => t`${name} was disabled`,
      many: (count) => plural(count, { one: '# webhook was disabled', other: '# webhooks were disabled' }),
      href: '/webhooks?show=stopped',
    }),
    ...(held > 0 ? [{ href: '/deliveries?status=held', text: heldText(held) }] : []),
    ...(next
      ? [{ href: `/webhooks/${next.webhook.id}`, text: disabledText(next.webhook, next.at, now) }]
      : []),
  ];
}

interface PartTexts {
  readonly one: (name: string) => string;
  readonly many: (count: number) => string;
  /** The list of many. */
  readonly href: string;
}

/** A single webhook is named. */
function partOf(webhooks: readonly WebhookWithHealth[], { one, many, href }: PartTexts): readonly Part[] {
  const [first, ...others] = webhooks;
  if (!first) return [];
  if (others.length === 0) return [{ href: `/webhooks/${first.id}`, text: one(shortNameOf(first)) }];
  return [{ href, text: many(webhooks.length) }];
}

const LONGEST_NAME = 40;

function shortNameOf(webhook: WebhookWithHealth): string {
  const name = nameOf(webhook);
  return isolated(name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name);
}

const heldText = (held: number) => plural(held, { one: '# delivery held', other: '# deliveries held' });

const DAY_MS = 86_400_000;

function disabledText(webhook: WebhookWithHealth, at: number, now: number): string {
  const name = shortNameOf(webhook);
  const [time, date] = [formatClock(at), formatDay(at)];
  return at - now < DAY_MS ? t`${name} will be disabled at ${time}` : t`${name} will be disabled on ${date}`;
}
