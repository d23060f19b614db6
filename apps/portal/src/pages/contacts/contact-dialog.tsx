import { t } from '@lingui/core/macro';
import {
  type Contact,
  type NewContact,
  type Occasion,
  useCreateContact,
  useUpdateContact,
} from '../../api/contact-queries';
import { useDraft } from '../../components/drafts';
import { SelectField, TextField } from '../../components/field';
import { FormDialog } from '../../components/form-dialog';
import { useToasts } from '../../components/toasts';
import { useWebhookNames } from '../deliveries/use-webhook-names';
import { DIGESTS, KINDS, OCCASIONS, occasions } from './contact-texts';
import styles from './contacts.module.css';

interface Settings {
  /** '': all. */
  readonly webhook: string;
  readonly chosen: readonly Occasion[];
  readonly digest: keyof typeof DIGESTS;
  /** Of the times in messages. */
  readonly timeZone: string;
}

const HINTS: Readonly<Record<Exclude<Contact['type'], 'email'>, string>> = {
  slack: t`The URL of an incoming webhook of Slack. It is not shown again.`,
  teams: t`The URL of an incoming webhook of Teams. It is not shown again.`,
  discord: t`The URL of a webhook of Discord. It is not shown again.`,
  webhook: t`It gets a POST with JSON. It is not shown again.`,
};

interface NewDraft {
  readonly kind: Contact['type'];
  readonly target: string;
  readonly settings: Settings;
}

interface NewContactDialogProps {
  /** The webhook that is chosen at first. */
  readonly webhookId?: string;
  readonly onClose: () => void;
}

/** A new contact: its address, occasions and digest. It has to confirm first. */
export function NewContactDialog({ webhookId = '', onClose }: NewContactDialogProps) {
  const { show } = useToasts();
  const draft = useDraft<NewDraft>(`contacts/new/${webhookId}`, {
    kind: 'email',
    target: '',
    settings: {
      webhook: webhookId,
      chosen: occasions,
      digest: '',
      timeZone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
    },
  });
  const { kind, target, settings } = draft.value;
  const { mutate, isPending, error } = useCreateContact();
  const isMail = kind === 'email';
  const submit = () =>
    mutate(bodyOf(kind, target.trim(), settings), {
      onSuccess: ({ target: shown }) => {
        draft.forget();
        show(t`${shown} gets a link to confirm.`);
        onClose();
      },
    });
  return (
    <FormDialog
      title={t`Add a contact`}
      draft={draft}
      submitLabel={t`Add`}
      isBusy={isPending}
      error={error}
      onSubmit={submit}
      onClose={onClose}
    >
      <SelectField
        label={t({ message: 'By', context: 'channel' })}
        value={kind}
        onChange={(event) => draft.change({ ...draft.value, kind: event.target.value as Contact['type'] })}
      >
        {Object.entries(KINDS).map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </SelectField>
      <TextField
        label={isMail ? t`Address` : 'URL'}
        hint={isMail ? undefined : HINTS[kind]}
        type={isMail ? 'email' : 'url'}
        required
        autoComplete="off"
        value={target}
        onChange={(event) => draft.change({ ...draft.value, target: event.target.value })}
      />
      <p className={styles['note']}>
        {t`It gets a link to confirm first. Messages begin then: webhooks that fail already are not reported.`}
      </p>
      <SettingFields
        settings={settings}
        onChange={(changed) => draft.change({ ...draft.value, settings: changed })}
      />
    </FormDialog>
  );
}

interface EditContactDialogProps {
  readonly contact: Contact;
  readonly onClose: () => void;
}

export function EditContactDialog({ contact, onClose }: EditContactDialogProps) {
  const draft = useDraft<Settings>(`contacts/${contact.id}`, {
    webhook: contact.webhook_id ?? '',
    chosen: contact.occasions ?? occasions,
    digest: contact.digest ?? '',
    timeZone: contact.time_zone ?? 'UTC',
  });
  const { mutate, isPending, error } = useUpdateContact(contact.id);
  const { webhook, chosen, digest, timeZone } = draft.value;
  const submit = () =>
    mutate(
      {
        webhook_id: webhook === '' ? null : webhook,
        occasions: isAll(chosen) ? null : [...chosen],
        digest: digest === '' ? null : digest,
        time_zone: timeZone,
      },
      {
        onSuccess: () => {
          draft.forget();
          onClose();
        },
      },
    );
  return (
    <FormDialog
      title={contact.target}
      draft={draft}
      submitLabel={t`Save`}
      isBusy={isPending}
      error={error}
      onSubmit={submit}
      onClose={onClose}
    >
      <SettingFields settings={draft.value} onChange={draft.change} />
    </FormDialog>
  );
}

interface SettingFieldsProps {
  readonly settings: Settings;
  readonly onChange: (settings: Settings) => void;
}

function SettingFields({ settings, onChange }: SettingFieldsProps) {
  const names = useWebhookNames();
  const { webhook, chosen, digest, timeZone } = settings;
  return (
    <>
      <SelectField
        label={t`Webhook`}
        value={webhook}
        onChange={({ target }) => onChange({ ...settings, webhook: target.value })}
      >
        <option value="">{t`All, and the account`}</option>
        {webhook !== '' && !names.has(webhook) && <option value={webhook}>{webhook}</option>}
        {[...names].map(([id, name]) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </SelectField>
      <SelectField
        label={t({ message: 'When', context: 'digest' })}
        value={digest}
        onChange={({ target }) => onChange({ ...settings, digest: target.value as Settings['digest'] })}
      >
        {Object.entries(DIGESTS).map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </SelectField>
      <SelectField
        label={t`Time zone of messages`}
        value={timeZone}
        onChange={({ target }) => onChange({ ...settings, timeZone: target.value })}
      >
        {[...new Set(['UTC', timeZone, ...Intl.supportedValuesOf('timeZone')])].map((zone) => (
          <option key={zone} value={zone}>
            {zone}
          </option>
        ))}
      </SelectField>
      <fieldset className={styles['occasions']}>
        <legend>{t`Messages when`}</legend>
        {occasions.map((occasion) => (
          <label key={occasion}>
            <input
              type="checkbox"
              checked={chosen.includes(occasion)}
              onChange={() => onChange({ ...settings, chosen: toggled(chosen, occasion) })}
            />
            <span>{OCCASIONS[occasion]}</span>
          </label>
        ))}
      </fieldset>
    </>
  );
}

function bodyOf(
  kind: Contact['type'],
  target: string,
  { webhook, chosen, digest, timeZone }: Settings,
): NewContact {
  return {
    type: kind,
    ...(kind === 'email' ? { address: target } : { url: target }),
    ...(webhook !== '' && { webhook_id: webhook }),
    ...(!isAll(chosen) && { occasions: [...chosen] }),
    ...(digest !== '' && { digest }),
    time_zone: timeZone,
  };
}

/** Also of those that are still to come. */
function isAll(chosen: readonly Occasion[]): boolean {
  return chosen.length === occasions.length;
}

function toggled(chosen: readonly Occasion[], occasion: Occasion): readonly Occasion[] {
  return occasions.filter((each) => (each === occasion ? !chosen.includes(each) : chosen.includes(each)));
}
