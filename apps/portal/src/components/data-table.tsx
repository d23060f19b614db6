import {
  type KeyboardEvent,
  type MouseEvent,
  memo,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { Link } from 'wouter';
import styles from './data-table.module.css';
import { useIsNarrow } from './use-is-narrow';
import { FocusedRow, ROW_LINK, useRowFocus } from './use-row-focus';
import { scrollToRow, useRowsInView } from './use-rows-in-view';

const ROW_HEIGHT = 40;
/** On phones, where a row has two lines. As in the style sheet. */
const TALL_ROW_HEIGHT = 56;
const SKELETON_ROWS = 8;

export interface Column<Row> {
  readonly id: string;
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** A second line of the cell on phones: of a column that has no room there. */
  readonly second?: (row: Row) => ReactNode;
  /** Of the table's width, such as `12rem` or `20%`. Without it a column shares what is left. */
  readonly width?: string;
  /** Only where there is room for it: from 641 or from 960 px on. */
  readonly from?: 'medium' | 'wide';
  /** Its cell names the row, and is the link where rows are links. Without one it is the first column. */
  readonly isName?: true;
}

/** Of a column of times that tell how long ago. On phones, the columns beside it need the room. */
export const AGO_WIDTH = 'clamp(88px, 26vw, 112px)';

export interface DataTableProps<Row> {
  /** The name of the list, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  /** undefined: they are being loaded. */
  readonly rows: readonly Row[] | undefined;
  /** How many rows there will be, so that what is below has its place before they are loaded. Default: 8. */
  readonly expected?: number | undefined;
  readonly rowId: (row: Row) => string;
  /** The page of a row: all of the row is a link to it. */
  readonly hrefOf?: (row: Row) => string;
  /** Where a row has no page: Enter, or a click anywhere on the row. */
  readonly onOpen?: (row: Row) => void;
  /** The id of the row that a link leads to: it is marked, and gets the focus once it is there. */
  readonly marked?: string | undefined;
  /** Called when the last rows come into view. */
  readonly onEnd?: () => void;
}

/**
 * A table whose rows are all of one height, and of which only those in view are in the page. Arrows, Home, End, Page
 * Up and Page Down go from row to row, Enter opens one.
 */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, columns: all, rows, expected = SKELETON_ROWS, rowId, hrefOf, onOpen, marked, onEnd } = props;
  const isNarrow = useIsNarrow();
  const columns = useMemo(() => all.filter(({ from }) => !isNarrow || from === undefined), [all, isNarrow]);
  const rowHeight = isNarrow && columns.some(({ second }) => second) ? TALL_ROW_HEIGHT : ROW_HEIGHT;
  const body = useRef<HTMLTableSectionElement>(null);
  const count = rows?.length ?? 0;
  const top = useTopOf(body);
  const { first, end } = useRowsInView({ count, height: rowHeight, top });
  const markedAt = marked === undefined ? -1 : (rows?.findIndex((row) => rowId(row) === marked) ?? -1);
  const scrollTo = (index: number) => scrollToRow(index, { height: rowHeight, top });
  const focus = useRowFocus({ body, count, marked, markedAt, scrollTo });

  const isAtEnd = count > 0 && end >= count;
  useEffect(() => {
    if (isAtEnd) onEnd?.();
  }, [isAtEnd, onEnd]);

  return (
    <table
      className={`${styles['table']} ${rowHeight === TALL_ROW_HEIGHT ? styles['tall'] : ''}`}
      aria-label={label}
      aria-rowcount={count + 1}
      aria-busy={!rows}
    >
      <thead>
        <tr>
          {columns.map(({ id, header, width, from = '' }) => (
            <th key={id} scope="col" className={styles[from]} style={{ width }}>
              {header}
            </th>
          ))}
        </tr>
      </thead>
      <tbody ref={body}>
        {!rows &&
          Array.from({ length: expected }, (_, index) => <SkeletonRow key={index} columns={columns} />)}
        <Spacer height={first * rowHeight} />
        {rows?.slice(first, end).map((row, i) => {
          const index = first + i;
          return (
            <DataRow
              key={rowId(row)}
              row={row}
              index={index}
              columns={columns}
              href={hrefOf?.(row)}
              isNarrow={isNarrow}
              isMarked={index === markedAt}
              isTabStop={index === focus.current || (i === 0 && !focus.isAmong(first, end))}
              onFocus={focus.onFocus}
              onKeyDown={focus.onKeyDown}
              onOpen={onOpen}
            />
          );
        })}
        <Spacer height={(count - end) * rowHeight} />
      </tbody>
    </table>
  );
}

