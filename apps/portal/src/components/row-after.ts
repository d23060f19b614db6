/** A screenful, roughly. */
const PAGE = 15;

/** The row that a key moves the focus to; undefined: the key means nothing here. */
export function rowAfter(key: string, current: number, count: number): number | undefined {
  const wanted = wantedRow(key, current, count);
  return wanted === undefined ? undefined : Math.min(Math.max(wanted, 0), Math.max(count - 1, 0));
}

function wantedRow(key: string, current: number, count: number): number | undefined {
  switch (key) {
    case 'ArrowDown':
      return current + 1;
    case 'ArrowUp':
      return current - 1;
    case 'PageDown':
      return current + PAGE;
    case 'PageUp':
      return current - PAGE;
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return undefined;
  }
}
