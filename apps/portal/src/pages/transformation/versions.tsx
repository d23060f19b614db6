import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
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
import { isolated } from '../../language/formats';
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
          const newVersion = now?.version ?? '';
          toasts.show(t`The code of version ${version} is in use as version ${newVersion}.`);
        },
        onError: ({ message }) => toasts.fail(message),
      },
    );
  return (
    <Section title={t`Versions`}>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {versions?.length === 0 && (
        <p>
          <Trans>There is none yet. The latest 20 versions are kept, with their authors.</Trans>
        </p>
      )}
      <ul className={styles['versions']}>
        {versions?.map((one) => {
          const { version, saved_by_name: name } = one;
          const author = name === null ? one.saved_by : isolated(name);
          return (
            <li key={version}>
              <div className={styles['version']}>
                <strong>
                  <Trans>Version {version}</Trans>
                </strong>
                <span>
                  <Trans>
                    <Time at={one.saved_at} form="short" /> by <code>{author}</code>
                  </Trans>
                </span>
                {version === inForce && (
                  <Badge tone="good">
                    <Trans>in force</Trans>
                  </Badge>
                )}
                <span className={styles['versionButtons']}>
                  <Button
                    size="small"
                    aria-expanded={shown === version}
                    aria-label={t`Compare version ${version}`}
                    onClick={() => setShown(shown === version ? undefined : version)}
                  >
                    <Trans>Compare</Trans>
                  </Button>
                  {mayChange && version !== inForce && (
                    <Button
                      size="small"
                      isBusy={isPending}
                      aria-label={t`Go back to version ${version}`}
                      onClick={() => restore(one)}
                    >
                      <Trans>Go back</Trans>
                    </Button>
                  )}
                </span>
              </div>
              {shown === version && <Difference version={one} code={code} />}
            </li>
          );
        })}
      </ul>
    </Section>
  );
}

const MARKS: Readonly<Record<DiffLine['kind'], string>> = { same: ' ', removed: '−', added: '+' };

/** From that version to the code in the editor. */
function Difference({
  version: { version, code: former },
  code,
}: {
  readonly version: TransformationVersion;
  readonly code: string;
}) {
  const lines = diffLines(former, code);
  const isSame = lines.every(({ kind }) => kind === 'same');
  return (
    <>
      <p className={styles['hint']}>
        {isSame ? t`The code above is the same.` : t`From it (−) to the code above (+):`}
      </p>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls has to be reachable by the tab key */}
      <section tabIndex={0} aria-label={t`Version ${version}, compared`} className={styles['diff']}>
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
