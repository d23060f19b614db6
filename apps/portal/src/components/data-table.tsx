import {
  type KeyboardEvent,
  type MouseEvent,
  memo,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import styles from './data-table.module.css';
import { useRowFocus } from './use-row-focus';
import { scrollToRow, useRowsInView } from './use-rows-in-view';

const ROW_HEIGHT = 40;
const SKELETON_ROWS = 8;

export interface Column<Row> {
  readonly id: string;
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** Of the table's width, such as `12rem` or `20%`. Without it a column shares what is left. */
  readonly width?: string;
  /** Only where there is room for it: from 600 or from 960 px on. */
  readonly from?: 'medium' | 'wide';
}

/** Of a column of times: on a phone the day stands above the hour. @param most of larger screens. */
export const timeWidth = (most: string) => `clamp(88px, 24vw, ${most})`;

export interface DataTableProps<Row> {
  /** The name of the list, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  /** undefined: they are being loaded. */
  readonly rows: readonly Row[] | undefined;
  readonly rowId: (row: Row) => string;
  /** Enter, or a click anywhere on a row. */
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
export function DataTable<Row>({ label, columns, rows, rowId, onOpen, marked, onEnd }: DataTableProps<Row>) {
  const body = useRef<HTMLTableSectionElement>(null);
  const count = rows?.length ?? 0;
  const top = useTopOf(body);
  const { first, end } = useRowsInView({ count, height: ROW_HEIGHT, top });
  const markedAt = marked === undefined ? -1 : (rows?.findIndex((row) => rowId(row) === marked) ?? -1);
  const scrollTo = (index: number) => scrollToRow(index, { height: ROW_HEIGHT, top });
  const focus = useRowFocus({ body, count, marked, markedAt, scrollTo });

  const isAtEnd = count > 0 && end >= count;
  useEffect(() => {
    if (isAtEnd) onEnd?.();
  }, [isAtEnd, onEnd]);

  return (
    <table className={styles['table']} aria-label={label} aria-rowcount={count + 1} aria-busy={!rows}>
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
          Array.from({ length: SKELETON_ROWS }, (_, index) => <SkeletonRow key={index} columns={columns} />)}
        <Spacer height={first * ROW_HEIGHT} />
        {rows?.slice(first, end).map((row, i) => {
          const index = first + i;
          return (
            <DataRow
              key={rowId(row)}
              row={row}
              index={index}
              columns={columns}
              isMarked={index === markedAt}
              isTabStop={index === focus.current || (i === 0 && !focus.isAmong(first, end))}
              onFocus={focus.onFocus}
              onKeyDown={focus.onKeyDown}
              onOpen={onOpen}
            />
          );
        })}
        <Spacer height={(count - end) * ROW_HEIGHT} />
      </tbody>
    </table>
  );
}

interface DataRowProps<Row> {
  readonly row: Row;
  readonly index: number;
  readonly columns: readonly Column<Row>[];
  readonly isMarked: boolean;
  readonly isTabStop: boolean;
  readonly onFocus: (index: number) => void;
  readonly onKeyDown: (event: KeyboardEvent<HTMLElement>) => void;
  readonly onOpen: ((row: Row) => void) | undefined;
}

function DataRow<Row>({
  row,
  index,
  columns,
  isMarked,
  isTabStop,
  onFocus,
  onKeyDown,
  onOpen,
}: DataRowProps<Row>) {
  const open = (event: MouseEvent | KeyboardEvent) => {
    // A link or a button in a row does what it does alone.
    if (!(event.target as Element).closest('a, button')) onOpen?.(row);
  };
  return (
    <tr
      data-index={index}
      // The row of the headings is the first.
      aria-rowindex={index + 2}
      aria-current={isMarked || undefined}
      tabIndex={isTabStop ? 0 : -1}
      className={`${styles['row']} ${onOpen ? styles['opens'] : ''} ${isMarked ? styles['marked'] : ''}`}
      onFocus={() => onFocus(index)}
      onClick={open}
      onKeyDown={(event) => {
        if (event.key === 'Enter') open(event);
        else onKeyDown(event);
      }}
    >
      <Cells row={row} columns={columns} />
    </tr>
  );
}

interface CellsProps<Row> {
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
}

function DrawnCells<Row>({ row, columns }: CellsProps<Row>): ReactNode {
  return columns.map(({ id, cell, from = '' }) => (
    <td key={id} className={styles[from]}>
      {cell(row)}
    </td>
  ));
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
