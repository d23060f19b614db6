import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { lazy, Suspense, useState } from 'react';
import { ProblemError } from '../../api/problem';
import {
  type Transformation,
  useChangeTransformation,
  useTransformation,
} from '../../api/transformation-queries';
import { type ReadWebhook, useWebhook } from '../../api/webhook-queries';
import { Button } from '../../components/button';
import { CodeBlock } from '../../components/code-block';
import { ConfirmDialog } from '../../components/confirm-dialog';
import { DraftNotice, useDraft } from '../../components/drafts';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { Skeleton } from '../../components/skeleton';
import { useToasts } from '../../components/toasts';
import { useCan } from '../../session/session-context';
import { nameOf } from '../deliveries/webhook-names';
import { PageHeader } from '../page-header';
import { TemplateChoice } from './template-choice';
import styles from './transformation.module.css';
import { TransformationState } from './transformation-state';
import { type Fault, TryPanel } from './try-panel';
import { Versions } from './versions';

// Larger than all the rest of the page, and of no use to those who may only look.
const CodeEditor = lazy(async () => ({ default: (await import('./code-editor')).CodeEditor }));

// untranslated: code
const BEGINNING = `export default function (event) {
  return { body: { type: event.type, data: event.data } };
}
`;

interface TransformationPageProps {
  readonly params: Readonly<Record<string, string>>;
}

/** The code that makes what a webhook is sent: to be written, tried on events, and gone back from. */
export function TransformationPage({ params: { id = '' } }: TransformationPageProps) {
  const { data: webhook, error, refetch } = useWebhook(id);
  const version = webhook?.transformation?.version;
  const { data: saved, error: fault, refetch: readAgain } = useTransformation(id, version);
  const isRead = webhook !== undefined && (version === undefined || saved !== undefined);
  return (
    <>
      <PageHeader
        title={t`Transformation`}
        parent={{ href: `/webhooks/${id}`, label: webhook ? nameOf(webhook) : t`Webhook` }}
        state={webhook && <TransformationState webhook={webhook} />}
      >
        {webhook && saved && <Switches webhook={webhook} saved={saved} />}
      </PageHeader>
      {error && !webhook && <Problem error={error} onRetry={() => void refetch()} />}
      {fault && !saved && <Problem error={fault} onRetry={() => void readAgain()} />}
      {!isRead && !error && !fault && <Skeleton lines={12} />}
      {isRead && (
        <Workbench key={webhook.id} webhook={webhook} saved={version === undefined ? undefined : saved} />
      )}
    </>
  );
}

interface SwitchesProps {
  readonly webhook: ReadWebhook;
  readonly saved: Transformation;
}

function Switches({ webhook, saved: { code } }: SwitchesProps) {
  const mayChange = useCan('transform');
  const [isRemoving, setIsRemoving] = useState(false);
  const toasts = useToasts();
  const { mutate, isPending, error, reset } = useChangeTransformation(webhook.id);
  if (!mayChange || webhook.transformation === null) return null;
  const { enabled } = webhook.transformation;
  const close = () => {
    setIsRemoving(false);
    reset();
  };
  return (
    <>
      <Button
        isBusy={isPending}
        onClick={() =>
          mutate({ kind: 'put', code, enabled: !enabled }, { onError: ({ message }) => toasts.fail(message) })
        }
      >
        {enabled ? t`Switch off` : t`Switch on`}
      </Button>
      <Button onClick={() => setIsRemoving(true)}>
        <Trans>Remove</Trans>
      </Button>
      <ConfirmDialog
        isOpen={isRemoving}
        isDangerous
        title={t`Remove the transformation?`}
        confirmLabel={t`Remove`}
        isBusy={isPending}
        error={error}
        onConfirm={() => mutate({ kind: 'remove' }, { onSuccess: close })}
        onClose={close}
      >
        <p>
          <Trans>The webhook gets events unchanged again. The versions stay, and can be restored.</Trans>
        </p>
      </ConfirmDialog>
    </>
  );
}

