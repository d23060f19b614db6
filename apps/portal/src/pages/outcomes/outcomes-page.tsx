import { t } from '@lingui/core/macro';
import { Link } from 'wouter';
import type { AttemptOutcome } from '../../api/delivery-queries';
import { Facts } from '../../components/facts';
import { Section } from '../../components/section';
import { outcomes } from '../deliveries/words';
import { PageHeader } from '../page-header';
import { type Advice, byOutcome, byStatus } from './advice';

const LIST = { href: '/deliveries', label: t`Deliveries` };

/** One outcome of an attempt with its meaning and advice, and a list of the others. */
export function OutcomesPage({
  params: { outcome = '' },
}: {
  readonly params: Readonly<Record<string, string>>;
}) {
  const advice = isOutcome(outcome) ? byOutcome[outcome] : undefined;
  const statuses = Object.entries(byStatus).filter(([status]) => outcome === `http_${status.charAt(0)}xx`);
  return (
    <>
      <PageHeader title={advice ? <code>{outcome}</code> : t`Outcomes`} parent={LIST} />
      {advice && (
        <Section title={t`What happened`}>
          <p>{textOf(advice)}</p>
        </Section>
      )}
      {statuses.length > 0 && (
        <Section title={t`By the status of the response`}>
          <Facts facts={Object.fromEntries(statuses.map(([status, each]) => [status, textOf(each)]))} />
        </Section>
      )}
      <Section title={t`All outcomes of an attempt`}>
        <Facts
          facts={Object.fromEntries(
            Object.entries(byOutcome).map(([name, { happened }]) => [
              outcomes[name as AttemptOutcome],
              <>
                {happened} <Link href={`/outcomes/${name}`}>{name}</Link>
              </>,
            ]),
          )}
        />
      </Section>
    </>
  );
}

function isOutcome(text: string): text is AttemptOutcome {
  return Object.hasOwn(byOutcome, text);
}

const textOf = ({ happened, toDo }: Advice) => `${happened} ${toDo}`.trim();
