import { t } from '@lingui/core/macro';
import { type FormEvent, useState } from 'react';
import { Button } from './button';
import styles from './data-search.module.css';
import { TextField } from './field';
import { faultOfSearch, SEARCH_EXAMPLES, searchOf, typedOf } from './searched-data';

interface DataSearchProps {
  /** The search as the API takes it; '' is none. It may be any text, since it comes from the address. */
  readonly value: string;
  readonly onSearch: (search: string) => void;
}

/** Looks for events by what their data contain. It searches when it is sent: half an object is none. */
export function DataSearch({ value, onSearch }: DataSearchProps) {
  const [known, setKnown] = useState(value);
  const [draft, setDraft] = useState(typedOf(value));
  const [fault, setFault] = useState(faultOfSearch(value));
  const take = (search: string) => {
    setKnown(search);
    setDraft(typedOf(search));
    setFault(faultOfSearch(search));
  };
  // The filters were cleared, or somebody went back.
  if (value !== known) take(value);
  const search = (event: FormEvent) => {
    event.preventDefault();
    const wanted = searchOf(draft);
    const found = faultOfSearch(wanted);
    setFault(found);
    if (found !== undefined) return;
    take(wanted);
    onSearch(wanted);
  };
  return (
    <form className={styles['search']} onSubmit={search}>
      <TextField
        label={t`Data contain`}
        placeholder={SEARCH_EXAMPLES}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        error={fault}
        value={draft}
        onChange={(event) => {
          setDraft(event.target.value);
          setFault(undefined);
        }}
      />
      <Button type="submit" className={styles['go']}>
        {t`Search`}
      </Button>
    </form>
  );
}
