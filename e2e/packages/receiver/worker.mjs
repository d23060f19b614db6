// For `workerd test`, which fails if this throws.
import { check } from './runtime.mjs';

export default {
  test: (_controller, env) => check(JSON.parse(env.SIGNED)),
};
