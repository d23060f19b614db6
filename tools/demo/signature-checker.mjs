// @ts-check

/** @typedef {import('./webhook-receiver.mjs').ReceivedWebhook} ReceivedWebhook */

/**
 * Gives a function that checks the two signatures of a webhook, as a receiver would.
 * @returns {Promise<(secret: string, webhook: ReceivedWebhook) => Promise<{ isGenuine: boolean, verdict: string }>>}
 */
export async function createSignatureChecker() {
  // Not at the top of the file: this package of ours exists only once the project has been built.
  const { verifySignature } = await import('@hookferry/receiver');
  return async (secret, { headers, body }) => {
    // Where it has both, a receiver looks at `webhook-signature` alone.
    const { 'webhook-signature': _, ...plain } = headers;
    const checks = [headers, plain].map((some) => verifySignature({ secret, headers: some, body }));
    const faults = (await Promise.allSettled(checks)).flatMap((check) =>
      check.status === 'rejected' ? [String(check.reason.message)] : [],
    );
    const isGenuine = faults.length === 0;
    return { isGenuine, verdict: isGenuine ? 'signature verified' : `NOT GENUINE: ${faults.join(', ')}` };
  };
}
