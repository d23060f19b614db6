import type { components } from '@hookferry/client';
import { Badge } from '../../components/badge';
import styles from './webhook-form.module.css';

type Tried = components['schemas']['FilterTried'];
type Result = components['schemas']['FilterResult'];
type Condition = components['schemas']['FilterCondition'];

/** The result of trying a filter: the events that pass, and the reasons. */
export function FilterVerdicts({ tried: { tried: count, matched, results } }: { readonly tried: Tried }) {
  if (count === 0) return <p>There was no such event yet.</p>;
  return (
    <>
      <p>{`${matched} of ${count} events pass.`}</p>
      <ul className={styles['verdicts']}>
        {results.map((result, index) => (
          <li key={result.event_id ?? index}>
            <Verdict result={result} />
          </li>
        ))}
      </ul>
    </>
  );
}

function Verdict({
  result: { event_id: id, event_type: type, matches, because },
}: {
  readonly result: Result;
}) {
  return (
    <>
      <p className={styles['verdict']}>
        {matches === null && <Badge tone="neutral">Erased</Badge>}
        {matches === true && <Badge tone="good">Sent</Badge>}
        {matches === false && <Badge tone="neutral">Left out</Badge>}
        <code>{type}</code> {id && <code>{id}</code>}
      </p>
      {matches === false && (
        <p className={styles['hint']}>
          {because
            .filter(({ holds }) => !holds)
            .map(inWords)
            .join('; ')}
        </p>
      )}
    </>
  );
}

function inWords({ path, operator, expected, found }: Condition): string {
  const there = found === undefined ? 'is not there' : `is ${JSON.stringify(found)}`;
  return `${path} ${there}, asked for: ${operator} ${JSON.stringify(expected)}`;
}
