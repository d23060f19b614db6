import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { useDelivery } from '../../api/delivery-queries';
import { useFirstDeliveries } from '../../api/event-queries';
import { type EventType, useEventTypes } from '../../api/event-type-queries';
import { queryKeys } from '../../api/query-keys';
import { useCreateWebhook, type WebhookWithHealth } from '../../api/webhook-queries';
import { Button } from '../../components/button';
import { CodeBlock } from '../../components/code-block';
import { CopyButton } from '../../components/copy-button';
import { TextAreaField, TextField } from '../../components/field';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { formatList } from '../../language/formats';
import { useCan } from '../../session/session-context';
import { responseOf } from '../deliveries/response-of';
import { StatusBadge } from '../deliveries/status-badge';
import { useWebhookNames } from '../deliveries/use-webhook-names';
import { nameOf } from '../deliveries/webhook-names';
import { PublishFields, usePublishing } from '../events/publishing';
import { SendTest, TestResult } from '../webhook/test-panel';
import styles from './first-run.module.css';
import { schemaOf } from './schema-of';
import { ReceivedRequests, TestReceiverSwitch, useTestReceiver } from './test-receiver';

/** A test event has one delivery. */
interface Sent {
  readonly eventId?: string;
  readonly deliveryId?: string;
}

interface FirstRunProps {
  readonly webhooks: readonly WebhookWithHealth[];
  readonly onDone: () => void;
}

/** Four steps from nothing to an event that has arrived, each done here. */
export function FirstRun({ webhooks, onDone }: FirstRunProps) {
  const mayChange = useCan('webhooks');
  const mayAddTypes = useCan('operate');
  const mayPublish = useCan('publish');
  const [sent, setSent] = useState<Sent>();
  const receiver = useTestReceiver();
  const mayReceive = useCan('secrets') && mayChange;
  const webhook = webhooks.find(({ id }) => id === receiver.webhookId) ?? webhooks[0];
  const hasArrived = useHasArrived(sent);
  const { data = [] } = useEventTypes();
  const types = data.filter(({ origin }) => origin !== 'operational');
  return (
    <Section
      title={t`First steps`}
      actions={
        <Button size="small" onClick={onDone}>
          <Trans>Hide</Trans>
        </Button>
      }
    >
      <Allowed />
      <ol className={styles['steps']}>
        <Step title={t`Know your event types`} isDone={types.length > 0}>
          <Types types={types} />
          {mayAddTypes && <AddType />}
        </Step>
        <Step title={t`Add a webhook`} isDone={webhook !== undefined}>
          {!mayChange && (
            <p>
              <Trans>Your link does not allow you to add one.</Trans>
            </p>
          )}
          {mayChange && !receiver.isOn && <AddWebhook webhook={webhook} />}
          {mayReceive && <TestReceiverSwitch receiver={receiver} />}
        </Step>
        <Step title={mayPublish ? t`Publish an event` : t`Send it a test event`} isDone={sent !== undefined}>
          {!webhook && (
            <p>
              <Trans>Add a webhook first.</Trans>
            </p>
          )}
          {webhook && mayPublish && <Publish onPublished={(eventId) => setSent({ eventId })} />}
          {webhook && !mayPublish && mayChange && (
            <SendTest webhook={webhook} onSent={(deliveryId) => setSent({ deliveryId })} />
          )}
          {webhook && !mayPublish && !mayChange && (
            <p>
              <Trans>Your link does not allow you to send one.</Trans>
            </p>
          )}
        </Step>
        <Step title={t`See it arrive`} isDone={hasArrived}>
          {!sent && (
            <p>
              <Trans>The response appears here.</Trans>
            </p>
          )}
          {sent?.deliveryId && <TestResult deliveryId={sent.deliveryId} />}
          {sent?.eventId && <Arrivals eventId={sent.eventId} here={receiver.webhookId} />}
        </Step>
      </ol>
      {receiver.requests.length > 0 && <ReceivedRequests requests={receiver.requests} />}
    </Section>
  );
}

