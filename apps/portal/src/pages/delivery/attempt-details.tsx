import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import type { Attempt } from '../../api/delivery-queries';
import { Badge } from '../../components/badge';
import { CodeBlock } from '../../components/code-block';
import { isJson, prettyJson } from '../../components/json-text';
import { Time } from '../../components/time';
import { formatMs } from '../../language/formats';
import { useCan } from '../../session/session-context';
import { outcomes } from '../deliveries/words';
import styles from './attempt-details.module.css';
import { Waterfall } from './waterfall';

const TRIGGERS: Readonly<Record<Attempt['trigger'], string>> = {
  schedule: t`by schedule`,
  manual: t`by hand`,
  replay: t`by a replay`,
  test: t`as a test`,
};

/** Outcomes of attempts that ended before the request. */
const NOTHING_SENT: ReadonlySet<Attempt['outcome']> = new Set(['transform_error', 'token_error']);

interface AttemptDetailsProps {
  readonly attempt: Attempt;
  readonly isOpen: boolean;
  /** The body of the request, where it is read apart from the attempt. */
  readonly children: ReactNode;
}

/** One attempt: what was sent and what came back, then when and why, and how long it took. */
export function AttemptDetails({ attempt, isOpen, children }: AttemptDetailsProps) {
  const { number, trigger, outcome, response_status: status, timings, batch_id: batchId } = attempt;
  return (
    <details className={styles['attempt']} open={isOpen}>
      <summary className={styles['summary']}>
        <strong>
          <Trans>Attempt {number}</Trans>
        </strong>
        <Badge tone={outcome === 'delivered' ? 'good' : 'bad'}>
          {status === null ? outcomes[outcome] : `HTTP ${status}`}
        </Badge>
        <span>{formatMs(timings.total_ms)}</span>
        <span className={styles['soft']}>{TRIGGERS[trigger]}</span>
      </summary>
      <div className={styles['content']}>
        {attempt.error !== null && (
          <p className={styles['failure']}>
            <bdi>{attempt.error}</bdi>
          </p>
        )}
        <div className={styles['sides']}>
          <section className={styles['content']} aria-label={t`Request of attempt ${number}`}>
            {children || <MadeBody attempt={attempt} />}
            {NOTHING_SENT.has(outcome) ? (
              <p className={styles['soft']}>
                <Trans>Nothing was sent.</Trans>
              </p>
            ) : (
              <Headers title={t`Headers as sent`} headers={attempt.request_headers} />
            )}
          </section>
          <section className={styles['content']} aria-label={t`Response to attempt ${number}`}>
            <AttemptResponse attempt={attempt} />
          </section>
        </div>
        <p className={styles['soft']}>
          <WhenAndWhere attempt={attempt} />
        </p>
        {batchId !== null && (
          <p>
            <Trans>
              It went together with other events, in the request <code>{batchId}</code>.
            </Trans>
          </p>
        )}
        <Waterfall attempt={attempt} />
      </div>
    </details>
  );
}

function WhenAndWhere({ attempt }: { readonly attempt: Attempt }) {
  const { started_at: at, remote_address: address } = attempt;
  // Which process it was tells those who run it something, and nobody else.
  const worker = useCan('operate') ? attempt.worker : null;
  if (worker !== null && address !== null) {
    return (
      <Trans>
        Began <Time at={at} /> at {worker}, to <code>{address}</code>
      </Trans>
    );
  }
  if (worker !== null) {
    return (
      <Trans>
        Began <Time at={at} /> at {worker}
      </Trans>
    );
  }
  if (address !== null) {
    return (
      <Trans>
        Began <Time at={at} />, to <code>{address}</code>
      </Trans>
    );
  }
  return (
    <Trans>
      Began <Time at={at} />
    </Trans>
  );
}

/** The body that the webhook's code made. Without code it is the event's own, which the page shows once. */
function MadeBody({ attempt }: { readonly attempt: Attempt }) {
  const { number, request_body: body, transformation_version: version } = attempt;
  if (body === null) return null;
  return (
    <>
      <h3 className={styles['title']}>
        <Trans>Body, made by version {version} of the transformation</Trans>
      </h3>
      <CodeBlock text={body} label={t`Body that attempt ${number} sent`} />
    </>
  );
}

function AttemptResponse({ attempt }: { readonly attempt: Attempt }) {
  const { number, response_status: status, response_headers: headers, response_body: body } = attempt;
  if (status === null)
    return (
      <p className={styles['soft']}>
        <Trans>There was no response.</Trans>
      </p>
    );
  return (
    <>
      {body === null || body === '' ? (
        <p className={styles['soft']}>
          <Trans>The response had no body, or none is kept.</Trans>
        </p>
      ) : (
        <>
          <div className={styles['bodyHead']}>
            <h3 className={styles['title']}>
              <Trans>Body of the response</Trans>
            </h3>
          </div>
          <CodeBlock
            text={isJson(body) ? prettyJson(body) : body}
            label={t`Body of the response to attempt ${number}`}
          />
        </>
      )}
      {headers && <Headers title={t`Headers of the response (HTTP ${status})`} headers={headers} />}
    </>
  );
}

interface HeadersProps {
  readonly title: string;
  readonly headers: Readonly<Record<string, string>>;
}

function Headers({ title, headers }: HeadersProps) {
  return (
    <table className={styles['headers']} dir="ltr">
      <caption className={styles['title']} dir="auto">
        {title}
      </caption>
      <tbody>
        {Object.entries(headers).map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
