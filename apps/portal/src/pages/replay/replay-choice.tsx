import type { NewReplay } from '../../api/replay-queries';
import { Button } from '../../components/button';
import { TextField } from '../../components/field';
import type { ReplayDraft } from './new-replay-page';
import { RANGES, toLocalInput } from './range';
import styles from './replay.module.css';

const MODES: readonly (readonly [mode: NewReplay['mode'], label: string, hint: string])[] = [
  ['failed', 'What failed', 'Deliveries that were given up or cancelled.'],
  [
    'missing',
    'What is missing',
    'Events that it asks for now and has no delivery of, such as those before it was registered.',
  ],
  ['all', 'Everything', 'Every event that it asks for, also what it has accepted.'],
];

interface ReplayChoiceProps {
  readonly draft: ReplayDraft;
  readonly onChange: (part: Partial<ReplayDraft>) => void;
}

/** Which events, and how fast. */
export function ReplayChoice({ draft, onChange }: ReplayChoiceProps) {
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
        hint="1 to 1000. The webhook’s own rate limit holds besides."
        inputMode="numeric"
        value={draft.rate}
        onChange={(event) => onChange({ rate: event.target.value })}
      />
    </>
  );
}
