import { type FormEvent, useState } from 'react';
import { useLocation } from 'wouter';
import { Button } from '../../components/button';
import { TextField } from '../../components/field';
import styles from './deliveries-page.module.css';
import { placeOfId } from './place-of-id';

const REFUSAL = 'That is no id of an event, a delivery, a webhook or a replay.';

export function IdSearch() {
  const [, navigate] = useLocation();
  const [id, setId] = useState('');
  const [error, setError] = useState<string>();
  const search = (event: FormEvent) => {
    event.preventDefault();
    const place = placeOfId(id);
    if (place === undefined) setError(REFUSAL);
    else navigate(place);
  };
  return (
    <search>
      <form className={styles['search']} onSubmit={search}>
        <TextField
          label="Go to an id"
          placeholder="Event, delivery, webhook or replay"
          autoComplete="off"
          spellCheck={false}
          error={error}
          value={id}
          onChange={(event) => {
            setId(event.target.value);
            setError(undefined);
          }}
        />
        <Button type="submit">Go</Button>
      </form>
    </search>
  );
}
