import { useState } from 'react';
import { useLocation } from 'wouter';
import { hasEnded, type NewReplay, useReplay, useStartReplay } from '../../api/replay-queries';
import { useWebhook } from '../../api/webhook-queries';
import { Button } from '../../components/button';
import { TextField } from '../../components/field';
import { Problem } from '../../components/problem';
import { nameOf } from '../deliveries/webhook-names';
import { PageHeader } from '../page-header';
import { formatCount } from '../webhooks/health-figures';
import { fromLocalInput, RANGES, toLocalInput } from './range';
import styles from './replay.module.css';

interface NewReplayPageProps {
  readonly params: Readonly<Record<string, string>>;
}

interface ReplayDraft {
  /** As the inputs have them; `until` may be empty: up to now. */
  readonly since: string;
  readonly until: string;
  readonly mode: NewReplay['mode'];
  readonly rate: string;
}

/** Chooses what is replayed, counts it if wanted, and starts. */
export function NewReplayPage({ params: { id = '' } }: NewReplayPageProps) {
  const [, go] = useLocation();
  const { data: webhook } = useWebhook(id);
  const [draft, setDraft] = useState(firstDraft);
  const counting = useStartReplay(id);
  const start = useStartReplay(id);
  const { data: count } = useReplay(counting.data?.id);
  const isCounting = counting.isPending || (count !== undefined && !hasEnded(count));
  const change = (part: Partial<ReplayDraft>) => {
    setDraft({ ...draft, ...part });
    // The count belongs to the former range.
    counting.reset();
  };
  const body = bodyOf(draft);
  return (
    <>
      <PageHeader
        title="Replay"
        parent={{ href: `/webhooks/${id}`, label: webhook ? nameOf(webhook) : 'Webhook' }}
      />
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
          {count &&
            hasEnded(count) &&
            `It is about ${formatCount(count.found)} events${erasedNote(count.erased)}.`}
        </output>
        {(counting.error ?? start.error) && <Problem error={counting.error ?? start.error ?? new Error()} />}
        <div className={styles['actions']}>
          <Button isBusy={isCounting} onClick={() => counting.mutate({ ...body, dry_run: true })}>
            Count first
          </Button>
          <Button type="submit" kind="primary" isBusy={start.isPending}>
            {count && hasEnded(count) ? `Replay ${formatCount(count.found)}` : 'Start replay'}
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

/** An invalid time is sent as it is: the service says what is wrong with it. */
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
  return erased === 0 ? '' : `; ${formatCount(erased)} more are left out, whose payload was erased`;
}

const MODES: readonly (readonly [mode: NewReplay['mode'], label: string, hint: string])[] = [
  ['failed', 'Failed', 'Events whose delivery was given up or cancelled.'],
  [
    'missing',
    'Missing',
    'Events of its types without a delivery, such as those from before it was registered.',
  ],
  ['all', 'Everything', 'Every event of its types, also those that it has accepted.'],
];

interface ReplayChoiceProps {
  readonly draft: ReplayDraft;
  readonly onChange: (part: Partial<ReplayDraft>) => void;
}

/** The events of the replay, and its rate. */
function ReplayChoice({ draft, onChange }: ReplayChoiceProps) {
  return (
    <>
      <div className={styles['range']}>
        <TextField
          label="From"
          type="datetime-local"
          value={draft.since}
          onChange={(event) => onChange({ since: event.target.value })}
        />
        <TextField
          label="Until (empty: now)"
          type="datetime-local"
          value={draft.until}
          onChange={(event) => onChange({ until: event.target.value })}
        />
      </div>
      <div className={styles['actions']}>
        {RANGES.map(([label, ms]) => (
          <Button
            key={label}
            size="small"
            onClick={() => onChange({ since: toLocalInput(new Date(new Date().getTime() - ms)), until: '' })}
          >
            {label}
          </Button>
        ))}
      </div>
      <fieldset className={styles['modes']}>
        <legend>Which events</legend>
        {MODES.map(([mode, label, hint]) => (
          <label key={mode} className={styles['mode']}>
            <input
              type="radio"
              name="mode"
              checked={draft.mode === mode}
              onChange={() => onChange({ mode })}
            />
            <span>
              {label} <span className={styles['hint']}>{hint}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <TextField
        label="Events per second"
        hint="1 to 1000. The webhook’s own rate limit applies as well."
        inputMode="numeric"
        value={draft.rate}
        onChange={(event) => onChange({ rate: event.target.value })}
      />
    </>
  );
}