/** Whether a receiver has accepted what was sent. */
function useHasArrived({ eventId, deliveryId }: Sent = {}): boolean {
  const test = useDelivery(deliveryId);
  const { data: deliveries = [] } = useFirstDeliveries(eventId);
  return [test.data, ...deliveries].some((delivery) => delivery?.status === 'delivered');
}

/** What the session may do here, before somebody looks for a button that it does not have. */
function Allowed() {
  const [mayChange, maySeeSecrets, mayPublish] = [useCan('webhooks'), useCan('secrets'), useCan('publish')];
  const all: readonly (readonly [isAllowed: boolean, what: string])[] = [
    [mayChange, t`add webhooks and send them test events`],
    [mayPublish, t`publish events`],
    [mayChange && maySeeSecrets, t`receive in this page`],
  ];
  const those = (isWanted: boolean) =>
    all.filter(([isAllowed]) => isAllowed === isWanted).map(([, what]) => what);
  const [allowed, others] = [those(true), those(false)];
  const [can, cannot] = [formatList(allowed), formatList(others, 'or')];
  return (
    <p>
      {allowed.length > 0
        ? t`With your link you can ${can}.`
        : t`Your link allows you to look, and to change nothing.`}
      {allowed.length > 0 && others.length > 0 && (
        <>
          {' '}
          <Trans>You cannot {cannot}: ask for a link that allows it.</Trans>
        </>
      )}
    </p>
  );
}

interface StepProps {
  readonly title: string;
  readonly isDone: boolean;
  readonly children: ReactNode;
}

function Step({ title, isDone, children }: StepProps) {
  return (
    <li>
      <h3>
        {title}
        {isDone && (
          <span className={styles['done']}>
            {' '}
            <Trans>✓ done</Trans>
          </span>
        )}
      </h3>
      {children}
    </li>
  );
}

const MOST_NAMED = 5;

function Types({ types }: { readonly types: readonly EventType[] }) {
  if (types.length === 0)
    return (
      <p>
        <Trans>There is no event type yet.</Trans>
      </p>
    );
  const more = types.length - MOST_NAMED;
  return (
    <ul className={styles['types']}>
      {types.slice(0, MOST_NAMED).map(({ name }) => (
        <li key={name}>
          <Link href={`/event-types/${encodeURIComponent(name)}`}>{name}</Link>
        </li>
      ))}
      {more > 0 && (
        <li>
          <Link href="/event-types">
            <Plural value={more} one="and # more" other="and # more" />
          </Link>
        </li>
      )}
    </ul>
  );
}

/** For operators: a type by an example of its data, from which its schema is proposed. */
function AddType() {
  const api = useApi();
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [example, setExample] = useState('');
  const schema = schemaOf(example);
  const adding = useMutation({
    mutationFn: (proposed: object) => {
      const body = {
        // untranslated: it is stored, for viewers in any language
        description: `Added from an example: ${name}.`,
        schema: proposed,
        example: JSON.parse(example),
      };
      const params = { path: { name } };
      return ask(
        api.PUT('/v1/event-types/{name}', { params, body: body as components['schemas']['EventTypeInput'] }),
      );
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: queryKeys.eventTypes() }),
  });
  const added = adding.data?.name;
  const add = (event: FormEvent) => {
    event.preventDefault();
    if (schema) adding.mutate(schema);
  };
  return (
    <details>
      <summary>
        <Trans>Add a type from an example</Trans>
      </summary>
      <form className={styles['form']} onSubmit={add}>
        <TextField
          label={t`Name`}
          placeholder="order.created"
          required
          value={name}
          onChange={({ target }) => setName(target.value)}
        />
        <TextAreaField
          label={t`Example of its data`}
          placeholder='{"id":"ord_1","total":99.5}'
          spellCheck={false}
          error={example === '' || schema ? undefined : t`This is not JSON.`}
          value={example}
          onChange={({ target }) => setExample(target.value)}
        />
        {schema && <CodeBlock text={JSON.stringify(schema, null, 2)} label={t`Proposed schema`} />}
        {adding.error && <Problem error={adding.error} />}
        <Button type="submit" kind="primary" disabled={!schema || name === ''} isBusy={adding.isPending}>
          <Trans>Add the type</Trans>
        </Button>
        <p aria-live="polite">{added !== undefined && t`${added} was added.`}</p>
      </form>
    </details>
  );
}

