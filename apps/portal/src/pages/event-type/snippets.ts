export interface Snippet {
  readonly language: string;
  readonly code: string;
}

// untranslated: a heading of the documentation
const BEGINNING = '\n## Snippets\n';
const NEXT_PART = '\n## ';
/** A heading, perhaps some text, and the block of code below it. */
const BLOCK = /^### (.+)\n[^]*?^```\w+\n([^]*?)^```$/gm;

/** The functions of docs/verifying-signatures.md, one for each language. */
export function snippetsOf(page: string): readonly Snippet[] {
  const [, rest = ''] = page.split(BEGINNING);
  const [part = ''] = rest.split(NEXT_PART);
  return [...part.matchAll(BLOCK)].map(([, language = '', code = '']) => ({
    language,
    code: code.trimEnd(),
  }));
}
