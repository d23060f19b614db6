import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
import { Badge } from '../../components/badge';
import { isolated } from '../../language/formats';
import styles from './webhook-form.module.css';

type Tried = components['schemas']['FilterTried'];
type Result = components['schemas']['FilterResult'];
type Condition = components['schemas']['FilterCondition'];

/** The result of trying a filter: the events that pass, and the reasons. */
export function FilterVerdicts({ tried: { tried: count, matched, results } }: { readonly tried: Tried }) {
  if (count === 0)
    return (
      <p>
        <Trans>There was no such event yet.</Trans>
      </p>
    );
  return (
    <>
      <p>
        <Plural value={count} one={`${matched} of # event passes.`} other={`${matched} of # events pass.`} />
      </p>
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
  result: { event_id: id, event_type: type, matches, left_out_by: failures },
}: {
  readonly result: Result;
}) {
  return (
    <>
      <p className={styles['verdict']}>
        {matches === null && (
          <Badge tone="neutral">
            <Trans>Erased</Trans>
          </Badge>
        )}
        {matches === true && (
          <Badge tone="good">
            <Trans>Sent</Trans>
          </Badge>
        )}
        {matches === false && (
          <Badge tone="neutral">
            <Trans context="event">Left out</Trans>
          </Badge>
        )}
        <code>{type}</code> {id && <code>{id}</code>}
      </p>
      {matches === false && <p className={styles['hint']}>{failures.map(inWords).join('; ')}</p>}
    </>
  );
}

/** A condition that left an event out. One that holds stands within `$not`. */
export function inWords({ found, holds, ...condition }: Condition): string {
  const operator = holds ? `$not ${condition.operator}` : condition.operator;
  const [path, wanted] = [isolated(condition.path), isolated(JSON.stringify(condition.expected))];
  if (found === undefined) return t`${path} is not there, asked for: ${operator} ${wanted}`;
  const value = isolated(JSON.stringify(found));
  return t`${path} is ${value}, asked for: ${operator} ${wanted}`;
}
