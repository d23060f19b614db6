import { useSyncExternalStore } from 'react';

// As in the style sheets: phones.
const NARROW = '(width <= 640px)';

/** True on a screen that has no room for more than the main columns of a table. */
export function useIsNarrow(): boolean {
  return useSyncExternalStore(watch, read, () => false);
}

function watch(onChange: () => void): () => void {
  const query = window.matchMedia(NARROW);
  query.addEventListener('change', onChange);
  return () => query.removeEventListener('change', onChange);
}

const read = () => window.matchMedia(NARROW).matches;
