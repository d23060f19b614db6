import { parsedOrUndefined } from '@hookferry/core/platform/json';
import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useLocation } from 'wouter';
import { usePublish } from '../../api/event-queries';
import type { EventType } from '../../api/event-type-queries';
import { useAllWebhooks } from '../../api/webhook-queries';
import { useDraft } from '../../components/drafts';
import { SelectField, TextAreaField, TextField } from '../../components/field';
import { FormDialog } from '../../components/form-dialog';
import { useOfferedTypes } from '../event-types/offered-types';
import { fromLocalInput } from '../replay/range';
import { isSubscribed } from '../webhook-form/event-choice';

/** What somebody has chosen and written of an event. */
interface EventDraft {
  readonly type?: string;
  /** Without it, the example of the type. */
  readonly dataText?: string;
  /** As the field has it; '' is now. */
  readonly at: string;
}

const NEW_EVENT: EventDraft = { at: '' };

/** An event to publish: that of the first type's example, until another one is chosen or written. */
export function usePublishing() {
  const types = useTypesByUse();
  const draft = useDraft('events/new', NEW_EVENT);
  const { type: chosen, dataText: typed, at } = draft.value;
  const publishing = usePublish();
  const type = types.find(({ name }) => name === chosen) ?? types[0];
  const dataText = typed ?? (type ? JSON.stringify(type.example, null, 2) : '');
  return {
    names: types.map(({ name }) => name),
    type: type?.name ?? '',
    dataText,
    isJson: parsedOrUndefined(dataText) !== undefined,
    // The text belongs to another type.
    choose: (name: string) => draft.change({ type: name, at }),
    write: (text: string) => draft.change({ ...draft.value, dataText: text }),
    at,
    schedule: (time: string) => draft.change({ ...draft.value, at: time }),
    draft,
    isBusy: publishing.isPending,
    error: publishing.error,
    publish: (onPublished: (eventId: string) => void) => {
      if (!type) return;
      publishing.mutate(
        { type: type.name, dataText, deliverAt: fromLocalInput(at) },
        {
          onSuccess: ({ id }) => {
            draft.forget();
            onPublished(id);
          },
        },
      );
    },
  };
}

/** Those that a webhook subscribes to are first: an event of another type arrives nowhere. */
function useTypesByUse(): readonly EventType[] {
  const { data: types = [] } = useOfferedTypes();
  const { data: webhooks = [] } = useAllWebhooks(true);
  const filters = new Set(webhooks.flatMap(({ events }) => events));
  const isUsed = (type: EventType) => [...filters].some((filter) => isSubscribed(type, filter));
  return types.toSorted((a, b) => Number(isUsed(b)) - Number(isUsed(a)));
}

interface PublishFieldsProps {
  readonly publishing: ReturnType<typeof usePublishing>;
}

export function PublishFields({ publishing }: PublishFieldsProps) {
  const { names, type, dataText, isJson, choose, write } = publishing;
  return (
    <>
      <SelectField label={t`Event type`} value={type} onChange={({ target }) => choose(target.value)}>
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </SelectField>
      <TextAreaField
        label={t`Its data`}
        rows={6}
        spellCheck={false}
        required
        error={isJson || dataText === '' ? undefined : t`This is not JSON.`}
        value={dataText}
        onChange={({ target }) => write(target.value)}
      />
    </>
  );
}

/** Leads to the page of what was published. */
export function PublishDialog({ onClose }: { readonly onClose: () => void }) {
  const publishing = usePublishing();
  const [, navigate] = useLocation();
  return (
    <FormDialog
      title={t`Publish an event`}
      draft={publishing.draft}
      submitLabel={t`Publish`}
      isBusy={publishing.isBusy}
      error={publishing.error}
      onSubmit={() => publishing.isJson && publishing.publish((id) => navigate(`/events/${id}`))}
      onClose={onClose}
    >
      <p>
        <Trans>It goes to every webhook that is subscribed to its type.</Trans>
      </p>
      <PublishFields publishing={publishing} />
      <TextField
        label={t`Deliver at`}
        hint={t`In your time zone. Empty: now.`}
        type="datetime-local"
        value={publishing.at}
        onChange={({ target }) => publishing.schedule(target.value)}
      />
    </FormDialog>
  );
}
