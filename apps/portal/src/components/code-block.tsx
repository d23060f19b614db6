import styles from './code-block.module.css';
import { CopyButton } from './copy-button';

export interface CodeBlockProps {
  readonly text: string;
  /** The name, for screen readers. */
  readonly label: string;
}

/** Text as it is, to be read and copied. */
export function CodeBlock({ text, label }: CodeBlockProps) {
  return (
    <div className={styles['block']}>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls has to be reachable by the tab key */}
      <section tabIndex={0} aria-label={label} className={styles['scroll']}>
        <pre>{text}</pre>
      </section>
      <div className={styles['copy']}>
        <CopyButton text={text} label={`Copy: ${label}`} />
      </div>
    </div>
  );
}
