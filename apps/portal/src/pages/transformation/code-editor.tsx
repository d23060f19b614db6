import type { EditorView } from '@codemirror/view';
import { useEffect, useRef, useState } from 'react';
import { markLine, openEditor, setCode } from './code-mirror';
import styles from './transformation.module.css';

export interface CodeEditorProps {
  /** The name, for screen readers. */
  readonly label: string;
  readonly code: string;
  /** 1, 2, …: where something is wrong. */
  readonly faultyLine: number | undefined;
  readonly onChange: (code: string) => void;
}

/** Code that can be written in. Escape, then Tab, leads out of it. */
export function CodeEditor({ label, code, faultyLine, onChange }: CodeEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<EditorView>();
  const latest = useRef({ code, onChange });
  useEffect(() => {
    latest.current = { code, onChange };
  });

  useEffect(() => {
    const element = host.current;
    if (!element) return undefined;
    const parent = element.shadowRoot ?? element.attachShadow({ mode: 'open' });
    const opened = openEditor({
      parent,
      label,
      code: latest.current.code,
      onChange: (text) => latest.current.onChange(text),
    });
    setView(opened);
    return () => opened.destroy();
  }, [label]);

  useEffect(() => view && setCode(view, code), [view, code]);
  useEffect(() => view && markLine(view, faultyLine), [view, faultyLine]);

  return <div ref={host} className={styles['editor']} />;
}
