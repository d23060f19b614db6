// What Redis answers while it starts, while another server takes over, or while too many are connected.
const PASSING = /^(LOADING|READONLY|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|BUSY|ERR max number of clients) /;

/** What Redis has said no with, if it would say it again. */
export function refusalIn(error: unknown): Error | undefined {
  // A Cluster's own error says that no node could be asked, and has in it what one of them answered.
  const { lastNodeError } = (error ?? {}) as { readonly lastNodeError?: unknown };
  const answer = lastNodeError ?? error;
  const isAnswer = answer instanceof Error && answer.name === 'ReplyError';
  return isAnswer && !PASSING.test(answer.message) ? answer : undefined;
}
