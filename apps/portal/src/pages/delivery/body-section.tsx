import { useMemo, useState } from 'react';
import { type DeliveryWithAttempts, useDeliveryContent } from '../../api/delivery-queries';
import { Button } from '../../components/button';
import { CodeBlock } from '../../components/code-block';
import { Empty } from '../../components/empty';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { Skeleton } from '../../components/skeleton';
import { CopyAsCurl } from './copy-as-curl';
import { prettyJson } from './raw-body';
import { VerifySignature } from './verify-signature';

/** What the receiver gets. */
export function BodySection({ delivery }: { readonly delivery: DeliveryWithAttempts }) {
  const content = useDeliveryContent(delivery.id);
  const [isRaw, setIsRaw] = useState(false);
  const body = content.data?.body ?? undefined;
  const shown = useMemo(() => (body === undefined || isRaw ? body : prettyJson(body)), [body, isRaw]);

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
        {shown !== undefined && <CodeBlock text={shown} label="Body" />}
      </Section>
      {body !== undefined && <VerifySignature delivery={delivery} body={body} />}
    </>
  );
}
