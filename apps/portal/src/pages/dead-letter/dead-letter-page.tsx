import { t } from '@lingui/core/macro';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { queryKeys } from '../../api/query-keys';
import { CodeBlock } from '../../components/code-block';
import { CopyButton } from '../../components/copy-button';
import { Facts } from '../../components/facts';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { Skeleton } from '../../components/skeleton';
import { Time } from '../../components/time';
import { PageHeader } from '../page-header';
import { DeadLetterActions } from './dead-letter-actions';
import { indented, readDeadLetter } from './read-dead-letter';

const LIST = { href: '/dead-letters', label: t`Dead letters` };

interface DeadLetterPageProps {
  readonly params: { readonly id?: string };
}

/** One dead letter, with its data as they are stored. */
export function DeadLetterPage({ params: { id = '' } }: DeadLetterPageProps) {
  const api = useApi();
  const { data, error, refetch } = useQuery({
    queryKey: queryKeys.deadLetter(id),
    queryFn: async ({ signal }) =>
      readDeadLetter(
        await ask(api.GET('/v1/dead-letters/{id}', { params: { path: { id } }, parseAs: 'text', signal })),
      ),
  });
  if (!data) {
    return (
      <>
        <PageHeader title={t`Dead letter`} parent={LIST} />
        {error ? <Problem error={error} onRetry={() => void refetch()} /> : <Skeleton lines={8} />}
      </>
    );
  }
  const { letter, dataText } = data;
  const { account_id: accountId } = letter;
  return (
    <>
      <PageHeader title={letter.name} parent={LIST}>
        <DeadLetterActions id={id} queue={letter.queue} />
      </PageHeader>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      <Facts
        facts={{
          [t`Reason`]: letter.reason,
          [t({ message: 'Failed', context: 'time' })]: <Time at={letter.failed_at} />,
          [t`Queue`]: letter.queue,
          [t`Account`]: accountId === null ? '–' : <Link href={`/accounts/${accountId}`}>{accountId}</Link>,
          [t`Runs`]: letter.attempts_made,
          [t`Id`]: (
            <>
              <code>{id}</code> <CopyButton text={id} label={t`Copy the dead letter’s id`} />
            </>
          ),
        }}
      />
      <Section title={t`Data`}>
        <CodeBlock label={t`The job’s data`} text={indented(dataText)} />
      </Section>
    </>
  );
}
