import type { ValidationError } from '../../api/problem';
import { SelectField, TextField } from '../../components/field';
import type { Draft } from './draft';
import { faultAt } from './draft-faults';
import { PairsField } from './pairs-field';
import styles from './webhook-form.module.css';

interface AdvancedSettingsProps {
  readonly draft: Draft;
  readonly validationErrors: readonly ValidationError[];
  readonly onChange: (part: Partial<Draft>) => void;
}

const MEMBERS = [
  '/rate_limit',
  '/max_concurrency',
  '/timeout_ms',
  '/retry_schedule',
  '/uid',
  '/headers',
  '/metadata',
];

/** What most webhooks need not have. Folded, unless something in it is wrong. */
export function AdvancedSettings({ draft, validationErrors, onChange }: AdvancedSettingsProps) {
  const isWrong = MEMBERS.some((member) => faultAt(validationErrors, member) !== undefined);
  return (
    <details className={styles['advanced']} open={isWrong || undefined}>
      <summary>Advanced settings</summary>
      <div className={styles['fields']}>
        <TextField
          label="Rate limit, per second"
          hint="At most so many requests reach it within any second. Empty: no limit."
          inputMode="numeric"
          value={draft.rateLimit}
          error={faultAt(validationErrors, '/rate_limit')}
          onChange={(event) => onChange({ rateLimit: event.target.value })}
        />
        <TextField
          label="Most at once"
          hint="At most so many requests of each worker are under way at once: 1 to 1000. Empty: as the service sees fit."
          inputMode="numeric"
          value={draft.maxConcurrency}
          error={faultAt(validationErrors, '/max_concurrency')}
          onChange={(event) => onChange({ maxConcurrency: event.target.value })}
        />
        <SelectField
          label="Order"
          hint="In order, each waits until the one before it is done: a failure holds up all that follow."
          value={draft.isStrict ? 'strict' : 'none'}
          onChange={(event) => onChange({ isStrict: event.target.value === 'strict' })}
        >
          <option value="none">As they come</option>
          <option value="strict">One at a time, in order</option>
        </SelectField>
        <TextField
          label="Time-out, milliseconds"
          hint="For a whole attempt: 1000 to 60000. Empty: as the service has it."
          inputMode="numeric"
          value={draft.timeoutMs}
          error={faultAt(validationErrors, '/timeout_ms')}
          onChange={(event) => onChange({ timeoutMs: event.target.value })}
        />
        <TextField
          label="Retry schedule"
          hint="Waits between attempts, such as 5s, 5m, 2h. Empty: as the service has it."
          value={draft.retrySchedule}
          error={faultAt(validationErrors, '/retry_schedule')}
          onChange={(event) => onChange({ retrySchedule: event.target.value })}
        />
        <TextField
          label="Name of your own (uid)"
          hint="Works wherever its id does."
          value={draft.uid}
          error={faultAt(validationErrors, '/uid')}
          onChange={(event) => onChange({ uid: event.target.value })}
        />
        <PairsField
          legend="Headers"
          hint="Sent with each request. Their values are never shown again: *** stands for one that stays as it is."
          one="header"
          pairs={draft.headers}
          error={faultAt(validationErrors, '/headers')}
          onChange={(headers) => onChange({ headers })}
        />
        <PairsField
          legend="Metadata"
          hint="Notes of your own."
          one="note"
          pairs={draft.metadata}
          error={faultAt(validationErrors, '/metadata')}
          onChange={(metadata) => onChange({ metadata })}
        />
      </div>
    </details>
  );
}
