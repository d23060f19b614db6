import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useMemo } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import type { Delivery } from '../../api/delivery-queries';
import {
  hasEnded,
  type Replay,
  type ReplayResult,
  type ReplayWithResults,
  useCancelReplay,
  useReplayDeliveries,
  useReplayResults,
} from '../../api/replay-queries';
import { useWebhook } from '../../api/webhook-queries';
import { Button } from '../../components/button';
import { Empty } from '../../components/empty';
import { Facts } from '../../components/facts';
import { SelectField } from '../../components/field';
import { PagedTable } from '../../components/paged-table';
import { Problem } from '../../components/problem';
import { Progress } from '../../components/progress';
import { Section } from '../../components/section';
import { WholeId } from '../../components/short-id';
import { Skeleton } from '../../components/skeleton';
import { Time } from '../../components/time';
import { formatCount } from '../../language/formats';
import { useCan } from '../../session/session-context';
import { ChangesIfAny } from '../audit-log/changes-section';
import { deliveryColumns } from '../deliveries/delivery-columns';
import { nameOf } from '../deliveries/webhook-names';
import lead from '../delivery/story.module.css';
import { PageHeader } from '../page-header';
import styles from './replay.module.css';
import { ReplayStatus } from './replay-status';
import { progressText, ReplayResults, toneOf } from './replay-texts';

interface ReplayPageProps {
  readonly params: Readonly<Record<string, string>>;
}

/** How far a replay is, how its deliveries went, and which they are. */
export function ReplayPage({ params: { id = '' } }: ReplayPageProps) {
  const { data: replay, error, refetch } = useReplayResults(id);
  return (
    <>
      {replay ? <Head replay={replay} /> : <PageHeader title={t`Replay`} parent={WEBHOOKS} />}
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!replay && !error && <Skeleton lines={6} />}
      {replay && <HowFar replay={replay} />}
      {replay && !replay.dry_run && <ReplayDeliveries replay={replay} />}
      <ChangesIfAny target={id} />
    </>
  );
}

const WEBHOOKS = { href: '/webhooks', label: t`Webhooks` };

function Head({ replay }: { readonly replay: Replay }) {
  const { data: webhook } = useWebhook(replay.webhook_id);
  const parent = { href: `/webhooks/${replay.webhook_id}`, label: webhook ? nameOf(webhook) : t`Webhook` };
  return (
    <PageHeader title={t`Replay`} parent={parent} state={<ReplayStatus replay={replay} />}>
      {!hasEnded(replay) && <Cancel id={replay.id} />}
    </PageHeader>
  );
}

function Cancel({ id }: { readonly id: string }) {
  const mayReplay = useCan('redeliver');
  const cancel = useCancelReplay(id);
  if (!mayReplay) return null;
  return (
    <Button kind="danger" isBusy={cancel.isPending} onClick={() => cancel.mutate()}>
      <Trans>Cancel</Trans>
    </Button>
  );
}

function HowFar({ replay }: { readonly replay: ReplayWithResults }) {
  const { id, status, mode, since, until, rate, found, enqueued, erased, ended_at: finishedAt } = replay;
  const done = replay.dry_run ? found : enqueued;
  const [perSecond, left] = [formatCount(rate), formatCount(erased)];
  return (
    <>
      <output className={`${lead['lead']} ${lead[toneOf(replay)]}`}>
        {replay.results && replay.results.counted > 0 && (
          <p>
            <ReplayResults replay={replay} results={replay.results} />
          </p>
        )}
        <p>{progressText(replay)}</p>
        {replay.error && <p>{replay.error}</p>}
      </output>
      <div className={styles['form']}>
        <Progress
          label={t`Events put onto the queue`}
          done={done}
          of={status === 'counting' ? undefined : found}
        />
        <Facts
          facts={{
            [t`Id`]: <WholeId id={id} />,
            [t`Range`]: (
              <>
                <Time at={since} /> – <Time at={until} />
              </>
            ),
            [t`Events`]: MODES[mode],
            [t`Rate`]: t`${perSecond} per second`,
            [t`Left out`]: erased > 0 ? t`${left}, whose payload was erased` : undefined,
            [t`Ended`]: finishedAt ? <Time at={finishedAt} /> : undefined,
          }}
        />
      </div>
    </>
  );
}

const MODES: Readonly<Record<Replay['mode'], string>> = {
  failed: t`those whose delivery failed`,
  pending: t`those whose delivery waits for a retry`,
  missing: t`those without a delivery to this webhook`,
  all: t`all of its types`,
};

const RESULTS: readonly (readonly [ReplayResult, label: string])[] = [
  ['delivered', t`Arrived`],
  ['failed', t({ message: 'Failed', context: 'deliveries' })],
  ['pending', t`Under way or held`],
  ['cancelled', t({ message: 'Cancelled', context: 'deliveries' })],
];

function ReplayDeliveries({ replay }: { readonly replay: ReplayWithResults }) {
  const { webhook_id: webhookId } = replay;
  const [, navigate] = useLocation();
  const [search, setSearch] = useSearchParams();
  const result = RESULTS.find(([each]) => each === search.get('result'))?.[0];
  const pages = useReplayDeliveries(replay, result);
  const columns = useMemo(() => deliveryColumns({ webhook_id: webhookId }, new Map()), [webhookId]);
  return (
    <Section
      title={t`Its deliveries`}
      actions={
        <SelectField
          label={t`Result`}
          value={result ?? ''}
          onChange={({ target }) => setSearch(target.value === '' ? {} : { result: target.value })}
        >
          <option value="">
            <Trans context="deliveries">All</Trans>
          </option>
          {RESULTS.map(([each, label]) => (
            <option key={each} value={each}>
              {label}
            </option>
          ))}
        </SelectField>
      }
    >
      <PagedTable
        label={t`Its deliveries`}
        columns={columns}
        pages={pages}
        rowId={idOf}
        onOpen={({ id: delivery }) => navigate(`/deliveries/${encodeURIComponent(delivery)}`)}
        empty={
          <Empty title={t`No deliveries`}>
            <p>{result ? t`None has this result.` : t`It has queued none.`}</p>
          </Empty>
        }
      />
    </Section>
  );
}

const idOf = ({ id }: Delivery) => id;
