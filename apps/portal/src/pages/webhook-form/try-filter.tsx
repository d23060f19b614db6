import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import type { EventType } from '../../api/event-type-queries';
import { Button } from '../../components/button';
import { SelectField } from '../../components/field';
import { Problem } from '../../components/problem';
import { useOfferedTypes } from '../event-types/offered-types';
import { FilterVerdicts } from './filter-verdicts';
import styles from './webhook-form.module.css';

type FilterTrial = components['schemas']['FilterTrial'];

/** Among the choices, the one that is no event type. */
const PAST = '';
const LAST = 20;

interface TryFilterProps {
  /** JSON of a filter that is right. */
  readonly filter: string;
  readonly events: readonly string[];
}

/** Tries a filter on the last published events, or on a type's example. */
export function TryFilter({ filter, events }: TryFilterProps) {
  const api = useApi();
  const [on, setOn] = useState(PAST);
  const { data: types = [] } = useOfferedTypes(events);
  const trial = useMutation({
    mutationFn: (body: FilterTrial) => ask(api.POST('/v1/filters/try', { body })),
  });
  const run = () => {
    const parsed = JSON.parse(filter) as FilterTrial['filter'];
    const past = { last: LAST, ...(events.length > 0 && { events: [...events] }) };
    trial.mutate({ filter: parsed, ...(on === PAST ? past : { event_type: on }) });
  };
  return (
    <div className={styles['trial']}>
      <div className={styles['trialHead']}>
        <SelectField label={t`Try it on`} value={on} onChange={(event) => setOn(event.target.value)}>
          <option value={PAST}>
            <Plural value={LAST} one="the last event" other="the last # events" />
          </option>
          {types.map(({ name }: EventType) => (
            <option key={name} value={name}>
              <Trans>the example of {name}</Trans>
            </option>
          ))}
        </SelectField>
        <Button isBusy={trial.isPending} onClick={run}>
          <Trans>Try</Trans>
        </Button>
      </div>
      {trial.error && <Problem error={trial.error} />}
      <div aria-live="polite">{trial.data && <FilterVerdicts tried={trial.data} />}</div>
    </div>
  );
}
