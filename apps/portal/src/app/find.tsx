import { t } from '@lingui/core/macro';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useApi } from '../api/api-context';
import { faultOfSearch } from '../components/searched-data';
import { Time } from '../components/time';
import { accountOf } from '../session/session';
import { useSession, useSessionState } from '../session/session-context';
import styles from './find.module.css';
import { findPlaces } from './find-places';
import type { Lookup, Place } from './find-records';
import { type DataSearch, dataSearchesOf, wantedOf } from './wanted-of';

const NOTHING = t`Nothing found: nothing that you may see has this id or name.`;
const HINT = t`An id, a name, an address, a type, or a value in the data of events: 4711, order.id=4711`;
const MOST_RECENT = 5;

/** Several results of a search, or none. A single result is opened at once. */
interface Found {
  readonly places: readonly Place[];
  readonly message?: string;
}

/** Finds an id, a name, an address, a type, or events by what their data contain. `/` leads to it from everywhere. */
export function Find() {
  const lookup = useLookup();
  const [, navigate] = useLocation();
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState('');
  const [found, setFound] = useState<Found>();
  const [isOpen, setOpen] = useState(false);
  // Not kept in the browser: it may be somebody's data.
  const [recent, setRecent] = useState<readonly string[]>([]);
  useSlash(field);

  const finding = useMutation({
    mutationFn: async (wanted: Parameters<typeof findPlaces>[1]) => await findPlaces(lookup, wanted),
    onSuccess: (places) => {
      const [only, ...others] = places;
      if (only && others.length === 0) leave(only.href);
      else setFound({ places, ...(!only && { message: NOTHING }) });
    },
    onError: ({ message }) => setFound({ places: [], message }),
  });
  const close = () => {
    setOpen(false);
    setFound(undefined);
    setText('');
  };
  const leave = (href: string) => {
    close();
    navigate(href);
  };
  const search = (typed: string) => {
    const wanted = wantedOf(typed);
    if (!wanted) return;
    setRecent([typed.trim(), ...recent.filter((one) => one !== typed.trim())].slice(0, MOST_RECENT));
    setFound(undefined);
    if (wanted.kind !== 'data') return finding.mutate(wanted);
    const fault = faultOfSearch(wanted.search);
    if (fault === undefined) leave(addressOf('events', wanted.search));
    else setFound({ places: [], message: fault });
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    search(text);
  };

  return (
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions -- it has the role search, and hears what bubbles up
    <search
      className={styles['find']}
      onFocus={() => setOpen(true)}
      onBlur={({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget)) setOpen(false);
      }}
      onKeyDown={({ key }) => {
        if (key !== 'Escape') return;
        field.current?.blur();
        setOpen(false);
      }}
    >
      <form onSubmit={submit}>
        <input
          ref={field}
          type="search"
          className={styles['field']}
          aria-label={t`Find`}
          aria-keyshortcuts="/"
          placeholder={t`Find ( / )`}
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          value={text}
          onChange={({ target }) => {
            setText(target.value);
            setFound(undefined);
          }}
        />
      </form>
      {isOpen && (
        <div className={styles['below']}>
          <p aria-live="polite" className={styles['message']}>
            {finding.isPending ? t`Looking …` : (found?.message ?? (found ? t`Found` : HINT))}
          </p>
          {found && <Places places={found.places} onLeave={close} />}
          <DataSearches searches={dataSearchesOf(text)} onLeave={close} />
          {!found && text === '' && recent.length > 0 && (
            <ul className={styles['list']} aria-label={t`Recent searches`}>
              {recent.map((one) => (
                <li key={one}>
                  <button type="button" className={styles['entry']} onClick={() => search(one)}>
                    {one}
                  </button>
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
    </search>
  );
}

function useLookup(): Lookup {
  const api = useApi();
  const queries = useQueryClient();
  const { capabilities, accountId } = useSession();
  return {
    api,
    queries,
    can: (capability) => capabilities.includes(capability),
    ownAccount: accountId,
    accountInView: accountOf(useSessionState()) ?? accountId,
  };
}

interface PlacesProps {
  readonly places: readonly Place[];
  readonly onLeave: () => void;
}

function Places({ places, onLeave }: PlacesProps) {
  if (places.length === 0) return null;
  return (
    <ul className={styles['list']} aria-label={t`Found`}>
      {places.map(({ href, kind, name, note, at }) => (
        <li key={href}>
          <Link href={href} className={styles['entry']} onClick={onLeave}>
            <span className={styles['kind']}>{kind}</span> {name}
            {(note || at) && (
              <span className={styles['details']}>
                {note} {at && <Time at={at} form="short" />}
              </span>
            )}
          </Link>
        </li>
      ))}
    </ul>
  );
}

interface DataSearchesProps {
  readonly searches: readonly DataSearch[];
  readonly onLeave: () => void;
}

/** A text that is no id may be in the data of an event: the number of an order, an address. */
function DataSearches({ searches, onLeave }: DataSearchesProps) {
  if (searches.length === 0) return null;
  return (
    <ul className={`${styles['list']} ${styles['searches']}`} aria-label={t`Searches of data`}>
      {searches
        .filter(({ search }) => faultOfSearch(search) === undefined)
        .flatMap(({ text, search }) =>
          (['events', 'deliveries'] as const).map((list) => (
            <li key={`${list} ${search}`}>
              <Link href={addressOf(list, search)} className={styles['entry']} onClick={onLeave}>
                <span className={styles['kind']}>
                  {list === 'events' ? t`Search in the data of events:` : t`Deliveries of such events:`}
                </span>{' '}
                {text}
              </Link>
            </li>
          )),
        )}
    </ul>
  );
}

function addressOf(list: 'events' | 'deliveries', search: string): string {
  return `/${list}?${new URLSearchParams({ data: search })}`;
}

/** Leads to the field by `/`, unless something is being typed. */
function useSlash(field: { readonly current: HTMLInputElement | null }): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping =
        event.target instanceof Element &&
        event.target.closest('input, textarea, select, [contenteditable], [role=dialog], [role=alertdialog]');
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
      event.preventDefault();
      field.current?.focus();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [field]);
}
