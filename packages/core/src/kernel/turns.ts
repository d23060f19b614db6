/** Runs one piece of work after the other, in the order in which they come, whatever becomes of those before. */
export function createTurns() {
  let last: Promise<unknown> = Promise.resolve();

  return function takeTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = last.then(work, work);
    last = turn.catch(() => {});
    return turn;
  };
}
