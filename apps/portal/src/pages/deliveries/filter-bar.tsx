import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import type { ChangeEvent } from 'react';
import { Button } from '../../components/button';
import { SelectField, TextField } from '../../components/field';
import { Filters } from '../../components/filters';
import { useOfferedTypes } from '../event-types/offered-types';
import { fromLocalInput, toLocalInput } from '../replay/range';
import styles from './deliveries-page.module.css';
import { type FilterTexts, isHttpCode } from './filters-in-url';
import { useWebhookNames } from './use-webhook-names';
import { outcomes, statuses } from './words';

const RANGES = [
  ['', t`Any time`],
  ['1', t`Last hour`],
  ['24', t`Last 24 hours`],
  ['168', t`Last 7 days`],
  ['custom', t`From … to`],
] as const;

// The search, and what a chart has set, have places of their own. A time from and until is one filter.
const FOLDED = ['status', 'http', 'outcome', 'type', 'webhook', 'range'] as const;

interface FilterBarProps {
  readonly texts: FilterTexts;
  readonly onChange: (texts: FilterTexts) => void;
}

export function FilterBar({ texts, onChange }: FilterBarProps) {
  const types = useOfferedTypes();
  const webhooks = useWebhookNames();
  const count = FOLDED.filter((name) => texts[name] !== '').length;
  const isSet = Object.values(texts).some((text) => text !== '');

  const bind = (name: keyof FilterTexts) => ({
    value: texts[name],
    onChange: (event: ChangeEvent<HTMLInputElement | HTMLSelectElement>) =>
      onChange({ ...texts, [name]: event.target.value }),
  });

  const bindTime = (name: 'since' | 'until') => ({
    value: texts[name] === '' ? '' : toLocalInput(new Date(texts[name])),
    onChange: (event: ChangeEvent<HTMLInputElement>) =>
      onChange({ ...texts, [name]: fromLocalInput(event.target.value) ?? '' }),
  });

  return (
    <Filters count={count}>
      <fieldset className={styles['filters']}>
        <legend className={styles['legend']}>
          <Trans>Filters</Trans>
        </legend>
        <SelectField label={t`Status`} {...bind('status')}>
          <option value="">
            <Trans>Any</Trans>
          </option>
          {Object.entries(statuses).map(([status, [label]]) => (
            <option key={status} value={status}>
              {label}
            </option>
          ))}
        </SelectField>
        <TextField
          label={t`HTTP code`}
          inputMode="numeric"
          maxLength={3}
          placeholder={t`Any`}
          error={texts.http === '' || isHttpCode(texts.http) ? undefined : t`100 to 599`}
          {...bind('http')}
        />
        <SelectField label={t`Outcome`} {...bind('outcome')}>
          <option value="">
            <Trans>Any</Trans>
          </option>
          {Object.entries(outcomes).map(([outcome, label]) => (
            <option key={outcome} value={outcome}>
              {label}
            </option>
          ))}
        </SelectField>
        <SelectField label={t`Event type`} {...bind('type')}>
          <option value="">
            <Trans>Any</Trans>
          </option>
          <Others value={texts.type} known={types.data?.map(({ name }) => name)} />
          {types.data?.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </SelectField>
        <SelectField label={t`Webhook`} {...bind('webhook')}>
          <option value="">
            <Trans>Any</Trans>
          </option>
          <Others value={texts.webhook} known={[...webhooks.keys()]} />
          {[...webhooks].map(([id, name]) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </SelectField>
        <SelectField label={t({ message: 'Accepted', context: 'time' })} {...bind('range')}>
          {RANGES.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
        {texts.range === 'custom' && (
          <>
            <div className={styles['time']}>
              <TextField
                label={t({ message: 'From', context: 'time' })}
                type="datetime-local"
                {...bindTime('since')}
              />
            </div>
            <div className={styles['time']}>
              <TextField
                label={t({ message: 'To', context: 'time' })}
                type="datetime-local"
                {...bindTime('until')}
              />
            </div>
          </>
        )}
        <Button
          kind="quiet"
          disabled={!isSet}
          className={styles['clear']}
          onClick={() => onChange(NO_FILTERS)}
        >
          <Trans>Clear filters</Trans>
        </Button>
      </fieldset>
    </Filters>
  );
}

const NO_FILTERS: FilterTexts = {
  status: '',
  http: '',
  outcome: '',
  type: '',
  webhook: '',
  data: '',
  range: '',
  since: '',
  until: '',
  attempt: '',
  attempted_since: '',
  attempted_until: '',
};

/** Filters of the address that no list offers, or not yet. */
function Others({
  value,
  known = [],
}: {
  readonly value: string;
  readonly known: readonly string[] | undefined;
}) {
  return value === '' || known.includes(value) ? null : <option value={value}>{value}</option>;
}
