import { generateMessageId } from '@lingui/message-utils/generateMessageId';
import PO from 'pofile';
import type { Plugin } from 'vite';
import { compile, expandMacros } from './expand-macros.mjs';

/** Texts in the code become calls of Lingui, and message files (`.po`) modules that export `messages`: the translation of each text by its id. */
export function texts(): Plugin {
  return {
    name: 'texts',
    enforce: 'pre',
    transform: {
      filter: { id: /\.(?:tsx?|po)$/ },
      handler(code, id) {
        return id.endsWith('.po')
          ? { code: moduleOf(code), map: null }
          : (expandMacros(code, id, { i18n: 'language/loaded-language.ts' }) ?? null);
      },
    },
  };
}

function moduleOf(file: string): string {
  const { items } = PO.parse(file);
  const messages = items.map(({ msgid, msgctxt, msgstr: [translation = ''] }) => [
    generateMessageId(msgid, msgctxt ?? ''),
    compile(translation),
  ]);
  // Read as JSON, it is there sooner than as code.
  return `export const messages = JSON.parse(${JSON.stringify(JSON.stringify(Object.fromEntries(messages)))});`;
}
