import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';

const PAGE = fileURLToPath(new URL('../../../docs/deliveries.md', import.meta.url));
const MODULE = 'virtual:outcome-texts';
const TABLE = /^\| Outcome .*\n\| -+.*\n((?:\|.*\n)+)/m;
const ROW = /^\| `(\w+)` +\| (.*?) *\|$/gm;

/** What the documentation says of each outcome, as a module: the portal shows the same words. */
export function outcomeTexts(): Plugin {
  return {
    name: 'outcome-texts',
    resolveId: (id) => (id === MODULE ? `\0${MODULE}` : null),
    async load(id) {
      if (id !== `\0${MODULE}`) return null;
      this.addWatchFile(PAGE);
      const [, table = ''] = TABLE.exec(await readFile(PAGE, 'utf8')) ?? [];
      const texts = Object.fromEntries(
        [...table.matchAll(ROW)].map(([, name, text = '']) => [name, plain(text)]),
      );
      if (Object.keys(texts).length === 0) this.error(`${PAGE} has no table of outcomes.`);
      return `export const outcomeTexts = ${JSON.stringify(texts)};`;
    },
  };
}

/** Without links and marks of Markdown. */
const plain = (text: string) => text.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1').replaceAll('`', '');
