import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useLiveMessages } from '../../live/live-context';

// The service gives the same counts for ten seconds.
const LOOKS = 3;
// What is counted is added up again for each look; many changes are one.
const READ_EVERY_MS = 5_000;
const MINUTE_MS = 60_000;

const readClock = () => new Date().getTime();

/**
 * The time by which the page counts back. It goes on with each minute; and what has changed is read again soon after it
 * was told, once in five seconds at most, until what was told is counted.
 */
export function useFresh(): number {
  const queries = useQueryClient();
  const [now, setNow] = useState(readClock);
  const looksLeft = useRef(0);
  useLiveMessages(() => {
    looksLeft.current = LOOKS;
  });
  useEffect(() => {
    const looking = setInterval(() => {
      if (looksLeft.current === 0) return;
      looksLeft.current -= 1;
      void queries.invalidateQueries({
        predicate: ({ queryKey: [name] }) => name === 'metrics' || name === 'standings',
      });
    }, READ_EVERY_MS);
    const passing = setInterval(() => {
      looksLeft.current = Math.max(looksLeft.current, 1);
      setNow(readClock());
    }, MINUTE_MS);
    return () => {
      clearInterval(looking);
      clearInterval(passing);
    };
  }, [queries]);
  return now;
}
