import { choosePaint, type Paint } from './colours';
import { formatPairs, formatTable } from './format-table';
import { visible } from './visible';

/** How a value is shown in a table. */
export type Column<Item> = readonly [head: string, read: (item: Item) => unknown, paint?: PaintCell];
type PaintCell = (paint: Paint, text: string) => string;

export interface OutputOptions {
  readonly out: NodeJS.WriteStream;
  readonly error: NodeJS.WriteStream;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Asked when there is something to print: flags are known by then. */
  readonly isJson: () => boolean;
}

/** Results go to stdout, as text for people or as JSON for programs; everything else goes to stderr. */
export class Output {
  readonly paint: Paint;
  readonly #options: OutputOptions;

  constructor(options: OutputOptions) {
    this.#options = options;
    this.paint = choosePaint(options.out, options.environment);
  }

  get isJson(): boolean {
    return this.#options.isJson();
  }

  /** Whether somebody looks at what goes to stderr. */
  get isWatched(): boolean {
    return this.#options.error.isTTY;
  }

  get errorStream(): NodeJS.WriteStream {
    return this.#options.error;
  }

  get outStream(): NodeJS.WriteStream {
    return this.#options.out;
  }

  write(text: string): void {
    this.#options.out.write(text);
  }

  /** For people: a hint, progress, a warning. */
  note(text: string): void {
    this.#options.error.write(`${text}\n`);
  }

  /** One document, or a sentence that says the same. */
  result(document: unknown, sentence: string): void {
    this.write(this.isJson ? toJson(document) : `${sentence}\n`);
  }

  /** One document, or its members below each other. */
  document<Item>(item: Item, columns: readonly Column<Item>[]): void {
    if (this.isJson) return this.write(toJson(item));
    this.write(formatPairs(columns.map((column) => [column[0], this.#cell(column, item)])));
  }

  /** A line of JSON each, or a table. */
  list<Item>(items: readonly Item[], columns: readonly Column<Item>[], ifNone: string): void {
    if (this.isJson) return this.write(items.map((item) => `${JSON.stringify(item)}\n`).join(''));
    if (items.length === 0) return this.note(ifNone);
    const head = columns.map(([name]) => this.paint('bold', name.toUpperCase()));
    const rows = items.map((item) => columns.map((column) => this.#cell(column, item)));
    this.write(formatTable(head, rows));
  }

  #cell<Item>([, read, paintCell]: Column<Item>, item: Item): string {
    const text = textOf(read(item));
    return paintCell ? paintCell(this.paint, text) : text;
  }
}

function toJson(document: unknown): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}

function textOf(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-';
  if (Array.isArray(value)) return value.map(textOf).join(', ');
  if (typeof value === 'string') return visible(value);
  return visible(JSON.stringify(value));
}
