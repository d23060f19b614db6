import { CopyButton } from './copy-button';
import styles from './code-block.module.css';

export interface CodeBlockProps {
  readonly text: string;
  /** What it is: read aloud. */
  readonly label: string;
}

/** Text as it is, to be read and copied. */
export function CodeBlock({ text, label }: CodeBlockProps) {
  return (
    <div className={styles['block']}>
      {/* A region that scrolls has to be reachable by the tab key. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
      <div className={styles['copy']}>
        <CopyButton text={text} label={`Copy: ${label}`} />
      </div>
    </div>
  );
}
