import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useMemo, useState } from 'react';
import { type DeliveryWithAttempts, useDeliveryContent, useEventText } from '../../api/delivery-queries';
import { Button } from '../../components/button';
import { CodeBlock } from '../../components/code-block';
import { Empty } from '../../components/empty';
import { isJson, memberText, prettyJson } from '../../components/json-text';
import { Problem } from '../../components/problem';
import styles from './attempt-details.module.css';
import { CopyAsCurl } from './copy-as-curl';

/** The body of the last request, or of the one to come. */
export function RequestBody({ delivery }: { readonly delivery: DeliveryWithAttempts }) {
  const content = useDeliveryContent(delivery.id);
  const [isRaw, setIsRaw] = useState(false);
  const body = content.data?.body ?? undefined;
  const shown = useMemo(
    () => (body === undefined || isRaw || !isJson(body) ? body : prettyJson(body)),
    [body, isRaw],
  );
  const { request_body: made = null, transformation_version: version } = delivery.attempts.at(-1) ?? {};
  return (
    <>
      <div className={styles['bodyHead']}>
        <h3 className={styles['title']}>
          {made === null ? (
            <Trans>Body of the request</Trans>
          ) : (
            <Trans>Body, made by version {version} of the transformation</Trans>
          )}
        </h3>
        {body !== undefined && (
          <div className={styles['actions']}>
            <Button size="small" aria-pressed={isRaw} onClick={() => setIsRaw(!isRaw)}>
              <Trans>As delivered</Trans>
            </Button>
            <CopyAsCurl delivery={delivery} headers={content.data?.headers ?? {}} body={body} />
          </div>
        )}
      </div>
      {content.error && <Problem error={content.error} onRetry={() => void content.refetch()} />}
      {content.data !== undefined && body === undefined && (
        <Empty title={t`The payload was erased`}>
          <p>
            <Trans>It can’t be read or sent again. The record of the delivery stays.</Trans>
          </p>
        </Empty>
      )}
      {shown !== undefined && <CodeBlock text={shown} label={t`Body`} />}
      {shown !== undefined && made !== null && (
        <BeforeTransformation eventId={delivery.event_id} isRaw={isRaw} />
      )}
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
    <>
      <h3 className={styles['title']}>
        <Trans>Data before the transformation</Trans>
      </h3>
      {error && <Problem error={error} />}
      {data !== undefined && <CodeBlock text={isRaw ? data : prettyJson(data)} label={t`Data before`} />}
    </>
  );
}
