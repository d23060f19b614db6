import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useLiveMessages } from '../../live/live-context';

// The service gives the same counts for ten seconds.
const LOOKS = 3;
// The service adds the counts up for each request, so many changes cause one.
const READ_EVERY_MS = 5_000;
const MINUTE_MS = 60_000;

const readClock = () => new Date().getTime();

/**
 * The time that the page's ranges end at. It advances each minute. After a change the counts are read again, once in five
 * seconds at most, until they contain it.
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
