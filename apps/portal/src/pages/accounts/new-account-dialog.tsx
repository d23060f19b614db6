import { t } from '@lingui/core/macro';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { queryKeys } from '../../api/query-keys';
import { TextField } from '../../components/field';
import { FormDialog } from '../../components/form-dialog';

export interface NewAccountDialogProps {
  readonly onClose: () => void;
}

/** Makes an account, and goes to its page, where it gets its first key. */
export function NewAccountDialog({ onClose }: NewAccountDialogProps) {
  const api = useApi();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [id, setId] = useState('');
  const [name, setName] = useState('');
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => ask(api.POST('/v1/accounts', { body: { ...(id && { id }), ...(name && { name }) } })),
    onSuccess: async (account) => {
      await queries.invalidateQueries({ queryKey: queryKeys.accounts() });
      navigate(`/accounts/${account.id}`);
    },
  });
  return (
    <FormDialog
      title={t`New account`}
      submitLabel={t`Create`}
      isBusy={isPending}
      error={error}
      onSubmit={() => mutate()}
      onClose={onClose}
    >
      <TextField
        label={t`Id`}
        hint={t`The id of the customer in your own systems: up to 64 letters, digits, - and _. Empty: a generated one.`}
        pattern="[A-Za-z0-9_\-]{1,64}"
        value={id}
        onChange={({ target }) => setId(target.value)}
      />
      <TextField
        label={t`Name`}
        maxLength={100}
        value={name}
        onChange={({ target }) => setName(target.value)}
      />
    </FormDialog>
  );
}
