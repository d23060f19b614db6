import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { queryKeys } from '../../api/query-keys';
import { CodeBlock } from '../../components/code-block';
import { useDraft } from '../../components/drafts';
import { SelectField, TextField } from '../../components/field';
import { FormDialog } from '../../components/form-dialog';
import { NoticeDialog } from '../../components/notice-dialog';
import styles from './account.module.css';

type Scope = components['schemas']['Scope'];

/** Explains each scope; TypeScript finds a missing one. */
const SCOPES: Readonly<Record<Scope, string>> = {
  'webhooks:read': t`see webhooks`,
  'webhooks:write': t`change webhooks, and read their secrets`,
  'events:write': t`publish events`,
  'deliveries:read': t`see events and deliveries`,
  'deliveries:write': t`redeliver and replay`,
  'portal:write': t`open this portal for people`,
  'audit:read': t`see who changed what`,
  'accounts:act': t`create accounts, and act for them`,
  admin: t`issue and revoke keys`,
};
const scopes = Object.keys(SCOPES) as Scope[];
/** Only its keys can act for other accounts. */
const OPERATORS_ACCOUNT = 'default';
/** What a program of a customer rarely needs. */
const POWERFUL: readonly Scope[] = ['accounts:act', 'admin'];
const CHOSEN_AT_FIRST: readonly Scope[] = scopes.filter((scope) => !POWERFUL.includes(scope));

const DAY_MS = 86_400_000;

export interface IssueKeyDialogProps {
  readonly accountId: string;
  readonly onClose: () => void;
}

/** Issues a key, and shows it: no other response of the service does. */
export function IssueKeyDialog({ accountId, onClose }: IssueKeyDialogProps) {
  const api = useApi();
  const queries = useQueryClient();
  const draft = useDraft(`accounts/${accountId}/api-keys/new`, {
    name: '',
    chosen: CHOSEN_AT_FIRST,
    days: '',
  });
  const { name, chosen, days } = draft.value;
  const change = (part: Partial<typeof draft.value>) => draft.change({ ...draft.value, ...part });
  const { mutate, data, isPending, error } = useMutation({
    mutationFn: () => {
      const expiresAt =
        days === '' ? null : new Date(new Date().getTime() + Number(days) * DAY_MS).toISOString();
      return ask(
        api.POST('/v1/api-keys', {
          params: { header: { 'X-Account-Id': accountId } },
          body: { name, scopes: [...chosen], expires_at: expiresAt },
        }),
      );
    },
    // The key is in the response, which is to be kept nowhere but in this dialog.
    gcTime: 0,
    onSuccess: () => {
      draft.forget();
      return queries.invalidateQueries({ queryKey: queryKeys.apiKeys(accountId) });
    },
  });
  if (data) {
    const issued = data.name;
    return (
      <NoticeDialog title={t`The key “${issued}”`} closeLabel={t`I have it`} onClose={onClose}>
        <p>{t`Copy it now: it is not stored, and cannot be shown again.`}</p>
        <CodeBlock label={t`The API key`} text={data.key} />
      </NoticeDialog>
    );
  }
  return (
    <FormDialog
      title={t`Issue an API key`}
      draft={draft}
      submitLabel={t`Issue`}
      isBusy={isPending}
      error={error}
      onSubmit={() => mutate()}
      onClose={onClose}
    >
      <TextField
        label={t`Name`}
        hint={t`Its use and its place, such as “publisher in production”.`}
        required
        maxLength={100}
        value={name}
        onChange={({ target }) => change({ name: target.value })}
      />
      <fieldset className={styles['scopes']}>
        <legend>{t`It may`}</legend>
        {scopes
          .filter((scope) => scope !== 'accounts:act' || accountId === OPERATORS_ACCOUNT)
          .map((scope) => (
            <label key={scope}>
              <input
                type="checkbox"
                checked={chosen.includes(scope)}
                onChange={() => change({ chosen: toggled(chosen, scope) })}
              />
              <span>
                {SCOPES[scope]} <code>{scope}</code>
              </span>
            </label>
          ))}
      </fieldset>
      <SelectField label={t`Expires`} value={days} onChange={({ target }) => change({ days: target.value })}>
        <option value="">{t({ message: 'never', context: 'expiry' })}</option>
        <option value="30">{t`in 30 days`}</option>
        <option value="90">{t`in 90 days`}</option>
        <option value="365">{t`in a year`}</option>
      </SelectField>
    </FormDialog>
  );
}

function toggled(chosen: readonly Scope[], scope: Scope): readonly Scope[] {
  return chosen.includes(scope) ? chosen.filter((one) => one !== scope) : [...chosen, scope];
}
