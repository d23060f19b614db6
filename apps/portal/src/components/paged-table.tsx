import { type ReactNode, useEffect } from 'react';
import type { Pages } from '../api/use-pages';
import { DataTable, type DataTableProps } from './data-table';
import { HistoryEnd } from './history-end';
import { Problem } from './problem';
import { ReadOn } from './read-on';

export interface PagedTableProps<Row> extends Omit<DataTableProps<Row>, 'rows' | 'onEnd'> {
  readonly pages: Pages<Row>;
  /** Instead of a table without rows. */
  readonly empty: ReactNode;
}

/**
 * A list of the API as a table, read as far as the marked row at least. What was read stays when reading on, or again,
 * fails: the fault is said above it.
 */
export function PagedTable<Row>({ pages, empty, ...table }: PagedTableProps<Row>) {
  const { rows, error, refetch, hasMore, isCutShort, searchedTo, isReadingOn, readOn } = pages;
  const hasNone = rows?.length === 0;
  const { marked, rowId } = table;
  const isMissing = marked !== undefined && hasMore && rows?.every((row) => rowId(row) !== marked) === true;
  useEffect(() => {
    if (isMissing && !isReadingOn && !error) readOn();
  }, [isMissing, isReadingOn, error, readOn]);
  return (
    <>
      {error && <Problem error={error} onRetry={refetch} />}
      {hasNone && !hasMore && empty}
      {hasNone && hasMore && <ReadOn isBusy={isReadingOn} onReadOn={readOn} searchedTo={searchedTo} />}
      {!hasNone && (rows || !error) && (
        <DataTable {...table} rows={rows} {...(!isCutShort && { onEnd: readOn })} />
      )}
      {isCutShort && !error && <HistoryEnd isBusy={isReadingOn} onRetry={readOn} />}
    </>
  );
}
