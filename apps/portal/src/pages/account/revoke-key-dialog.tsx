import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { ProblemError } from '../../api/problem';
import { queryKeys } from '../../api/query-keys';
import { ConfirmDialog } from '../../components/confirm-dialog';
import { useToasts } from '../../components/toasts';

export interface RevokeKeyDialogProps {
  readonly accountId: string;
  readonly apiKey: components['schemas']['ApiKey'];
  readonly onClose: () => void;
}

/** Asks twice for the last key that can issue others: without it, only operators can. */
export function RevokeKeyDialog({ accountId, apiKey: { id, name }, onClose }: RevokeKeyDialogProps) {
  const api = useApi();
  const queries = useQueryClient();
  const toasts = useToasts();
  const { mutate, isPending, error } = useMutation({
    mutationFn: (last: 'true' | 'false') => {
      const params = { header: { 'X-Account-Id': accountId }, path: { id }, query: { last } };
      return ask(api.DELETE('/v1/api-keys/{id}', { params }));
    },
    onSuccess: async () => {
      toasts.show(t`“${name}” was revoked.`);
      await queries.invalidateQueries({ queryKey: queryKeys.apiKeys(accountId) });
      onClose();
    },
  });
  const isLast = error instanceof ProblemError && error.code === 'last_admin_key';
  return (
    <ConfirmDialog
      isOpen
      isDangerous
      title={t`Revoke “${name}”?`}
      confirmLabel={isLast ? t`Revoke it all the same` : t`Revoke`}
      isBusy={isPending}
      error={error}
      onConfirm={() => mutate(isLast ? 'true' : 'false')}
      onClose={onClose}
    >
      <p>
        <Trans>
          Requests with the key <code>{id}</code> are refused from now on. This cannot be undone.
        </Trans>
      </p>
    </ConfirmDialog>
  );
}
