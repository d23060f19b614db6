import { useMemo, useState } from 'react';
import { type DeliveryWithAttempts, useDeliveryContent, useEventText } from '../../api/delivery-queries';
import { Button } from '../../components/button';
import { CodeBlock } from '../../components/code-block';
import { Empty } from '../../components/empty';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { Skeleton } from '../../components/skeleton';
import { CopyAsCurl } from './copy-as-curl';
import { isJson, memberText, prettyJson } from './raw-body';
import styles from './story.module.css';
import { VerifySignature } from './verify-signature';

/** The body of the request. */
export function BodySection({ delivery }: { readonly delivery: DeliveryWithAttempts }) {
  const content = useDeliveryContent(delivery.id);
  const [isRaw, setIsRaw] = useState(false);
  const body = content.data?.body ?? undefined;
  const shown = useMemo(
    () => (body === undefined || isRaw || !isJson(body) ? body : prettyJson(body)),
    [body, isRaw],
  );
  const { request_body: made = null, transformation_version: version } = delivery.attempts.at(-1) ?? {};

  const actions = body !== undefined && (
    <>
      <Button size="small" aria-pressed={isRaw} onClick={() => setIsRaw(!isRaw)}>
        As delivered
      </Button>
      <CopyAsCurl delivery={delivery} headers={content.data?.headers ?? {}} body={body} />
    </>
  );
  return (
    <>
      <Section title="Body" actions={actions}>
        {content.error && <Problem error={content.error} onRetry={() => void content.refetch()} />}
        {content.isPending && <Skeleton lines={4} />}
        {content.data !== undefined && body === undefined && (
          <Empty title="The payload was erased">
            <p>Its record stays; what it brought is gone for good.</p>
          </Empty>
        )}
        {shown !== undefined && made === null && <CodeBlock text={shown} label="Text of the body" />}
        {shown !== undefined && made !== null && (
          <div className={styles['beforeAndAfter']}>
            <BeforeTransformation eventId={delivery.event_id} isRaw={isRaw} />
            <div>
              <h3>After version {version} of the transformation</h3>
              <CodeBlock text={shown} label="Text of the body" />
            </div>
          </div>
        )}
      </Section>
      {body !== undefined && <VerifySignature delivery={delivery} body={body} />}
    </>
  );
}

interface BeforeProps {
  readonly eventId: string;
  readonly isRaw: boolean;
}

/** The input of the webhook's code. */
function BeforeTransformation({ eventId, isRaw }: BeforeProps) {
  const { data: text, error } = useEventText(eventId);
  const data = text === undefined ? undefined : memberText(text, 'data');
  return (
    <div>
      <h3>Data before</h3>
      {error && <Problem error={error} />}
      {data !== undefined && <CodeBlock text={isRaw ? data : prettyJson(data)} label="Data before" />}
    </div>
  );
}
