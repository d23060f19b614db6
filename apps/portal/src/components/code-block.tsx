import { plural, t } from '@lingui/core/macro';
import { useMemo, useState } from 'react';
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
    <div className={styles['block']} dir="ltr">
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex, jsx-a11y/prefer-tag-over-role -- what scrolls has to be reachable by the tab key, and no tag is a group without more */}
      <div role="group" tabIndex={0} aria-label={label} className={styles['scroll']}>
        {lines ? <Json key={text} lines={lines} /> : <pre>{text}</pre>}
      </div>
      <div className={styles['copy']}>
        <CopyButton text={text} label={t`Copy: ${label}`} />
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
  return (
    <pre className={styles['json']}>
      {shownOf(lines, isFolded).map((index) => (
        <Line
          key={index}
          lines={lines}
          index={index}
          isFolded={isFolded(index)}
          onToggle={() => toggle(index)}
        />
      ))}
    </pre>
  );
}

/** The lines that are in no folded member. */
function shownOf(lines: readonly JsonLine[], isFolded: (index: number) => boolean): readonly number[] {
  const shown: number[] = [];
  let next = 0;
  while (next < lines.length) {
    shown.push(next);
    const { endsAt = next } = lines[next] ?? {};
    next = (isFolded(next) ? endsAt : next) + 1;
  }
  return shown;
}

interface LineProps {
  readonly lines: readonly JsonLine[];
  readonly index: number;
  readonly isFolded: boolean;
  readonly onToggle: () => void;
}

function Line({ lines, index, isFolded, onToggle }: LineProps) {
  const { parts = [], endsAt = index } = lines[index] ?? {};
  const count = lengthOf(lines, index);
  const name = nameIn(parts);
  return (
    <>
      {count >= FOLDABLE_LINES && (
        <button
          type="button"
          className={styles['fold']}
          aria-expanded={!isFolded}
          aria-label={name === undefined ? t`Lines of the value` : t`Lines of ${name}`}
          onClick={onToggle}
        />
      )}
      <Parts parts={parts} />
      {isFolded && (
        <span className={styles['folded']}>
          {' … '}
          {plural(count, { one: '# line', other: '# lines' })}{' '}
        </span>
      )}
      {isFolded && <Parts parts={lines[endsAt]?.parts.filter(({ kind }) => kind !== 'space') ?? []} />}
      {'\n'}
    </>
  );
}

/** How many lines of it can be folded away. */
function lengthOf(lines: readonly JsonLine[], index: number): number {
  return (lines[index]?.endsAt ?? index) - index - 1;
}

function isLongList(lines: readonly JsonLine[], index: number): boolean {
  return lines[index]?.parts.at(-1)?.text === '[' && lengthOf(lines, index) >= LONG_LIST_LINES;
}

function nameIn(parts: readonly JsonPart[]): string | undefined {
  return parts.find(({ kind }) => kind === 'name')?.text.slice(1, -1);
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
