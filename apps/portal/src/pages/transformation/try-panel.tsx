import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useState } from 'react';
import { useEvents } from '../../api/event-queries';
import { useEventTypes } from '../../api/event-type-queries';
import { type Tried, useTryTransformation } from '../../api/transformation-queries';
import type { ReadWebhook } from '../../api/webhook-queries';
import { Badge } from '../../components/badge';
import { Button } from '../../components/button';
import { CodeBlock } from '../../components/code-block';
import { SelectField } from '../../components/field';
import { isJson, prettyJson } from '../../components/json-text';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { formatNumber, formatTime, isolated } from '../../language/formats';
import { EVERY_EVENT, isWithin } from '../webhook-form/event-choice';
import styles from './transformation.module.css';

/** Something that is wrong with the code. */
export interface Fault {
  /** 1, 2, …; null: nobody knows where. */
  readonly line: number | null;
}

interface TryPanelProps {
  readonly webhook: ReadWebhook;
  readonly code: string;
  readonly onFault: (fault: Fault | undefined) => void;
}

const MOST_EVENTS = 10;

/** Runs the code as it stands in the editor on an event; nothing is sent. */
export function TryPanel({ webhook, code, onFault }: TryPanelProps) {
  const { data: types = [] } = useEventTypes();
  const events = useLastEvents(webhook.events);
  const asked = types.filter(({ name }) => isAskedFor(name, webhook.events));
  const choices = [...events.map(({ id }) => `event:${id}`), ...asked.map(({ name }) => `type:${name}`)];
  const [chosen, setChosen] = useState<string>();
  const on = chosen ?? choices[0];
  const trial = useTryTransformation(webhook.id);
  const run = () => {
    const [kind, value = ''] = on?.split(':') ?? [];
    const source = kind === 'event' ? { event_id: value } : { event_type: value };
    trial.mutate({ code, ...source }, { onSuccess: ({ error }) => onFault(error ?? undefined) });
  };
  return (
    <Section title={t`Try it`}>
      <div className={styles['try']}>
        <SelectField label={t`On`} value={on ?? ''} onChange={({ target }) => setChosen(target.value)}>
          {events.length > 0 && (
            <optgroup label={t`The last events of its types`}>
              {events.map(({ id, type, created_at: at }) => (
                <option key={id} value={`event:${id}`}>
                  {isolated(type)} · {isolated(formatTime(new Date(at)))}
                </option>
              ))}
            </optgroup>
          )}
          <optgroup label={t`Examples`}>
            {asked.map(({ name }) => (
              <option key={name} value={`type:${name}`}>
                {name}
              </option>
            ))}
          </optgroup>
        </SelectField>
        <Button disabled={on === undefined} isBusy={trial.isPending} onClick={run}>
          <Trans>Try</Trans>
        </Button>
      </div>
      {trial.error && <Problem error={trial.error} />}
      <div aria-live="polite">{trial.data && <Result tried={trial.data} />}</div>
    </Section>
  );
}

/** The last events of the webhook's types: a new webhook has no deliveries yet. */
function useLastEvents(filters: readonly string[]) {
  const { rows = [] } = useEvents({});
  return rows.filter(({ type }) => isAskedFor(type, filters)).slice(0, MOST_EVENTS);
}

function isAskedFor(type: string, filters: readonly string[]): boolean {
  return filters.some((filter) => filter === EVERY_EVENT || filter === type || isWithin(type, filter));
}

const OUTCOMES: Readonly<Record<Tried['outcome'], readonly ['good' | 'neutral' | 'bad', string]>> = {
  made: ['good', t`This would be sent`],
  cancelled: ['neutral', t`Nothing would be sent: the code cancels it`],
  failed: ['bad', t`The code fails`],
};

function placeText(line: number, column: number | null): string {
  return column === null ? t`Line ${line}:` : t`Line ${line}, column ${column}:`;
}

function Result({ tried }: { readonly tried: Tried }) {
  const { outcome, body, headers, error, logs, duration_ms: took } = tried;
  const [tone, text] = OUTCOMES[outcome];
  const duration = formatNumber(took);
  return (
    <div className={styles['result']}>
      <p className={styles['verdict']}>
        <Badge tone={tone}>{text}</Badge>
        <span>
          <Trans>{duration} ms of processor time</Trans>
        </span>
      </p>
      {error && (
        <p className={styles['fault']}>
          {error.line !== null && <strong>{`${placeText(error.line, error.column)} `}</strong>}
          {error.message}
        </p>
      )}
      {body !== null && <CodeBlock text={isJson(body) ? prettyJson(body) : body} label={t`Body`} />}
      {headers && Object.keys(headers).length > 0 && (
        <CodeBlock
          text={Object.entries(headers)
            .map(([name, value]) => `${name}: ${value}`)
            .join('\n')}
          label={t`Added headers`}
        />
      )}
      {logs.length > 0 && <CodeBlock text={logs.join('\n')} label={t`Printed by console.log`} />}
    </div>
  );
}
