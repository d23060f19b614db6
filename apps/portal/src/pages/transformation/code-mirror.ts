import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { EditorState, StateEffect, StateField } from '@codemirror/state';
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';

interface EditorOptions {
  readonly parent: ShadowRoot;
  readonly label: string;
  readonly code: string;
  readonly onChange: (code: string) => void;
}

/**
 * An editor for JavaScript in a shadow root: there its styles are constructed sheets, which the page's security
 * policy lets pass, where elsewhere they would be elements.
 */
export function openEditor({ parent, label, code, onChange }: EditorOptions): EditorView {
  return new EditorView({
    parent,
    root: parent,
    state: EditorState.create({
      doc: code,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        javascript(),
        syntaxHighlighting(colours),
        faultyLine,
        keymap.of([{ key: 'Escape', run: letTabOut }, indentWithTab, ...defaultKeymap, ...historyKeymap]),
        EditorView.domEventHandlers({
          blur: (_event, view) => view.setTabFocusMode(false),
          beforeinput: replaceSelection,
        }),
        EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0', spellcheck: 'false' }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) onChange(state.doc.toString());
        }),
        theme,
      ],
    }),
  });
}

/** Replaces all of it, which can be undone. */
export function setCode(view: EditorView, code: string): void {
  const { doc } = view.state;
  if (doc.toString() !== code) view.dispatch({ changes: { from: 0, to: doc.length, insert: code } });
}

/** Marks a line, and brings it into view. @param line 1, 2, …; undefined: none is marked */
export function markLine(view: EditorView, line: number | undefined): void {
  const isThere = line !== undefined && line <= view.state.doc.lines;
  const at = isThere ? view.state.doc.line(line).from : undefined;
  view.dispatch({
    effects: [markedAt.of(at), ...(at === undefined ? [] : [EditorView.scrollIntoView(at, { y: 'center' })])],
  });
}

/** Tab indents, so keyboards could not leave the editor: after Escape, Tab moves on. */
function letTabOut(view: EditorView): boolean {
  view.setTabFocusMode(true);
  return true;
}

/**
 * Browsers give what is typed over a selection the look of what was there, as inline styles, which the page's policy
 * refuses: so it is not they who put it in.
 */
function replaceSelection({ inputType, data, isComposing }: InputEvent, view: EditorView): boolean {
  const { main } = view.state.selection;
  if (inputType !== 'insertText' || data === null || isComposing || main.empty) return false;
  view.dispatch(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true });
  return true;
}

const markedAt = StateEffect.define<number | undefined>();
const mark = Decoration.line({ class: 'faulty' });

const faultyLine = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    const told = transaction.effects.find((effect) => effect.is(markedAt));
    if (told) return told.value === undefined ? Decoration.none : Decoration.set(mark.range(told.value));
    // An edit may have corrected the fault.
    return transaction.docChanged ? Decoration.none : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword], color: 'var(--busy-text)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--good-text)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warning-text)' },
  { tag: tags.comment, color: 'var(--text-quiet)', fontStyle: 'italic' },
]);

const theme = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'var(--surface)', fontSize: '12px' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': {
    color: 'var(--text-quiet)',
    backgroundColor: 'var(--surface)',
    borderRight: '1px solid var(--border)',
  },
  '.cm-activeLine': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--surface-sunken)' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
    backgroundColor: 'light-dark(#cfe1fb, #24446e)',
  },
  '&.cm-focused .cm-matchingBracket': {
    backgroundColor: 'var(--surface-hover)',
    outline: '1px solid var(--border-strong)',
  },
  '.cm-line.faulty, &.cm-focused .cm-line.faulty': {
    backgroundColor: 'var(--bad-surface)',
    boxShadow: 'inset 3px 0 var(--bad-text)',
  },
});
