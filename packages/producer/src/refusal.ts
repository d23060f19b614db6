// Redis' errors while it starts, while another server takes over, or while it has too many connections.
const PASSING = /^(LOADING|READONLY|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|BUSY|ERR max number of clients) /;

/** Redis' refusal, if it would refuse the same command again. */
export function refusalIn(error: unknown): Error | undefined {
  // A Cluster's own error says that no node could be asked. It has the reply of one node inside.
  const { lastNodeError } = (error ?? {}) as { readonly lastNodeError?: unknown };
  const reply = lastNodeError ?? error;
  const isReply = reply instanceof Error && reply.name === 'ReplyError';
  return isReply && !PASSING.test(reply.message) ? reply : undefined;
}
