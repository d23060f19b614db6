import { useSearchParams } from 'wouter';
import { type Period, periodOf, timesOf } from './period';

type Changed = Readonly<Record<string, string | undefined>>;

/** The period that the page's address asks for, and how it is changed. */
export function usePeriod(now: number) {
  const [search, setSearch] = useSearchParams();
  const period: Period = periodOf(search, now);
  const change = (changed: Changed) =>
    setSearch((former) => {
      const next = new URLSearchParams(former);
      for (const [name, value] of Object.entries(changed)) {
        if (value === undefined) next.delete(name);
        else next.set(name, value);
      }
      return next;
    });
  const draw = (since: number, until: number) => change({ range: undefined, ...timesOf({ since, until }) });
  return { search, period, change, draw };
}