interface WorkbenchProps {
  readonly webhook: ReadWebhook;
  readonly saved: Transformation | undefined;
}

/** The code as it is being written, which is what is tried and compared. */
function Workbench({ webhook, saved }: WorkbenchProps) {
  const mayChange = useCan('transform');
  const draft = useDraft<string | undefined>(`webhooks/${webhook.id}/transformation`, undefined);
  const [fault, setFault] = useState<Fault>();
  const code = draft.value ?? saved?.code ?? BEGINNING;
  const write = (text: string) => {
    draft.change(text === saved?.code ? undefined : text);
    setFault(undefined);
  };
  return (
    <>
      <Section title={t`Code`}>
        <DraftNotice draft={draft} />
        {mayChange ? (
          <Editing
            webhook={webhook}
            saved={saved}
            code={code}
            isChanged={saved === undefined || draft.value !== undefined}
            faultyLine={fault?.line ?? undefined}
            onWrite={write}
            onFault={setFault}
            onSaved={draft.discard}
          />
        ) : saved ? (
          <CodeBlock text={saved.code} label={t`Code`} />
        ) : (
          <p>
            <Trans>The webhook has no transformation: it gets events unchanged.</Trans>
          </p>
        )}
      </Section>
      {(mayChange || saved) && <TryPanel webhook={webhook} code={code} onFault={setFault} />}
      <Versions
        webhookId={webhook.id}
        inForce={webhook.transformation?.version}
        code={code}
        onRestored={draft.discard}
      />
    </>
  );
}

interface EditingProps extends WorkbenchProps {
  readonly code: string;
  readonly isChanged: boolean;
  readonly faultyLine: number | undefined;
  readonly onWrite: (code: string) => void;
  readonly onFault: (fault: Fault | undefined) => void;
  readonly onSaved: () => void;
}

function Editing({ webhook, saved, code, isChanged, faultyLine, onWrite, onFault, onSaved }: EditingProps) {
  const toasts = useToasts();
  const saving = useChangeTransformation(webhook.id);
  const enabled = webhook.transformation?.enabled ?? true;
  const former = saved?.version;
  const save = () =>
    saving.mutate(
      { kind: 'put', code, enabled },
      {
        onSuccess: (now) => {
          onSaved();
          const version = now?.version ?? '';
          toasts.show(
            enabled
              ? t`Version ${version} is saved and in use.`
              : t`Version ${version} is saved, and switched off.`,
          );
        },
        onError: (error) => onFault(faultIn(error)),
      },
    );
  return (
    <div className={styles['editing']}>
      <TemplateChoice onChoose={onWrite} />
      <Suspense fallback={<div className={styles['editor']} aria-busy="true" />}>
        <CodeEditor
          label={t`Code of the transformation`}
          code={code}
          faultyLine={faultyLine}
          onChange={onWrite}
        />
      </Suspense>
      <p className={styles['hint']}>
        <Trans>
          Tab indents. To leave the editor by keyboard, press Escape, then Tab. Everybody who may see the
          webhook can read the code: do not put secrets into it.
        </Trans>
      </p>
      {saving.error && <Problem error={saving.error} />}
      <div className={styles['buttons']}>
        <Button kind="primary" disabled={!isChanged} isBusy={saving.isPending} onClick={save}>
          {saved ? t`Save a new version` : t`Save`}
        </Button>
        {saved && isChanged && (
          <Button onClick={() => onWrite(saved.code)}>
            <Trans>Back to version {former}</Trans>
          </Button>
        )}
      </div>
    </div>
  );
}

/** The place of the fault in refused code, if the response names it. */
function faultIn(error: Error): Fault | undefined {
  const [found] = error instanceof ProblemError ? error.validationErrors : [];
  const [, line] = /^line (\d+)/.exec(found?.detail ?? '') ?? [];
  return line === undefined ? undefined : { line: Number(line) };
}
