import { type FormEvent, useState } from 'react';
import { Button } from './button';
import styles from './data-search.module.css';
import { TextField } from './field';
import { faultOfSearched } from './searched-data';

interface DataSearchProps {
  /** The search; '' is none. It may be any text, since it comes from the address. */
  readonly value: string;
  readonly onSearch: (text: string) => void;
}

/** Looks for events by what their data contain. It searches when it is sent: half an object is none. */
export function DataSearch({ value, onSearch }: DataSearchProps) {
  const [known, setKnown] = useState(value);
  const [draft, setDraft] = useState(value);
  const [fault, setFault] = useState(faultOfSearched(value));
  const take = (text: string) => {
    setKnown(text);
    setDraft(text);
    setFault(faultOfSearched(text));
  };
  // The filters were cleared, or somebody went back.
  if (value !== known) take(value);
  const search = (event: FormEvent) => {
    event.preventDefault();
    const text = draft.trim();
    const found = faultOfSearched(text);
    setFault(found);
    if (found !== undefined) return;
    take(text);
    onSearch(text);
  };
  return (
    <form className={styles['search']} onSubmit={search}>
      <TextField
        label="Data contain"
        placeholder='{"order":{"id":4711}}'
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
        Search
      </Button>
    </form>
  );
}
