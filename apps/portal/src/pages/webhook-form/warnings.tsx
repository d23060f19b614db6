import type { components } from '@hookferry/client';
import { Trans } from '@lingui/react/macro';

interface WarningsProps {
  readonly warnings: readonly components['schemas']['WebhookWarning'][];
}

/** Why a webhook that was just saved will hardly get what was meant. */
export function Warnings({ warnings }: WarningsProps) {
  if (warnings.length === 0) return null;
  return (
    <div role="alert">
      <p>
        <Trans>It is saved, but its filter may not do what you mean:</Trans>
      </p>
      <ul>
        {warnings.map(({ pointer, detail }) => (
          <li key={pointer + detail}>{detail}</li>
        ))}
      </ul>
    </div>
  );
}