interface DataRowProps<Row> {
  readonly row: Row;
  readonly index: number;
  readonly columns: readonly Column<Row>[];
  readonly href: string | undefined;
  readonly isNarrow: boolean;
  readonly isMarked: boolean;
  readonly isTabStop: boolean;
  readonly onFocus: (index: number) => void;
  readonly onKeyDown: (event: KeyboardEvent<HTMLElement>) => void;
  readonly onOpen: ((row: Row) => void) | undefined;
}

function DataRow<Row>(props: DataRowProps<Row>) {
  const { row, index, columns, href, isNarrow, isMarked, isTabStop, onFocus, onKeyDown, onOpen } = props;
  const [isFocused, setIsFocused] = useState(false);
  const open = (event: MouseEvent<HTMLElement> | KeyboardEvent<HTMLElement>) => {
    // A link or a button in a row does what it does alone.
    if ((event.target as Element).closest('a, button')) return;
    if (href === undefined) return onOpen?.(row);
    // What stands above the link of the row, such as a time, is clicked for the link.
    const link = event.currentTarget.querySelector(`[${ROW_LINK}]`);
    link?.dispatchEvent(new window.MouseEvent('click', event.nativeEvent));
  };
  return (
    <tr
      data-index={index}
      // The row of the headings is the first.
      aria-rowindex={index + 2}
      aria-current={isMarked || undefined}
      // The link in it is the stop of the tab key, if there is one.
      tabIndex={href === undefined && isTabStop ? 0 : -1}
      className={`${styles['row']} ${href !== undefined || onOpen ? styles['opens'] : ''} ${isMarked ? styles['marked'] : ''}`}
      onFocus={({ target }) => {
        onFocus(index);
        setIsFocused(target.matches(`tr:focus-visible, [${ROW_LINK}]:focus-visible`));
      }}
      onBlur={() => setIsFocused(false)}
      onClick={open}
      onKeyDown={(event) => {
        if (event.key === 'Enter') open(event);
        else onKeyDown(event);
      }}
    >
      <FocusedRow value={isFocused}>
        <Cells
          row={row}
          columns={columns}
          href={href}
          isNarrow={isNarrow}
          isTabStop={href !== undefined && isTabStop}
        />
      </FocusedRow>
    </tr>
  );
}

type CellsProps<Row> = Pick<DataRowProps<Row>, 'row' | 'columns' | 'href' | 'isNarrow' | 'isTabStop'>;

function DrawnCells<Row>({ row, columns, href, isNarrow, isTabStop }: CellsProps<Row>): ReactNode {
  const name = columns.find(({ isName }) => isName) ?? columns[0];
  return columns.map((column) => {
    const { id, cell, second, from = '' } = column;
    return (
      // A name or an address of another direction than the page's is cut at its end, too.
      <td key={id} className={styles[from]} dir="auto">
        {href !== undefined && column === name ? (
          <Link
            href={href}
            className={styles['link'] ?? ''}
            tabIndex={isTabStop ? 0 : -1}
            {...{ [ROW_LINK]: '' }}
          >
            {cell(row)}
          </Link>
        ) : (
          cell(row)
        )}
        {isNarrow && second && (
          <span className={styles['second']} dir="auto">
            {second(row)}
          </span>
        )}
      </td>
    );
  });
}

/** Scrolling draws the table again for each picture: the rows that stay in view keep their cells. */
const Cells = memo(DrawnCells) as typeof DrawnCells;

/** The distance from the top of the page. Parts above it may grow. */
function useTopOf(element: RefObject<HTMLElement | null>): number {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const measure = () => {
      const box = element.current?.getBoundingClientRect();
      if (box) setTop(Math.round(box.top + window.scrollY));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [element]);
  return top;
}

function Spacer({ height }: { readonly height: number }) {
  if (height <= 0) return null;
  return (
    <tr aria-hidden="true">
      <td className={styles['spacer']} style={{ height }} />
    </tr>
  );
}

/** Has the cells of a row: one that spans them all would make the columns as wide as it likes. */
function SkeletonRow<Row>({ columns }: Pick<DataTableProps<Row>, 'columns'>) {
  return (
    <tr aria-hidden="true" className={styles['skeleton']}>
      {columns.map(({ id, from = '' }) => (
        <td key={id} className={styles[from]} />
      ))}
    </tr>
  );
}
