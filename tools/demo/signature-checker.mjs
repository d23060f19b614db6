// @ts-check

/** @typedef {import('./webhook-receiver.mjs').ReceivedWebhook} ReceivedWebhook */

/**
 * Gives a function that checks the two signatures of a webhook, as a receiver would.
 * @returns {Promise<(secret: string, webhook: ReceivedWebhook) => { isGenuine: boolean, verdict: string }>}
 */
export async function createSignatureChecker() {
  // Not at the top of the file: this package of ours exists only once the project has been built.
  const { verifyBody, verifyMessage } = await import('@hookferry/signature');
  return (secret, { headers, body }) => {
    const faults = [
      verifyBody(secret, body, String(headers['x-service-signature']))
        ? []
        : ['x-service-signature is wrong'],
      verifyMessage({ secret, headers, body }) ? [] : ['webhook-signature is wrong'],
    ].flat();
    const isGenuine = faults.length === 0;
    return { isGenuine, verdict: isGenuine ? 'signature verified' : `NOT GENUINE: ${faults.join(', ')}` };
  };
}
