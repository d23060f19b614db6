import type { Command } from 'commander';
import type { Cli } from '../cli';
import { parsePositive } from '../input/parse-flags';
import type { Column } from '../output/output';

const DEFAULT_LIMIT = 50;
const MAX_PAGE = 200;

export interface PagingFlags {
  readonly limit: number;
  readonly all?: boolean;
}

/** How many items of a list to show. */
export function addPaging(command: Command): Command {
  return command
    .option('--limit <n>', 'how many to list, newest first', parsePositive, DEFAULT_LIMIT)
    .option('--all', 'all of them');
}

/** The size of a page: as many as are wanted, and as a page may hold. */
export function pageSize({ limit, all }: PagingFlags): number {
  return all ? MAX_PAGE : Math.min(limit, MAX_PAGE);
}

export interface Listing<Item> {
  readonly items: AsyncIterable<Item>;
  readonly columns: readonly Column<Item>[];
  readonly ifNone: string;
  /** Whether the list ended because its older part is not reachable. */
  readonly isCutShort?: () => boolean;
}

/** Prints as many as are wanted, and says if there are more. */
export async function printPages<Item>(
  { output }: Cli,
  { limit, all }: PagingFlags,
  { items, columns, ifNone, isCutShort = () => false }: Listing<Item>,
): Promise<void> {
  const shown: Item[] = [];
  const most = all ? Number.POSITIVE_INFINITY : limit;
  let hasMore = false;
  for await (const item of items) {
    hasMore = shown.length >= most;
    if (hasMore) break;
    shown.push(item);
  }
  output.list(shown, columns, ifNone);
  if (hasMore) output.note(`There are more than these ${shown.length}: --limit N, or --all.`);
  else if (isCutShort())
    output.note(
      'The list ends here, because the history, which has the older items, is not reachable. Try again later.',
    );
}
