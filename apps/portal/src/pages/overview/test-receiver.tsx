import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { useApi } from '../../api/api-context';
import { queryKeys } from '../../api/query-keys';
import { Button } from '../../components/button';
import { CodeBlock } from '../../components/code-block';
import { isJson, prettyJson } from '../../components/json-text';
import { Problem } from '../../components/problem';
import { locale } from '../../language/language';
import { type ReceivedRequest, receive } from '../../live/test-receiver';
import { useSession } from '../../session/session-context';
import styles from './first-run.module.css';

const MOST_SHOWN = 20;
const clock = new Intl.DateTimeFormat(locale, { timeStyle: 'medium' });

export interface TestReceiverState {
  readonly isOn: boolean;
  /** undefined: it is not connected yet. */
  readonly webhookId: string | undefined;
  /** The newest first. */
  readonly requests: readonly ReceivedRequest[];
  readonly error: Error | undefined;
  readonly switchTo: (isOn: boolean) => void;
}

/** A receiver in this page, over the stream that listeners have. It ends with what uses it. */
export function useTestReceiver(): TestReceiverState {
  const api = useApi();
  const queries = useQueryClient();
  const { id: sessionId } = useSession();
  const [isOn, setIsOn] = useState(false);
  const [webhookId, setWebhookId] = useState<string>();
  const [requests, setRequests] = useState<readonly ReceivedRequest[]>([]);
  const [error, setError] = useState<Error>();
  useEffect(() => {
    if (!isOn) return undefined;
    const ending = new AbortController();
    const readAgain = () => void queries.invalidateQueries({ queryKey: queryKeys.standings() });
    void receive({
      api,
      name: `portal-${sessionId}`,
      signal: ending.signal,
      onReady: (id) => {
        setWebhookId(id);
        readAgain();
      },
      onRequest: (request) => setRequests((former) => [request, ...former].slice(0, MOST_SHOWN)),
    })
      .catch((failure: unknown) => {
        setError(failure instanceof Error ? failure : new Error(String(failure)));
        setIsOn(false);
      })
      .finally(() => {
        setWebhookId(undefined);
        readAgain();
      });
    return () => ending.abort();
  }, [api, queries, sessionId, isOn]);
  const switchTo = (next: boolean) => {
    setError(undefined);
    setIsOn(next);
  };
  return { isOn, webhookId, requests, error, switchTo };
}

/** Takes the place of a receiver of one's own. */
export function TestReceiverSwitch({ receiver }: { readonly receiver: TestReceiverState }) {
  const { isOn, webhookId, error, switchTo } = receiver;
  return (
    <div className={styles['form']}>
      <p aria-live="polite">
        {!isOn && t`Without a receiver of your own, this page can receive, and show each request.`}
        {isOn &&
          (webhookId ? (
            <Trans>
              This page receives published events, as{' '}
              <Link href={`/webhooks/${webhookId}`}>
                <Trans>a webhook</Trans>
              </Link>
              , until you leave it.
            </Trans>
          ) : (
            t`This page connects…`
          ))}
      </p>
      <div>
        <Button size="small" onClick={() => switchTo(!isOn)}>
          {isOn ? t`Stop receiving` : t`Receive in this page`}
        </Button>
      </div>
      {error && <Problem error={error} />}
    </div>
  );
}

export function ReceivedRequests({ requests }: { readonly requests: readonly ReceivedRequest[] }) {
  return (
    <ul className={styles['requests']} aria-label={t`Received requests`} aria-live="polite">
      {requests.map(({ at, headers, body }, index) => (
        <li key={`${headers['webhook-id']} ${at.getTime()}`}>
          <details open={index === 0}>
            <summary>
              {clock.format(at)} <code>{headers['webhook-id']}</code>
            </summary>
            <CodeBlock text={isJson(body) ? prettyJson(body) : body} label={t`Received body`} />
            <CodeBlock
              text={Object.entries(headers)
                .map(([name, value]) => `${name}: ${value}`)
                .join('\n')}
              label={t`Received headers`}
            />
          </details>
        </li>
      ))}
    </ul>
  );
}
