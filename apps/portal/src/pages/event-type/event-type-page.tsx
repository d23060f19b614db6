import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { type EventType, useEventType } from '../../api/event-type-queries';
import { ButtonLink } from '../../components/button-link';
import { CodeBlock } from '../../components/code-block';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { Skeleton } from '../../components/skeleton';
import { TextWithCode } from '../../components/text-with-code';
import { ChangesIfAny } from '../audit-log/changes-section';
import { EventOrigin } from '../event-types/event-origin';
import { PageHeader } from '../page-header';
import { VerificationSnippets } from './verification-snippets';

interface EventTypePageProps {
  readonly params: Readonly<Record<string, string>>;
}

/** An event type: its schema, an example, and how to receive it. */
export function EventTypePage({ params: { name = '' } }: EventTypePageProps) {
  const { data: type, error, refetch } = useEventType(name);
  return (
    <>
      <PageHeader
        title={name}
        parent={{ href: '/event-types', label: t`Event types` }}
        state={type && <EventOrigin type={type} />}
      >
        <ButtonLink href={`/overview?type=${encodeURIComponent(name)}`}>
          <Trans>Charts</Trans>
        </ButtonLink>
        <ButtonLink href={`/events?type=${encodeURIComponent(name)}`}>
          <Trans>Events of this type</Trans>
        </ButtonLink>
      </PageHeader>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!type && !error && <Skeleton lines={12} />}
      {type && <Details type={type} />}
      {/* Below what is as long as the type has it: nothing may move when that comes. */}
      {(type ?? error) && (
        <>
          <Section title={t`Verifying requests`}>
            <VerificationSnippets />
          </Section>
          <ChangesIfAny target={name} />
        </>
      )}
    </>
  );
}

function Details({ type: { name, description, example, schema } }: { readonly type: EventType }) {
  return (
    <>
      <p>
        {/* In the operator's language. */}
        <bdi>
          <TextWithCode text={description} />
        </bdi>
      </p>
      <Section title={t`Example of a request’s body`}>
        <CodeBlock text={JSON.stringify({ type: name, data: example }, null, 2)} label={t`Example body`} />
      </Section>
      <Section title={t`Schema of data`}>
        <CodeBlock text={JSON.stringify(schema, null, 2)} label={t`JSON Schema of data`} />
      </Section>
    </>
  );
}
