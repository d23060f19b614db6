import type { SuiteOptions } from '../suite';
import { measureOverview } from './overview';
import { measureScrolling } from './scrolling';

/** How quickly the portal answers in a real browser: its list of deliveries, or, in a scene of its own, its overview. */
export async function runPortalSuite(options: SuiteOptions): Promise<void> {
  if (options.scene === 'overview') await measureOverview(options);
  else await measureScrolling(options);
}
