import { Fragment, useMemo, useState } from 'react';
import styles from './code-block.module.css';
import { CopyButton } from './copy-button';
import { isJson, type JsonLine, type JsonPart, jsonLines } from './json-text';

export interface CodeBlockProps {
  readonly text: string;
  /** The name, for screen readers. */
  readonly label: string;
}

/** Text as it is, to be read and copied. JSON has colours, and its members can be folded. */
export function CodeBlock({ text, label }: CodeBlockProps) {
  const lines = useMemo(() => linesOf(text), [text]);
  return (
    <div className={styles['block']}>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls has to be reachable by the tab key */}
      <div role="group" tabIndex={0} aria-label={label} className={styles['scroll']}>
        {lines ? <Json key={text} lines={lines} /> : <pre>{text}</pre>}
      </div>
      <div className={styles['copy']}>
        <CopyButton text={text} label={`Copy: ${label}`} />
      </div>
    </div>
  );
}

/** Characters. Each part is an element of the page: more than some ten thousand of them make it slow. */
const MOST_COLOURED = 50_000;

function linesOf(text: string): readonly JsonLine[] | undefined {
  const isShort = text.length <= MOST_COLOURED;
  return isShort && /^\s*[[{]/.test(text) && isJson(text) ? jsonLines(text) : undefined;
}

/** A member with fewer lines is seen at a glance. */
const FOLDABLE_LINES = 8;
/** A list with more would push the other members out of sight: it is folded at first. */
const LONG_LIST_LINES = 40;

function Json({ lines }: { readonly lines: readonly JsonLine[] }) {
  const [toggled, setToggled] = useState<ReadonlySet<number>>(new Set());
  const isFolded = (index: number) => toggled.has(index) !== (index > 0 && isLongList(lines, index));
  const toggle = (index: number) => {
    const next = new Set(toggled);
    if (!next.delete(index)) next.add(index);
    setToggled(next);
  };
  const shown = [];
  for (let index = 0; index < lines.length; index += 1) {
    const { parts = [], endsAt } = lines[index] ?? {};
    const canFold = endsAt !== undefined && lengthOf(lines, index) >= FOLDABLE_LINES;
    const folded = canFold && isFolded(index);
    shown.push(
      <Fragment key={index}>
        {canFold && (
          <button
            type="button"
            className={styles['fold']}
            aria-expanded={!folded}
            aria-label={`Lines of ${nameIn(parts)}`}
            onClick={() => toggle(index)}
          />
        )}
        <Parts parts={parts} />
        {folded && <span className={styles['folded']}>{` … ${lengthOf(lines, index)} lines `}</span>}
        {folded && <Parts parts={lines[endsAt]?.parts.filter(({ kind }) => kind !== 'space') ?? []} />}
        {'\n'}
      </Fragment>,
    );
    if (folded) index = endsAt;
  }
  return <pre className={styles['json']}>{shown}</pre>;
}

/** How many lines of it can be folded away. */
function lengthOf(lines: readonly JsonLine[], index: number): number {
  return (lines[index]?.endsAt ?? index) - index - 1;
}

function isLongList(lines: readonly JsonLine[], index: number): boolean {
  return lines[index]?.parts.at(-1)?.text === '[' && lengthOf(lines, index) >= LONG_LIST_LINES;
}

function nameIn(parts: readonly JsonPart[]): string {
  return parts.find(({ kind }) => kind === 'name')?.text.slice(1, -1) ?? 'the value';
}

function Parts({ parts }: { readonly parts: readonly JsonPart[] }) {
  return parts.map(({ kind, text }, index) =>
    kind === 'space' || kind === 'sign' ? (
      text
    ) : (
      <span key={index} className={styles[kind]}>
        {text}
      </span>
    ),
  );
}
