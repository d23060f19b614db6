import { type KeyboardEvent, type MouseEvent, memo, type ReactNode } from 'react';
import type { Column } from './data-table';
import styles from './data-table.module.css';

interface DataRowProps<Row> {
  readonly row: Row;
  readonly index: number;
  readonly columns: readonly Column<Row>[];
  readonly isTabStop: boolean;
  readonly onFocus: (index: number) => void;
  readonly onKeyDown: (event: KeyboardEvent<HTMLElement>) => void;
  readonly onOpen: ((row: Row) => void) | undefined;
}

export function DataRow<Row>({
  row,
  index,
  columns,
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
      tabIndex={isTabStop ? 0 : -1}
      className={`${styles['row']} ${onOpen ? styles['opens'] : ''}`}
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

/** Scrolling draws the table anew for each picture: the rows that stay in view keep their cells. */
const Cells = memo(DrawnCells) as typeof DrawnCells;
