import { obeyParent } from './child-program';

/** Uses a core without a pause, as somebody else on the same machine may. It ends with its parent, however that ends. */
const LOOK_FOR_PARENT_EVERY_MS = 20;

obeyParent(null, () => {});
burn();

function burn(): void {
  const until = performance.now() + LOOK_FOR_PARENT_EVERY_MS;
  while (performance.now() < until);
  setImmediate(burn);
}
