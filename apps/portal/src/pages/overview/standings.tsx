import { t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
import { Link } from 'wouter';
import type { Standings } from '../../api/metrics-queries';
import type { WebhookWithHealth } from '../../api/webhook-queries';
import { type Column, DataTable } from '../../components/data-table';
import { Section } from '../../components/section';
import { Time } from '../../components/time';
import { formatCount } from '../../language/formats';
import styles from './overview.module.css';

interface StandingsProps {
  readonly standings: Standings | undefined;
  readonly names: ReadonlyMap<string, string>;
}

/** Held deliveries, and webhooks that will be disabled, each with its time. */
export function StandingsSections({ standings, names }: StandingsProps) {
  const all = standings?.webhooks;
  const held = all?.filter(({ health }) => health.held > 0).toSorted((a, b) => b.health.held - a.health.held);
  const failing = all
    ?.filter(({ health }) => health.disables_at !== null)
    .toSorted((a, b) => Date.parse(a.health.disables_at ?? '') - Date.parse(b.health.disables_at ?? ''));
  const name = nameColumn(names);
  return (
    <div className={styles['lists']}>
      <Section title={t({ message: 'Held', context: 'deliveries' })}>
        {held?.length === 0 ? (
          <p className={styles['note']}>
            <Trans>Nothing is held.</Trans>
          </p>
        ) : (
          <DataTable
            label={t({ message: 'Held', context: 'deliveries' })}
            columns={[name, ...HELD]}
            rows={held}
            rowId={({ id }) => id}
          />
        )}
      </Section>
      <Section title={t`About to be disabled`}>
        {failing?.length === 0 ? (
          <p className={styles['note']}>
            <Trans>No webhook is failing.</Trans>
          </p>
        ) : (
          <DataTable
            label={t`About to be disabled`}
            columns={[name, ...FAILING]}
            rows={failing}
            rowId={({ id }) => id}
          />
        )}
        {standings?.isPart && (
          <p className={styles['note']}>
            <Plural
              value={all?.length ?? 0}
              one="Only the first webhook was looked at."
              other="Only the first # webhooks were looked at."
            />
          </p>
        )}
      </Section>
    </div>
  );
}

const nameColumn = (names: ReadonlyMap<string, string>): Column<WebhookWithHealth> => ({
  id: 'webhook',
  header: t`Webhook`,
  cell: ({ id }) => (
    <Link className={styles['name'] ?? ''} href={`/webhooks/${id}`}>
      {names.get(id) ?? id}
    </Link>
  ),
});

const HELD: readonly Column<WebhookWithHealth>[] = [
  {
    id: 'held',
    header: t({ message: 'Held', context: 'deliveries' }),
    width: '88px',
    cell: ({ id, health }) => (
      <Link href={`/deliveries?status=held&webhook=${id}`}>{formatCount(health.held)}</Link>
    ),
  },
  { id: 'until', header: t`Until`, width: '152px', cell: heldUntil },
];

function heldUntil({ status, health: { breaker, breaker_retry_at: until } }: WebhookWithHealth) {
  if (status === 'disabled') return t`it is enabled`;
  if (until !== null) return <Time at={until} form="ago" />;
  return breaker === 'half_open' ? t`it responds: it is tried` : t`its turn comes`;
}

const FAILING: readonly Column<WebhookWithHealth>[] = [
  {
    id: 'success',
    header: t`Last success`,
    width: '152px',
    from: 'medium',
    cell: ({ health: { last_success_at: at } }) => (at === null ? t`never` : <Time at={at} form="ago" />),
  },
  {
    id: 'from',
    header: t`If it still fails at`,
    width: '152px',
    cell: ({ health: { disables_at: at } }) => (at === null ? '–' : <Time at={at} form="ago" />),
  },
];
