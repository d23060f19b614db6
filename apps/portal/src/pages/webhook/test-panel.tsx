import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { type Attempt, useDelivery } from '../../api/delivery-queries';
import type { EventType } from '../../api/event-type-queries';
import { Badge } from '../../components/badge';
import { Button } from '../../components/button';
import { SelectField } from '../../components/field';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { Time } from '../../components/time';
import { formatMs } from '../../language/formats';
import { responseOf } from '../deliveries/response-of';
import { useOfferedTypes } from '../event-types/offered-types';
import { isSubscribed } from '../webhook-form/event-choice';
import styles from './webhook-page.module.css';

// Whatever the webhook subscribes to first.
const ANY = '';

interface TestedWebhook {
  readonly id: string;
  /** Its filters of types. */
  readonly events: readonly string[];
}

/** Sends the example of an event type to this webhook alone, and shows the result. */
export function TestPanel({ webhook }: { readonly webhook: TestedWebhook }) {
  const [deliveryId, setDeliveryId] = useState<string>();
  return (
    <Section title={t`Test`}>
      <SendTest webhook={webhook} onSent={setDeliveryId} />
      {deliveryId !== undefined && <TestResult deliveryId={deliveryId} />}
    </Section>
  );
}

interface SendTestProps {
  readonly webhook: TestedWebhook;
  readonly onSent: (deliveryId: string) => void;
}

/** The choice of a type, those that the webhook subscribes to first, and the button that sends its example. */
export function SendTest({ webhook: { id, events }, onSent }: SendTestProps) {
  const api = useApi();
  const { data: types = [] } = useOfferedTypes(events);
  const subscribed = types.filter((type) => events.some((filter) => isSubscribed(type, filter)));
  const others = types.filter((type) => !subscribed.includes(type));
  const [type, setType] = useState(ANY);
  const sending = useMutation({
    mutationFn: () => {
      const request = { params: { path: { id } }, body: type === ANY ? {} : { event_type: type } };
      return ask(api.POST('/v1/webhooks/{id}/test', request));
    },
    onSuccess: ({ delivery_id: deliveryId }) => onSent(deliveryId),
  });
  return (
    <>
      <div className={styles['test']}>
        <SelectField label={t`Example of`} value={type} onChange={(event) => setType(event.target.value)}>
          <option value={ANY}>
            <Trans>the first type that it subscribes to</Trans>
          </option>
          <Types label={t`It subscribes to`} types={subscribed} />
          <Types label={t`Others`} types={others} />
        </SelectField>
        <Button isBusy={sending.isPending} onClick={() => sending.mutate()}>
          <Trans>Send test event</Trans>
        </Button>
      </div>
      {sending.error && <Problem error={sending.error} />}
    </>
  );
}

function Types({ label, types }: { readonly label: string; readonly types: readonly EventType[] }) {
  if (types.length === 0) return null;
  return (
    <optgroup label={label}>
      {types.map(({ name }) => (
        <option key={name}>{name}</option>
      ))}
    </optgroup>
  );
}

/** How the delivery of a test went: its last attempt, also while the retries go on. */
export function TestResult({ deliveryId: id }: { readonly deliveryId: string }) {
  const { data: delivery } = useDelivery(id);
  const last = delivery?.attempts.at(-1);
  return (
    <>
      <output className={styles['result']}>
        {last ? <Result attempt={last} nextAt={delivery?.next_attempt_at ?? null} /> : t`It is being sent.`}
        <Link href={`/deliveries/${id}`}>
          <Trans>See the request and the response</Trans>
        </Link>
      </output>
      {last?.response_body && <pre className={styles['response']}>{last.response_body}</pre>}
    </>
  );
}

function Result({ attempt, nextAt }: { readonly attempt: Attempt; readonly nextAt: string | null }) {
  const { outcome, response_status: status, duration_ms: durationMs } = attempt;
  const isGood = outcome === 'delivered';
  const [response, duration] = [
    responseOf({ last_outcome: outcome, last_response_status: status }) ?? '',
    formatMs(durationMs),
  ];
  return (
    <>
      <Badge tone={isGood ? 'good' : 'bad'}>
        {isGood
          ? t({ message: 'Accepted', context: 'receiver' })
          : t({ message: 'Failed', context: 'delivery' })}
      </Badge>
      <span>{t`${response} in ${duration}`}</span>
      {nextAt !== null && (
        <span>
          <Trans>
            It is sent again <Time at={nextAt} />.
          </Trans>
        </span>
      )}
    </>
  );
}
