import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { hasEnded, type NewReplay, type Replay, useReplay, useStartReplay } from '../../api/replay-queries';
import { useWebhook } from '../../api/webhook-queries';
import { Button } from '../../components/button';
import { DraftNotice, useDraft } from '../../components/drafts';
import { TextField } from '../../components/field';
import { Problem } from '../../components/problem';
import { formatCount } from '../../language/formats';
import { nameOf } from '../deliveries/webhook-names';
import { PageHeader } from '../page-header';
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
  const [initial] = useState(firstDraft);
  const kept = useDraft(`webhooks/${id}/replay`, initial);
  const { value: draft } = kept;
  const counting = useStartReplay(id);
  const start = useStartReplay(id);
  const { data: count } = useReplay(counting.data?.id);
  const isCounting = counting.isPending || (count !== undefined && !hasEnded(count));
  const change = (part: Partial<ReplayDraft>) => {
    kept.change({ ...draft, ...part });
    // The count belongs to the former range.
    counting.reset();
  };
  const body = bodyOf(draft);
  const found = count && hasEnded(count) ? formatCount(count.found) : undefined;
  return (
    <>
      <PageHeader
        title={t`Replay`}
        parent={{ href: `/webhooks/${id}`, label: webhook ? nameOf(webhook) : t`Webhook` }}
      />
      <form
        className={styles['form']}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          start.mutate(body, {
            onSuccess: (replay) => {
              kept.forget();
              go(`/replays/${replay.id}`);
            },
          });
        }}
      >
        <DraftNotice draft={kept} />
        <ReplayChoice draft={draft} onChange={change} />
        <output className={styles['count']}>
          {isCounting && t`Counting…`}
          {count && hasEnded(count) && countText(count)}
        </output>
        {(counting.error ?? start.error) && <Problem error={counting.error ?? start.error ?? new Error()} />}
        <div className={styles['actions']}>
          <Button isBusy={isCounting} onClick={() => counting.mutate({ ...body, dry_run: true })}>
            <Trans>Count first</Trans>
          </Button>
          <Button type="submit" kind="primary" isBusy={start.isPending}>
            {found === undefined ? t`Start replay` : t`Replay ${found}`}
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

function countText({ found, erased }: Replay): string {
  if (erased === 0) return t`It is about ${plural(found, { one: '# event', other: '# events' })}.`;
  const more = plural(erased, {
    one: '# more is left out, whose payload was erased.',
    other: '# more are left out, whose payload was erased.',
  });
  return t`It is about ${plural(found, { one: '# event', other: '# events' })}; ${more}`;
}

const MODES: readonly (readonly [mode: NewReplay['mode'], label: string, hint: string])[] = [
  [
    'failed',
    t({ message: 'Failed', context: 'events' }),
    t`Events whose delivery was given up or cancelled.`,
  ],
  [
    'pending',
    t`Waiting for a retry`,
    t`Events whose delivery failed and has attempts left: the next one comes now.`,
  ],
  [
    'missing',
    t`Missing`,
    t`Events of its types without a delivery, such as those from before it was registered.`,
  ],
  ['all', t`Everything`, t`Every event of its types, also those that it has accepted.`],
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
          label={t({ message: 'From', context: 'time' })}
          type="datetime-local"
          value={draft.since}
          onChange={(event) => onChange({ since: event.target.value })}
        />
        <TextField
          label={t`Until (empty: now)`}
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
        <legend>
          <Trans>Which events</Trans>
        </legend>
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
        label={t`Events per second`}
        hint={t`1 to 1000. The webhook’s own rate limit applies as well.`}
        inputMode="numeric"
        value={draft.rate}
        onChange={(event) => onChange({ rate: event.target.value })}
      />
    </>
  );
}
