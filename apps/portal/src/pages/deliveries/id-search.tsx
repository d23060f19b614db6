import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useLocation } from 'wouter';
import { useApi } from '../../api/api-context';
import { Button } from '../../components/button';
import { TextField } from '../../components/field';
import styles from './deliveries-page.module.css';
import { findPlace } from './find-place';

const NOWHERE = 'No event, delivery, webhook or replay has this id or name.';

export function IdSearch() {
  const api = useApi();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [id, setId] = useState('');
  const [error, setError] = useState<string>();
  const finding = useMutation({ mutationFn: () => findPlace(api, queries, id) });
  const search = (event: FormEvent) => {
    event.preventDefault();
    finding.mutate(undefined, {
      onSuccess: (place) => (place === undefined ? setError(NOWHERE) : navigate(place)),
      onError: ({ message }) => setError(message),
    });
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
        <Button type="submit" isBusy={finding.isPending}>
          Go
        </Button>
      </form>
    </search>
  );
}
