import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { queryKeys } from '../../api/query-keys';
import { Button } from '../../components/button';
import { SelectField, TextField } from '../../components/field';
import { Problem } from '../../components/problem';
import { MIBIBYTES, QuantityField } from '../../components/quantity-field';
import { Section } from '../../components/section';
import { useToasts } from '../../components/toasts';
import { formatBytes } from '../../language/formats';
import { settingWords } from '../webhook-form/setting-words';
import styles from './account.module.css';

type Account = components['schemas']['Account'];

export interface AccountSettingsProps {
  readonly account: Account;
}

/** The account's weight, quota, retention of the history, and signing. */
export function AccountSettings({ account }: AccountSettingsProps) {
  const api = useApi();
  const queries = useQueryClient();
  const toasts = useToasts();
  const [weight, setWeight] = useState(String(account.weight));
  const [quota, setQuota] = useState(account.quota_bytes === null ? '' : String(account.quota_bytes));
  const [retention, setRetention] = useState(account.history_retention ?? '');
  const [source, setSource] = useState(account.cloudevents_source ?? '');
  const [signing, setSigning] = useState(account.default_signing);
  const [verification, setVerification] = useState(account.endpoint_verification);
  const { mutate, isPending, error } = useMutation({
    mutationFn: () =>
      ask(
        api.PATCH('/v1/accounts/{id}', {
          params: { path: { id: account.id } },
          body: {
            weight: Number(weight),
            quota_bytes: quota === '' ? null : Number(quota),
            history_retention: retention === '' ? null : retention,
            default_signing: signing,
            cloudevents_source: source === '' ? null : source,
            endpoint_verification: verification,
          },
        }),
      ),
    onSuccess: async (changed) => {
      toasts.show(t`The account was changed.`);
      queries.setQueryData(queryKeys.account(account.id), changed);
      await queries.invalidateQueries({ queryKey: queryKeys.accounts() });
      await queries.invalidateQueries({ queryKey: queryKeys.accountUsage(account.id) });
    },
  });
  const save = (event: FormEvent) => {
    event.preventDefault();
    mutate();
  };
  return (
    <Section title={t`Settings`}>
      <form className={styles['form']} onSubmit={save}>
        <TextField
          label={t`Weight`}
          hint={t`Its share of the workers, relative to other accounts: with 2 it gets twice as much when all have to wait.`}
          type="number"
          required
          min={1}
          max={100}
          value={weight}
          onChange={({ target }) => setWeight(target.value)}
        />
        <QuantityField
          label={t`Quota`}
          unit={MIBIBYTES}
          hint={quotaHint(quota)}
          value={quota}
          onChange={setQuota}
        />
        <TextField
          label={t`Retention of its history`}
          hint={
            retention === ''
              ? t`Empty: as for all accounts.`
              : t`Whole days, such as 30d. It applies to events that move to the history from now on.`
          }
          pattern="[0-9]+d"
          value={retention}
          onChange={({ target }) => setRetention(target.value)}
        />
        <SelectField
          label={t`Signatures of new webhooks`}
          hint={t`For webhooks that do not set it themselves. Existing webhooks stay as they are.`}
          value={signing}
          onChange={({ target }) => setSigning(target.value as Account['default_signing'])}
        >
          {Object.entries(settingWords.signing.options).map(([kind, label]) => (
            <option key={kind} value={kind}>
              {label}
            </option>
          ))}
        </SelectField>
        <TextField
          label={t`CloudEvents source`}
          hint={t`A URI for the source of the events, for webhooks that use CloudEvents and set none themselves. Empty: as for all accounts.`}
          value={source}
          onChange={({ target }) => setSource(target.value)}
        />
        <SelectField
          label={t`Verification of webhooks`}
          hint={t`Whether new and changed webhooks get deliveries only after their receivers have proved that they want them.`}
          value={verification ?? ''}
          onChange={({ target }) => setVerification(verificationOf(target.value))}
        >
          <option value="">{t`As the service has it`}</option>
          <option value="off">{t`Off`}</option>
          <option value="required">{t({ message: 'Required', context: 'verification' })}</option>
        </SelectField>
        {error && <Problem error={error} />}
        <Button type="submit" isBusy={isPending}>
          {t`Save`}
        </Button>
      </form>
    </Section>
  );
}

function verificationOf(chosen: string): Account['endpoint_verification'] {
  return chosen === '' ? null : (chosen as Account['endpoint_verification']);
}

function quotaHint(quota: string): string {
  if (quota === '') return t`Empty: as for all accounts.`;
  const size = formatBytes(Number(quota));
  return Number(quota) === 0 ? t`No limit.` : t`That is ${size}.`;
}
