// @ts-check
import { areProgramsBuilt, bundlePortal, compilePrograms, isPortalBuilt } from './build.mjs';
import { canStart, installForStart, REQUESTS_FOR_START, writeSources } from './install-dependencies.mjs';
import { Progress } from './progress.mjs';

const INSTALL = { what: 'installing packages (npm ci)', usualSeconds: 30 };
const BUILD = { what: 'compiling, and building the portal', usualSeconds: 15 };

/**
 * All that `npm start` needs before it starts anything: packages, compiled programs, the portal. It does what is to be done, and
 * says how far it is. Types are not checked: that is for those who change the code.
 * @param {{ signal: AbortSignal }} options
 */
export async function setUpForStart({ signal }) {
  const isInstalled = await canStart();
  if (isInstalled) await writeSources({ signal });
  const isBuilt = isInstalled && (await areProgramsBuilt()) && (await isPortalBuilt());
  if (isBuilt) return;
  const progress = new Progress([...(isInstalled ? [] : [INSTALL]), BUILD]);
  let isDone = false;
  try {
    if (!isInstalled) {
      progress.next();
      const onRequest = (/** @type {number} */ count) => progress.note(count / REQUESTS_FOR_START);
      await installForStart({ signal, onRequest });
      await writeSources({ signal });
    }
    progress.next();
    // Neither needs what the other makes.
    await Promise.all([build(compilePrograms, areProgramsBuilt), build(bundlePortal, isPortalBuilt)]);
    isDone = true;
  } finally {
    progress.end(isDone);
  }

  /**
   * @param {typeof compilePrograms} how
   * @param {() => Promise<boolean>} isUpToDate
   */
  async function build(how, isUpToDate) {
    if (!(await isUpToDate())) await how({ signal, isUnchecked: true });
  }
}
