import { camelCase } from '@hookferry/core/domain/endpoint-settings';
import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { type FormEvent, useState } from 'react';
import { ProblemError, type ValidationError } from '../../api/problem';
import { Button } from '../../components/button';
import { ButtonLink } from '../../components/button-link';
import { TextField } from '../../components/field';
import { Problem } from '../../components/problem';
import { AdvancedSettings } from './advanced-settings';
import { type Draft, emptyDraft } from './draft';
import { EventPicker } from './event-picker';
import { faultAt } from './fault-at';
import { FilterField } from './filter-field';
import { UrlHint } from './url-hint';
import { useDraftChecks } from './use-draft-checks';
import styles from './webhook-form.module.css';

interface WebhookFormProps {
  /** Without any change. */
  readonly initial: Draft;
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
  readonly submitLabel: string;
  readonly cancelHref: string;
  readonly isBusy: boolean;
  /** Why the service did not take it. */
  readonly error: Error | null;
  /** The draft is without fault. */
  readonly onSubmit: () => void;
  readonly onCancel: () => void;
  /** The only URL that headers' values may stay with which are not shown; left out: they may go anywhere. */
  readonly keptFor?: string | undefined;
  /** Fills the form again, after the service did not take it because somebody else changed the webhook. */
  readonly onReload?: () => void;
}

/** The settings of a webhook. Each member is checked while it is typed; all of them when the form is sent. */
export function WebhookForm(props: WebhookFormProps) {
  const { initial, draft, submitLabel, cancelHref, isBusy, error, keptFor, onReload } = props;
  const [isSent, setIsSent] = useState(false);
  const [refused, setRefused] = useState<Draft>();
  const faultsOfDraft = useDraftChecks();
  const validationErrors = faultsOfDraft(draft, keptFor, initial.auth);
  const shown = [
    ...validationErrors.filter(({ pointer }) => isSent || isTyped(pointer, initial, draft)),
    // The service's faults stay until something is changed.
    ...(refused === draft ? faultsOfResponse(error) : []),
  ];
  const change = (part: Partial<Draft>) => props.onChange({ ...draft, ...part });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setIsSent(true);
    setRefused(draft);
    if (validationErrors.length === 0) props.onSubmit();
  };

  return (
    <form className={styles['form']} noValidate onSubmit={submit}>
      <TextField
        label="URL"
        hint={<UrlHint />}
        type="url"
        autoComplete="off"
        placeholder="https://example.com/webhooks"
        value={draft.url}
        error={faultAt(shown, '/url')}
        onChange={(event) => change({ url: event.target.value })}
      />
      <TextField
        label={t`Description`}
        hint={t`A name for people. Lists show it in place of the URL.`}
        value={draft.description}
        error={faultAt(shown, '/description')}
        onChange={(event) => change({ description: event.target.value })}
      />
      <EventPicker
        filters={draft.events}
        error={faultAt(shown, '/events')}
        onChange={(events) => change({ events })}
      />
      <FilterField
        filter={draft.filter}
        events={draft.events}
        error={faultAt(shown, '/filter')}
        onChange={(filter) => change({ filter })}
      />
      <AdvancedSettings draft={draft} initial={initial} validationErrors={shown} onChange={change} />
      {error && refused === draft && (
        <Problem
          error={error}
          retryLabel={t`Load it as it is now`}
          onRetry={isConflict(error) ? onReload : undefined}
        />
      )}
      <div className={styles['actions']}>
        <Button type="submit" kind="primary" isBusy={isBusy}>
          {submitLabel}
        </Button>
        <ButtonLink href={cancelHref} onClick={props.onCancel}>
          <Trans>Cancel</Trans>
        </ButtonLink>
      </div>
    </form>
  );
}

/** True if the member at fault was changed: an empty field that was not reached yet shows no fault. */
function isTyped(pointer: string, initial: Draft, draft: Draft): boolean {
  const member = camelCase(pointer.split('/')[1] ?? '');
  return (
    isMember(member) &&
    member !== 'events' &&
    JSON.stringify(draft[member]) !== JSON.stringify(initial[member])
  );
}

function isMember(name: string): name is keyof Draft {
  return Object.hasOwn(emptyDraft, name);
}

function isConflict(error: Error): boolean {
  return error instanceof ProblemError && error.code === 'precondition_failed';
}

function faultsOfResponse(error: Error | null): readonly ValidationError[] {
  return error instanceof ProblemError ? error.validationErrors : [];
}
