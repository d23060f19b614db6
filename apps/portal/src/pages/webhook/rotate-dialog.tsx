import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { ConfirmDialog } from '../../components/confirm-dialog';
import { SelectField } from '../../components/field';

const OVERLAPS: readonly (readonly [seconds: number, label: string])[] = [
  [86_400, t`for a day`],
  [3_600, t`for an hour`],
  [604_800, t`for a week`],
  [0, t`no longer: it has leaked`],
];

interface RotateDialogProps {
  readonly webhookId: string;
  readonly isOpen: boolean;
  readonly onRotated: (secret: components['schemas']['RotatedSecret']) => void;
  readonly onClose: () => void;
}

export function RotateDialog({ webhookId, isOpen, onRotated, onClose }: RotateDialogProps) {
  const api = useApi();
  const [overlap, setOverlap] = useState(86_400);
  const rotation = useMutation({
    mutationFn: () => {
      const request = { params: { path: { id: webhookId } }, body: { overlap_seconds: overlap } };
      return ask(api.POST('/v1/webhooks/{id}/rotate-secret', request));
    },
    onSuccess: onRotated,
  });
  return (
    <ConfirmDialog
      isOpen={isOpen}
      title={t`Rotate the secret?`}
      confirmLabel={t`Rotate`}
      isDangerous={overlap === 0}
      isBusy={rotation.isPending}
      error={rotation.error}
      onConfirm={() => rotation.mutate()}
      onClose={onClose}
    >
      <p>
        <Trans>A new secret signs from now on. This cannot be undone.</Trans>
      </p>
      <SelectField
        label={t`The former secret also signs`}
        value={overlap}
        onChange={(event) => setOverlap(Number(event.target.value))}
      >
        {OVERLAPS.map(([seconds, label]) => (
          <option key={seconds} value={seconds}>
            {label}
          </option>
        ))}
      </SelectField>
    </ConfirmDialog>
  );
}
