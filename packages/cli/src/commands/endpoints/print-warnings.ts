import type { Output } from '../../output/output';
import { visible } from '../../output/visible';
import type { WebhookWarning } from '../../resources';

/** On stderr: the webhook itself is the result, and is in force. */
export function printWarnings(output: Output, warnings: readonly WebhookWarning[]): void {
  for (const { detail } of warnings) output.note(`Warning: ${visible(detail)}`);
}
