import type { components } from '@hookferry/client';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { useEventTypes } from '../../api/event-type-queries';
import { queryKeys } from '../../api/query-keys';
import { Button } from '../../components/button';
import { SelectField } from '../../components/field';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { StatusBadge } from '../deliveries/status-badge';
import styles from './webhook-page.module.css';

type TestSent = components['schemas']['TestSent'];

// Whatever the webhook asked for first.
const ANY = '';

/** Sends the example of an event type to this webhook alone, and shows the result. */
export function TestPanel({ webhookId }: { readonly webhookId: string }) {
  const api = useApi();
  const { data: types = [] } = useEventTypes();
  const [type, setType] = useState(ANY);
  const sending = useMutation({
    mutationFn: () => {
      const request = { params: { path: { id: webhookId } }, body: type === ANY ? {} : { type } };
      return ask(api.POST('/v1/webhooks/{id}/test', request));
    },
  });
  return (
    <Section title="Test">
      <div className={styles['test']}>
        <SelectField label="Example of" value={type} onChange={(event) => setType(event.target.value)}>
          <option value={ANY}>the first type that it asked for</option>
          {types.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </SelectField>
        <Button isBusy={sending.isPending} onClick={() => sending.mutate()}>
          Send test event
        </Button>
      </div>
      {sending.error && <Problem error={sending.error} />}
      {sending.data && <Sent test={sending.data} />}
    </Section>
  );
}

function Sent({ test: { delivery_id: id } }: { readonly test: TestSent }) {
  const api = useApi();
  const { data } = useQuery({
    queryKey: queryKeys.delivery(id),
    queryFn: ({ signal }) => ask(api.GET('/v1/deliveries/{id}', { params: { path: { id } }, signal })),
  });
  return (
    <output className={styles['result']}>
      {data && <StatusBadge status={data.status} />}
      <Link href={`/deliveries/${id}`}>See the request and the response</Link>
    </output>
  );
}
