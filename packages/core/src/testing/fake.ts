/** Stands in for an object of which a test calls these members only. */
export function fake<T>(members: Partial<T>): T {
  return members as T;
}
