// @ts-check
/** Installs what `npm start` has left out: before commands that need the tools of development. */
import { describeError } from './problem.mjs';
import { completeInstallation } from './setup/install-dependencies.mjs';

await completeInstallation().catch((error) => {
  process.stderr.write(`${describeError(error)}\n`);
  process.exitCode = 1;
});