function AddWebhook({ webhook }: { readonly webhook: WebhookWithHealth | undefined }) {
  const [url, setUrl] = useState('');
  const queries = useQueryClient();
  const creation = useCreateWebhook();
  const create = (event: FormEvent) => {
    event.preventDefault();
    const done = () => queries.invalidateQueries({ queryKey: queryKeys.standings() });
    creation.mutate({ url, events: ['*'] }, { onSuccess: () => void done() });
  };
  if (creation.data) {
    const { id, secret } = creation.data;
    return (
      <p>
        <Trans>
          <Link href={`/webhooks/${id}`}>{url}</Link> gets every type. Its requests are signed with{' '}
          <code>{secret}</code>
        </Trans>{' '}
        <CopyButton text={secret ?? ''} label={t`Copy the secret`} />
      </p>
    );
  }
  if (webhook) return <Link href={`/webhooks/${webhook.id}`}>{nameOf(webhook)}</Link>;
  return (
    <form className={styles['form']} onSubmit={create}>
      <TextField
        label="URL"
        type="url"
        placeholder="https://example.com/webhooks"
        required
        value={url}
        onChange={({ target }) => setUrl(target.value)}
      />
      {creation.error && <Problem error={creation.error} />}
      <div className={styles['buttons']}>
        <Button type="submit" kind="primary" isBusy={creation.isPending}>
          <Trans>Add</Trans>
        </Button>
        <Link href="/webhooks/new">
          <Trans>With all settings</Trans>
        </Link>
      </div>
    </form>
  );
}

interface PublishProps {
  readonly onPublished: (eventId: string) => void;
}

function Publish({ onPublished }: PublishProps) {
  const publishing = usePublishing();
  const publish = (event: FormEvent) => {
    event.preventDefault();
    publishing.publish(onPublished);
  };
  return (
    <form className={styles['form']} onSubmit={publish}>
      <PublishFields publishing={publishing} />
      {publishing.error && <Problem error={publishing.error} />}
      <Button type="submit" kind="primary" disabled={!publishing.isJson} isBusy={publishing.isBusy}>
        <Trans>Publish</Trans>
      </Button>
    </form>
  );
}

interface ArrivalsProps {
  readonly eventId: string;
  /** The webhook of the receiver in this page. */
  readonly here: string | undefined;
}

/** The deliveries of a published event so far. */
function Arrivals({ eventId, here }: ArrivalsProps) {
  const { data } = useFirstDeliveries(eventId);
  const names = useWebhookNames();
  return (
    <div aria-live="polite">
      {data?.length === 0 && (
        <p>
          <Trans>No webhook has got it yet. Is one subscribed to its type?</Trans>
        </p>
      )}
      {data?.map((delivery) => (
        <p key={delivery.id}>
          <StatusBadge status={delivery.status} /> {responseOf(delivery) ?? t`It is being sent.`}{' '}
          <Link href={`/deliveries/${encodeURIComponent(delivery.id)}`}>
            {delivery.webhook_id === here
              ? t`this page`
              : (names.get(delivery.webhook_id) ?? delivery.webhook_id)}
          </Link>
        </p>
      ))}
      <Link href={`/events/${eventId}`}>
        <Trans>See the event</Trans>
      </Link>
    </div>
  );
}
