// @ts-check
import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitepress';
import { navigation } from '../navigation.mjs';
import { nameOf } from '../reference.mjs';
import { SEARCH_WORDS } from '../search-words.mjs';

const read = (/** @type {string} */ path) =>
  JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'));
const { version } = read('package.json');
const resources = read('docs/openapi.json').tags.map((/** @type {{ name: string }} */ { name }) => ({
  text: nameOf(name),
  link: `/reference/${name}`,
}));

export default defineConfig({
  title: 'Hookferry',
  description: 'A webhook delivery service that you host yourself',
  srcDir: 'pages',
  outDir: 'dist',
  lastUpdated: false,
  head: [['link', { rel: 'icon', href: '/images/mark.svg' }]],
  vite: { plugins: [nameCarets()] },
  markdown: {
    // With a contrast of 4.5 and more on the block.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: {
      // As GitHub makes them, since the pages are read there too.
      slugify: (text) =>
        text
          .trim()
          .toLowerCase()
          .replace(/[^\p{L}\p{N}\s_-]/gu, '')
          .replace(/\s/g, '-'),
    },
    config: (md) => {
      breakLongCode(md);
      nameCells(md);
    },
  },
  themeConfig: {
    logo: '/images/mark.svg',
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/getting-started' },
      { text: 'Send', link: '/guides/publishing' },
      { text: 'Receive', link: '/guides/receiving' },
      { text: 'Portal', link: '/portal' },
      { text: 'Operate', link: '/guides/operating' },
      { text: 'API', link: '/reference', activeMatch: '^/reference' },
      {
        text: version,
        items: [
          { text: 'Changes', link: '/changelog' },
          { text: 'Upgrading', link: '/upgrading' },
          { text: 'Contributing', link: '/contributing' },
        ],
      },
    ],
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          searchOptions: {
            boost: { title: 4, words: 5, text: 2, titles: 1 },
            // What says how to do a thing comes before the list of all routes, and what was measured or changed.
            boostDocument: (/** @type {string} */ id) =>
              /^\/(reference|benchmarks|changelog|dependencies|inside|decisions|conformance|threat-model|documentation|\.|#)/.test(
                id,
              )
                ? 0.4
                : 1,
          },
          options: {
            fields: ['title', 'titles', 'text', 'words'],
            // When the site is built. The browser gets the index alone.
            extractField: (/** @type {any} */ section, /** @type {string} */ name) =>
              name === 'words' ? wordsOf(section) : section[name],
            // As people ask: little words say nothing of a page ("go" is a language), endings don't count, and `WebhooksBacklogGrows` is three words.
            // This runs in the browser too, so it can use nothing from outside.
            processTerm: (/** @type {string} */ term) => {
              const words = term.split(/(?<=[a-z])(?=[A-Z])/);
              return [...new Set([term, ...words])].flatMap((each) => {
                const word = each.toLowerCase();
                const little =
                  /^(a|about|after|all|am|an|and|any|are|as|at|be|been|but|by|can|could|did|do|does|each|every|everything|for|from|get|give|had|has|have|he|how|i|if|in|into|is|it|its|just|let|like|make|many|may|me|more|much|must|my|need|no|not|of|on|or|our|out|over|per|shall|she|should|so|some|than|that|the|their|them|then|there|these|they|this|those|to|too|up|use|want|was|we|were|what|when|where|which|while|who|why|will|with|would|you|your)$/;
                return little.test(word) ? [] : [word.replace(/(?<=\w{4})(ing|ed|es|s)$/, '')];
              });
            },
          },
        },
      },
    },
    sidebar: navigation(resources),
  },
});

/** What a page is searched by beside its text, which counts for its first section. */
function wordsOf(/** @type {{ id: string, titles: readonly string[] }} */ { id, titles }) {
  const page = id.replace(/^\//, '').replace(/(\.html)?#.*$/, '.md');
  return titles.length === 0 ? (SEARCH_WORDS[page] ?? '') : '';
}

/** Names such as `HISTORY_MOVE_AFTER` may go on in the next line, or they would push the columns beside them out of the page. */
function breakLongCode(/** @type {import('vitepress').MarkdownRenderer} */ md) {
  const draw = md.renderer.rules.code_inline;
  md.renderer.rules.code_inline = (tokens, index, ...rest) =>
    (draw?.(tokens, index, ...rest) ?? '').replace(
      />([^<]+)</,
      (_, text) => `>${text.replace(/[_./,:=-](?=\w)/g, '$&<wbr>')}<`,
    );
}

/** On a phone each row of a table is a card, and each cell says what its column is. */
function nameCells(/** @type {import('vitepress').MarkdownRenderer} */ md) {
  const ROLES = /** @type {Record<string, string>} */ ({
    table_open: 'table',
    thead_open: 'rowgroup',
    tbody_open: 'rowgroup',
    tr_open: 'row',
    th_open: 'columnheader',
    td_open: 'cell',
  });
  md.core.ruler.push('cells', ({ tokens }) => {
    /** @type {string[]} */
    let names = [];
    let column = 0;
    tokens.forEach((token, index) => {
      const role = ROLES[token.type];
      if (role !== undefined) token.attrSet('role', role);
      if (token.type === 'thead_open') names = [];
      if (token.type === 'tr_open') column = 0;
      if (token.type === 'th_open')
        names.push((tokens[index + 1]?.content ?? '').replace(/[`*]|\]\(.*?\)|\[/g, ''));
      if (token.type === 'td_open') {
        const name = names[column] ?? '';
        if (column > 0 && name !== '') token.attrSet('data-column', name);
        column += 1;
      }
    });
  });
}

/**
 * A group of the navigation is a button, and has a caret that is one too, which programs that read a page aloud can't tell apart. The
 * caret becomes a picture, and the group says whether it is open.
 * @returns {import('vite').Plugin}
 */
function nameCarets() {
  const CARET = /role="button"\s+aria-label="toggle section"(\s+@click[^]*?)tabindex="0"/;
  return {
    name: 'name-carets',
    enforce: 'pre',
    transform(code, id) {
      if (!id.endsWith('VPSidebarItem.vue')) return undefined;
      if (!CARET.test(code))
        throw new Error('VPSidebarItem.vue has changed: look whether its caret is still a button.');
      return code
        .replace(CARET, 'aria-hidden="true"$1')
        .replace(
          ':role="itemRole"',
          ':role="itemRole" :aria-expanded="collapsible ? !collapsed : undefined"',
        );
    },
  };
}
