import { useState } from 'react';
import { useLocation } from 'wouter';
import { isOver, type NewReplay, useReplay, useStartReplay } from '../../api/replay-queries';
import { useWebhook } from '../../api/webhook-queries';
import { Button } from '../../components/button';
import { PageHeader } from '../../components/page-header';
import { Problem } from '../../components/problem';
import { fromLocalInput, RANGES, toLocalInput } from './range';
import styles from './replay.module.css';
import { ReplayChoice } from './replay-choice';

interface NewReplayPageProps {
  readonly params: Readonly<Record<string, string>>;
}

export interface ReplayDraft {
  /** As the inputs have them; `until` may be empty: up to now. */
  readonly since: string;
  readonly until: string;
  readonly mode: NewReplay['mode'];
  readonly rate: string;
}

/** Chooses what is sent again, counts it if wanted, and starts. */
export function NewReplayPage({ params: { id = '' } }: NewReplayPageProps) {
  const [, go] = useLocation();
  const { data: webhook } = useWebhook(id);
  const [draft, setDraft] = useState(firstDraft);
  const counting = useStartReplay(id);
  const start = useStartReplay(id);
  const { data: count } = useReplay(counting.data?.id);
  const isCounting = counting.isPending || (count !== undefined && !isOver(count));
  const change = (part: Partial<ReplayDraft>) => {
    setDraft({ ...draft, ...part });
    // What was counted is another range now.
    counting.reset();
  };
  const body = bodyOf(draft);
  return (
    <>
      <PageHeader title="Replay" parent={{ href: `/webhooks/${id}`, label: webhook?.url ?? 'Webhook' }} />
      <form
        className={styles['form']}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          start.mutate(body, { onSuccess: (replay) => go(`/replays/${replay.id}`) });
        }}
      >
        <ReplayChoice draft={draft} onChange={change} />
        <output className={styles['count']}>
          {isCounting && 'Counting…'}
          {count && isOver(count) && `It is about ${count.found} events${erasedNote(count.erased)}.`}
        </output>
        {(counting.error ?? start.error) && <Problem error={counting.error ?? start.error ?? new Error()} />}
        <div className={styles['actions']}>
          <Button isBusy={isCounting} onClick={() => counting.mutate({ ...body, dry_run: true })}>
            Count first
          </Button>
          <Button type="submit" kind="primary" isBusy={start.isPending}>
            {count && isOver(count) ? `Send ${count.found} again` : 'Start replay'}
          </Button>
        </div>
      </form>
    </>
  );
}

function firstDraft(): ReplayDraft {
  const [, ms] = RANGES[1] ?? ['', 0];
  return { since: toLocalInput(new Date(new Date().getTime() - ms)), until: '', mode: 'failed', rate: '50' };
}

/** What is no time goes as it is: the service says what is wrong with it. */
function bodyOf({ since, until, mode, rate }: ReplayDraft): NewReplay {
  return {
    since: fromLocalInput(since) ?? since,
    ...(until !== '' && { until: fromLocalInput(until) ?? until }),
    mode,
    rate: Number(rate),
    dry_run: false,
  };
}

function erasedNote(erased: number): string {
  return erased === 0 ? '' : `; ${erased} more are left out, whose payload was erased`;
}
