import { outcomeTexts } from 'virtual:outcome-texts';
import { Facts } from '../../components/facts';
import { Section } from '../../components/section';
import { PageHeader } from '../page-header';
import { advice } from './advice';

const LIST = { href: '/deliveries', label: 'Deliveries' };

/** One outcome of an attempt with its meaning and advice, and a list of the others. */
export function OutcomesPage({
  params: { outcome = '' },
}: {
  readonly params: Readonly<Record<string, string>>;
}) {
  const text = outcomeTexts[outcome];
  return (
    <>
      <PageHeader title={text === undefined ? 'Outcomes' : <code>{outcome}</code>} parent={LIST} />
      {text !== undefined && (
        <Section title="What happened">
          <p>{sentence(text)}</p>
          <p>{advice.get(outcome)}</p>
        </Section>
      )}
      <Section title="All outcomes of an attempt">
        <Facts facts={outcomeTexts} />
      </Section>
    </>
  );
}

/** The table speaks of the receiver once, at its beginning. */
function sentence(text: string): string {
  const whole = text.replace(/^it /, 'the receiver ').replace(/^its name /, 'the receiver’s name ');
  return `${whole.charAt(0).toUpperCase()}${whole.slice(1)}.`;
}
