import { join } from 'node:path/posix';

/** Lines end before this column. */
export const WIDTH = 100;

const CODE_INDENT = '    ';

/**
 * A piece of our pages for a terminal, wrapped. Commands are left as they are, so that they can be pasted; each ends its line.
 */
export function formatMarkdown(text: string): string {
  const blocks = text.split(/^ *```\w*\n([^]*?)^ *```$/m);
  const formatted = blocks.flatMap((block, index) =>
    index % 2 === 1 ? formatCode(block) : paragraphsOf(block).map(formatParagraph),
  );
  return `${formatted.join('\n\n')}\n`;
}

function formatCode(block: string): string {
  const lines = block.trimEnd().split('\n');
  return lines.map((line) => `${CODE_INDENT}${line.trim()}`).join('\n');
}

function paragraphsOf(block: string): readonly string[] {
  return block
    .split(/\n{2,}/)
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

function formatParagraph(paragraph: string): string {
  if (paragraph.startsWith('|')) return formatTable(paragraph);
  if (!paragraph.startsWith('- ')) return wrap(withoutMarks(paragraph));
  const items = paragraph.split(/^- /m).slice(1);
  return items.map(formatItem).join('\n');
}

/** Some have a list of their own. */
function formatItem(item: string): string {
  const [first = '', ...below] = item.split(/^ {2}- /m).map(withoutMarks);
  return [wrap(first, '- ', '  '), ...below.map((each) => wrap(each, '  - ', '    '))].join('\n');
}

/** A row is a paragraph: its first cell, then the others, each with the title of its column. */
function formatTable(table: string): string {
  const [titles = [], , ...rows] = table.split('\n').map(cellsOf);
  return rows.map(([first = '', ...cells]) => formatRow(first, cells, titles.slice(1))).join('\n');
}

function formatRow(first: string, cells: readonly string[], titles: readonly string[]): string {
  const named = cells.filter((cell) => cell !== '');
  if (titles.every((title) => title === '')) return wrap(`${first}: ${named.join(' ')}`, '', '  ');
  const texts = cells.flatMap((cell, index) => (cell === '' ? [] : [`${titles[index]}: ${cell}`]));
  return [wrap(first), ...texts.map((text) => wrap(text, '  ', '    '))].join('\n');
}

function cellsOf(line: string): readonly string[] {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => withoutMarks(cell.replaceAll('\\|', '|')));
}

/** A link keeps its address, unless it is the name of another alert. */
function withoutMarks(text: string): string {
  return text
    .replaceAll(/\[([^\]]+)\]\(([^)]+)\)/g, (_link, words: string, address: string) =>
      address.endsWith(`#${words.toLowerCase()}`) ? words : `${words} (${addressOf(address)})`,
    )
    .replaceAll('**', '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function addressOf(address: string): string {
  return /^\w+:/.test(address) ? address : join('docs', address);
}

function wrap(text: string, first = '', others = first): string {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  for (const word of text.split(' ')) {
    if (!isEmpty && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = others;
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line].join('\n');
}
