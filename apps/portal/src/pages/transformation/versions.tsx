import { useState } from 'react';
import {
  type TransformationVersion,
  useChangeTransformation,
  useVersions,
} from '../../api/transformation-queries';
import { Badge } from '../../components/badge';
import { Button } from '../../components/button';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { Time } from '../../components/time';
import { useToasts } from '../../components/toasts';
import { useCan } from '../../session/session-context';
import { type DiffLine, diffLines } from './line-diff';
import styles from './transformation.module.css';

interface VersionsProps {
  readonly webhookId: string;
  readonly inForce: number | undefined;
  /** As it stands in the editor. */
  readonly code: string;
  readonly onRestored: () => void;
}

/** Former versions of the code, with author and time. Each can be compared with the code in the editor, and restored. */
export function Versions({ webhookId, inForce, code, onRestored }: VersionsProps) {
  const mayChange = useCan('transform');
  const toasts = useToasts();
  const { data: versions, error, refetch } = useVersions(webhookId, inForce);
  const [shown, setShown] = useState<number>();
  const { mutate, isPending } = useChangeTransformation(webhookId);
  const restore = ({ version }: TransformationVersion) =>
    mutate(
      { kind: 'restore', version },
      {
        onSuccess: (now) => {
          onRestored();
          toasts.show(`The code of version ${version} is in use as version ${now?.version}.`);
        },
        onError: ({ message }) => toasts.fail(message),
      },
    );
  return (
    <Section title="Versions">
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {versions?.length === 0 && (
        <p>There is none yet. The latest 20 versions are kept, with their authors.</p>
      )}
      <ul className={styles['versions']}>
        {versions?.map((one) => (
          <li key={one.version}>
            <div className={styles['version']}>
              <strong>Version {one.version}</strong>
              <span>
                <Time at={one.saved_at} form="short" /> by <code>{one.saved_by}</code>
              </span>
              {one.version === inForce && <Badge tone="good">in force</Badge>}
              <span className={styles['versionButtons']}>
                <Button
                  size="small"
                  aria-expanded={shown === one.version}
                  aria-label={`Compare version ${one.version}`}
                  onClick={() => setShown(shown === one.version ? undefined : one.version)}
                >
                  Compare
                </Button>
                {mayChange && one.version !== inForce && (
                  <Button
                    size="small"
                    isBusy={isPending}
                    aria-label={`Go back to version ${one.version}`}
                    onClick={() => restore(one)}
                  >
                    Go back
                  </Button>
                )}
              </span>
            </div>
            {shown === one.version && <Difference version={one} code={code} />}
          </li>
        ))}
      </ul>
    </Section>
  );
}

const MARKS: Readonly<Record<DiffLine['kind'], string>> = { same: ' ', removed: '−', added: '+' };

/** From that version to the code in the editor. */
function Difference({ version, code }: { readonly version: TransformationVersion; readonly code: string }) {
  const lines = diffLines(version.code, code);
  const isSame = lines.every(({ kind }) => kind === 'same');
  return (
    <>
      <p className={styles['hint']}>
        {isSame ? 'The code above is the same.' : 'From it (−) to the code above (+):'}
      </p>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls has to be reachable by the tab key */}
      <section tabIndex={0} aria-label={`Version ${version.version}, compared`} className={styles['diff']}>
        <pre>
          {lines.map(({ kind, text }, index) => (
            <span key={index} className={styles[kind]}>
              {`${MARKS[kind]} ${text}\n`}
            </span>
          ))}
        </pre>
      </section>
    </>
  );
}
